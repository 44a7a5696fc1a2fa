# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash disable=SC2034 # read by the tests
# For tests that run in a guest: source it, then ok/expect/finish. Every denial has a permitted twin beside it.

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
build=${RF_BUILD:-$root/build}
export PATH=$build:$build/tests/vm/programs:$PATH
log=/var/log/ringfence/events.jsonl
passed=0 failed=0

pass() { passed=$((passed + 1)); echo "ok      $*"; }
fail() { failed=$((failed + 1)); echo "FAILED  $*"; }

# ok NAME COMMAND...: the command must succeed. no NAME COMMAND...: it must fail (with any status but 125..127).
ok() { local name=$1 out; shift; if out=$("$@" 2>&1); then pass "$name"; else fail "$name: exit $?: ${out:0:300}"; fi; }
no() {
	local name=$1 out status=0; shift
	out=$("$@" 2>&1) || status=$?
	if ((status == 0 || status == 125 || status == 126 || status == 127)); then fail "$name: exit $status: ${out:0:300}"; else pass "$name"; fi
}
# is NAME GOT WANTED
is() { if [[ $2 == "$3" ]]; then pass "$1"; else fail "$1: got '$2', wanted '$3'"; fi; }

# finish: the closing line, and the exit status of the test.
finish() { echo "$passed passed, $failed failed"; ((failed == 0 && passed > 0)); exit; }

# The daemon of this guest: $daemon is its pid.
start_daemon() {
	mkdir -p /var/log/ringfence /run/ringfence
	ringfenced --policies "$root/policies" "$@" >>/run/ringfenced.out 2>&1 &
	daemon=$!
	for _ in $(seq 600); do
		ringfence status >/dev/null 2>&1 && return 0
		kill -0 "$daemon" 2>/dev/null || break
		sleep 0.2
	done
	echo "ringfenced did not start:"; cat /run/ringfenced.out; return 1
}
stop_daemon() { kill "$daemon" 2>/dev/null; wait "$daemon" 2>/dev/null; }

# Every event that was emitted is in the log or counted as lost there. Waits until the daemon has drained the ring.
books_close() {
	local status emitted delivered lost
	for _ in $(seq 100); do
		status=$(ringfence status --json) || { fail "books: no status"; return; }
		emitted=$(jq .emitted <<<"$status") delivered=$(jq .delivered <<<"$status") lost=$(jq .lost <<<"$status")
		((emitted == delivered + lost)) && break
		sleep 0.1
	done
	is "books: emitted = delivered + lost (${1:-})" "$emitted" "$((delivered + lost))"
}
