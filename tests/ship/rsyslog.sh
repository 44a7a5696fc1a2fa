#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# ringfence-ship against a real rsyslogd on loopback: nothing is missing whatever is stopped in the middle.
# SHIP=path of ringfence-ship (built here if not given); KEEP=1 leaves the work directory.
set -u
cd "$(dirname "$0")/../.." || exit 1
command -v rsyslogd >/dev/null || { echo "no rsyslogd: apt-get install rsyslog" >&2; exit 1; }

work=$(mktemp -d /tmp/rf-ship-XXXXXX)
passed=0 failed=0 rsyslog_pid='' ship_pid='' generate_pid=''

stop() { # PID SIGNAL
	[ -n "$1" ] && kill "-$2" "$1" 2>/dev/null && wait "$1" 2>/dev/null
	return 0
}
finish() {
	stop "$ship_pid" KILL
	stop "$generate_pid" KILL
	stop "$rsyslog_pid" KILL
	if [ -n "${KEEP:-}" ]; then echo "work directory: $work"; else rm -rf "$work"; fi
}
trap finish EXIT

flags=(-std=gnu17 -O1 -g -Wall -Wextra -Werror "-fsanitize=address,undefined" -fno-sanitize-recover=all -Ibpf -Iuserspace)
gcc "${flags[@]}" tests/ship/generate.c userspace/event/*.c userspace/lib/names.c -o "$work/generate" || exit 1
if [ -z "${SHIP:-}" ]; then
	SHIP=$work/ringfence-ship
	gcc "${flags[@]}" userspace/ship/*.c userspace/event/*.c userspace/lib/*.c -o "$SHIP" -ljson-c || exit 1
fi

free_port() {
	python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])'
}
start_rsyslog() {
	rsyslogd -n -i "$dir/rsyslog.pid" -f "$dir/rsyslog.conf" 2>>"$dir/rsyslog.err" &
	rsyslog_pid=$!
	for _ in $(seq 100); do
		(exec 3<>"/dev/tcp/127.0.0.1/$port") 2>/dev/null && return
		sleep 0.05
	done
	echo "rsyslogd does not listen: $(cat "$dir/rsyslog.err")" >&2
	exit 1
}
new_case() { # NAME: a fresh directory and configuration
	name=$1 dir=$work/$1 port=$(free_port)
	mkdir "$dir" "$dir/spool" "$dir/log"
	: >"$dir/received"
	cat >"$dir/rsyslog.conf" <<-END
		global(workDirectory="$dir/spool" maxMessageSize="8k")
		module(load="imtcp")
		template(name="line" type="string" string="%structured-data% %msg%\n")
		ruleset(name="fence") { action(type="omfile" file="$dir/received" template="line") }
		input(type="imtcp" address="127.0.0.1" port="$port" ruleset="fence")
	END
}
ship() { # OPTIONS: runs to its end
	"$SHIP" --allow-root --to "127.0.0.1:$port" --log "$dir/log/events.jsonl" --cursor "$dir/cursor" \
		--status "$dir/status" "$@" 2>>"$dir/ship.err"
}
start_ship() { # SETTLE=0 shows what the settling time is for
	"$SHIP" --allow-root --to "127.0.0.1:$port" --log "$dir/log/events.jsonl" --cursor "$dir/cursor" \
		--status "$dir/status" --settle "${SETTLE:-5}" 2>>"$dir/ship.err" &
	ship_pid=$!
}
start_generate() { # MAX_BYTES FROM TO PAUSE_US
	"$work/generate" "$dir/log/events.jsonl" "$1" 200 "$2" "$3" "$4" 2>>"$dir/generate.err" &
	generate_pid=$!
}
received() { wc -l <"$dir/received"; }
wait_received() { # N: until so many lines have come
	for _ in $(seq 600); do
		[ "$(received)" -ge "$1" ] && return
		sleep 0.05
	done
	echo "only $(received) of $1 lines came"
}
result() { # TEXT...: a case passes with nothing to say
	if [ -z "$*" ]; then
		passed=$((passed + 1))
		echo "ok   $name"
	else
		failed=$((failed + 1))
		echo "FAIL $name: $*"
		tail -n 5 "$dir"/*.err 2>/dev/null
	fi
}
check() { # COUNT: rsyslog gets time to write what it has
	for _ in $(seq 40); do
		said=$(python3 tests/ship/check.py "$dir/log/events.jsonl" "$dir/received" "$1")
		[ -z "$said" ] && return
		sleep 0.25
	done
	echo "$said" | head -3
}
expect() { [ "$1" = "$2" ] || echo "$3: $1, not $2. "; }

new_case once-delivers-all-and-only-once
start_rsyslog
"$work/generate" "$dir/log/events.jsonl" 300000 200 1 5000 0
echo 'not an event' >>"$dir/log/events.jsonl"
ship --once
said=$(expect $? 0 'exit status')$(
	grep -q '"delivered":5000,"failed":1,"gaps":0,"reconnects":0,"lag":0}' "$dir/status" || cat "$dir/status")
ship --once
said=$said$(expect $? 0 'exit status of the second run')$(
	grep -q '"delivered":0,"failed":0,"gaps":0,"reconnects":0,"lag":0}' "$dir/status" || cat "$dir/status")
sed -i '$d' "$dir/log/events.jsonl"
result "$said$(check 5000)$(expect "$(received)" 5000 'lines received')$(
	expect "$([ -e "$dir/log/events.jsonl.5" ] && echo rotated)" rotated 'log')"
stop "$rsyslog_pid" TERM

new_case once-without-a-receiver-fails-and-loses-nothing
"$work/generate" "$dir/log/events.jsonl" 0 200 1 50 0
ship --once --timeout 1
rc=$?
start_rsyslog
result "$(expect $rc 1 'exit status')$(ship --once || echo 'second run failed')$(check 50)"
stop "$rsyslog_pid" TERM

new_case shipper-killed-in-the-middle
start_rsyslog
start_generate 200000 1 5000 400
start_ship
said=$(wait_received 1000)
stop "$ship_pid" KILL
sleep 0.5
start_ship
said=$said$(wait_received 3000)
stop "$ship_pid" KILL
wait "$generate_pid"
start_ship
said=$said$(wait_received 5000)$(check 5000)
kill -TERM "$ship_pid"
wait "$ship_pid"
result "$said$(expect $? 0 'exit status after SIGTERM')$(expect "$([ -e "$dir/log/events.jsonl.5" ] && echo rotated)" rotated 'log')"
stop "$rsyslog_pid" TERM

new_case receiver-stopped-in-the-middle
start_rsyslog
start_generate 200000 1 5000 400
start_ship
said=$(wait_received 1000)
stop "$rsyslog_pid" TERM
sleep 0.7
start_rsyslog
said=$said$(wait_received 2000)
# It hangs first: its kernel acknowledges what it will never read.
kill -STOP "$rsyslog_pid"
sleep 0.7
stop "$rsyslog_pid" KILL
sleep 0.3
start_rsyslog
wait "$generate_pid"
said=$said$(wait_received 5000)$(check 5000)
kill -TERM "$ship_pid"
wait "$ship_pid"
result "$said$(expect $? 0 'exit status after SIGTERM')$(
	grep -q '"reconnects":2,' "$dir/status" || cat "$dir/status")$(grep -q '"lag":0}' "$dir/status" || echo lag)"
stop "$rsyslog_pid" TERM

new_case sigterm-is-quick-without-a-receiver
"$work/generate" "$dir/log/events.jsonl" 0 200 1 50 0
start_ship
sleep 0.5
begin=$(date +%s%N)
kill -TERM "$ship_pid"
wait "$ship_pid"
rc=$?
took=$((($(date +%s%N) - begin) / 1000000))
result "$(expect $rc 0 'exit status')$([ $took -lt 3000 ] || echo "took $took ms")$(
	grep -q '"connected":false,"delivered":0,' "$dir/status" || cat "$dir/status")"

new_case second-shipper-is-refused
start_ship
sleep 0.5
ship --once --timeout 1
rc=$?
stop "$ship_pid" KILL
result "$(expect $rc 1 'exit status')$(grep -q 'another ringfence-ship' "$dir/ship.err" || echo 'no reason given')"

if [ "$(id -u)" = 0 ]; then
	new_case root-is-refused
	SHIP_AS() { "$SHIP" --to "127.0.0.1:$port" --log "$dir/log/events.jsonl" --cursor "$dir/own/cursor" "$@" 2>>"$dir/ship.err"; }
	start_rsyslog
	"$work/generate" "$dir/log/events.jsonl" 0 200 1 50 0
	chmod 755 "$work" "$dir"
	mkdir "$dir/own"
	chown nobody "$dir/own"
	SHIP_AS --once
	said=$(expect $? 1 'as root')
	SHIP_AS --once --user no-such-user
	said=$said$(expect $? 1 'as nobody known')
	SHIP_AS --once --user root
	said=$said$(expect $? 1 'as --user root')
	SHIP_AS --once --user nobody
	said=$said$(expect $? 1 'a log that nobody may not read')$(expect "$(received)" 0 'lines received')
	chmod 644 "$dir/log/events.jsonl"
	SHIP_AS --once --user nobody
	said=$said$(expect $? 0 'as nobody')$(check 50)$(expect "$(stat -c %U "$dir/own/cursor")" nobody 'owner of the cursor')
	result "$said"
	stop "$rsyslog_pid" TERM
fi

echo "$passed passed, $failed failed"
[ $failed = 0 ]
