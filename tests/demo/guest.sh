#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# The demo, as root on the machine that it is called on; run.sh boots a guest for it. What it makes, it takes away.
# guest.sh DIR: what happened is left there for report.sh. BUILD, POLICIES: where programs and policies are.
set -u
here=$(cd "$(dirname "$0")" && pwd) out=$1
export PATH=$BUILD:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin
# shellcheck disable=SC2034 # what the sourced files use
demo=$(mktemp -d /var/tmp/ringfence-demo.XXXXXX) agent=/opt/ringfence-demo workspace=/home/dev/acme/services
runtime=$demo/run log=$demo/log/events.jsonl inside=/tmp/ringfence-demo.in outside=/tmp/ringfence-demo.out
pids=() made='' daemon='' ship=''
die() { echo "demo: $*" >&2; exit 1; }
say() { printf '%3d s  %s\n' "$SECONDS" "$*"; }
mkfifo "$demo/never"
TMPDIR=$demo
# shellcheck disable=SC1091 # checked by itself
. "$here/try.sh"
# shellcheck disable=SC1091 # checked by itself
. "$here/places.sh"

# shellcheck disable=SC2317 # runs at exit
clean() {
	((${#pids[@]})) && kill "${pids[@]}" 2>/dev/null
	wait
	[[ ! $made ]] || remove_places
	rm -rf "$demo"
}
trap clean EXIT
trap 'exit 130' INT TERM

start_ringfence() {
	ringfenced --policies "$POLICIES" --runtime "$runtime" --log "$log" >"$demo/ringfenced.out" 2>&1 &
	daemon=$!
	pids+=("$daemon")
}

wait_for_ringfence() {
	until [[ -S $runtime/control.sock ]]; do
		kill -0 "$daemon" 2>/dev/null || die "ringfenced did not start: $(<"$demo/ringfenced.out")"
		((SECONDS < 180)) || die "ringfenced does not answer: $(<"$demo/ringfenced.out")"
		nap
	done
	ringfence-ship --to 127.0.0.1:601 --log "$log" --cursor "$demo/ship/cursor" --settle 1 --user ringfence-ship \
		>"$demo/ship.out" 2>&1 &
	ship=$!
	pids+=("$ship")
}

agent_environment() { # TMP COMMAND...
	env -i HOME=/home/dev USER=dev LANG=C.UTF-8 PATH=/usr/bin:/bin TMPDIR="$1" AGENT_KEY="$agent_key" "${@:2}"
}

# What is denied later works without a fence: else its denial would prove nothing. report.sh looks what arrived.
hijack_outside() {
	(
		cd "$workspace" && echo $BASHPID >/sys/fs/cgroup/demo/home/cgroup.procs || exit
		agent_environment "$outside" setpriv --reuid dev --regid dev --clear-groups bash "$agent/hijack.sh" dev
	) || die "the hijack could not be tried without a fence"
	forget_outside
}

# Looks after the agent from outside: counts denials after its work, and puts its orphans into the other cgroup.
attend() {
	local who
	until [[ -e $inside/work.done ]]; do nap; done
	ringfence ps --json --runtime "$runtime" >"$out/after-work"
	touch "$inside/go"
	for who in dev root; do
		until [[ -s $inside/orphan.$who ]]; do nap; done
		cat "$inside/orphan.$who" >/sys/fs/cgroup/demo/away/cgroup.procs
	done
}

run_agent() {
	attend &
	pids+=($!)
	cd "$workspace" || exit
	agent_environment "$inside" "$BUILD/ringfence" run --runtime "$runtime" --policy coding-agent \
		--workspace "$workspace" --home /home/dev --tmp "$inside" --task DEMO-1 --agent demo-agent --quiet \
		-- bash "$agent/agent.sh" >"$out/agent" 2>&1 &
	pids+=($!)
	tail -c +1 -s 0.2 -f --pid=$! "$out/agent"
	wait $! || die "ringfence run ended with status $?"
}

# The shipper leaves when the receiver has read everything.
stop_ringfence() {
	ringfence status --json --runtime "$runtime" >"$out/status"
	kill "$daemon"
	wait "$daemon" || die "ringfenced ended with status $?: $(<"$demo/ringfenced.out")"
	kill "$ship"
	wait "$ship" || die "ringfence-ship ended with status $?: $(<"$demo/ship.out")"
}

collect() {
	cp -L "$log" "$demo/rsyslog" "$demo"/received.* "$out"
	cp "$inside/results" "$out/inside"
	cp "$outside/results" "$out/outside"
	cp /home/dev/.bashrc "$out/bashrc.after"
	tar -C / -cf "$out/left.tar" "${inside#/}" "${workspace#/}"
	git --git-dir="$demo/git/csv" log -1 --format='%an: %s' main >"$out/pushed"
}

say "Linux $(uname -r): ringfenced, rsyslogd, a git server and two listeners start"
make_places
start_ringfence
start_servers
say "the hijack without a fence, as the user dev:"
hijack_outside
say "waiting for the kernel to check the programs of ringfenced"
wait_for_ringfence
say "ringfence run --policy coding-agent --task DEMO-1 --agent demo-agent -- ...:"
run_agent
stop_ringfence
collect
say "done"
