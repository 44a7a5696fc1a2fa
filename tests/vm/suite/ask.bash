# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash disable=SC2034 # read by the tests
# For the tests of this folder: a probe inside a run and one outside of it, asked by turns; what was denied is written
# down and in the end compared with the log, both ways: each denial is there once, and there is no other.

# shellcheck source=tests/vm/lib.sh
source "$(dirname "${BASH_SOURCE[0]}")/../lib.sh"
suite=$root/tests/vm/suite probe=/usr/local/bin/probe
test=$(basename "$0" .test)
work=$(mktemp -d "/var/tmp/$test.XXXXXX")
log_start=$(($(stat -c %s "$log" 2>/dev/null || echo 0) + 1))
declare -A to=() from=() pid=()
wanted=() who=in task='' tasks=0 said=''

# What lives on must not hold the pipes of probes, which would never end.
drop_pipes() { local fd; for fd in "${to[@]}" "${from[@]}"; do exec {fd}>&-; done; }
# talk NAME COMMAND...: COMMAND is or becomes a probe, which `ask NAME` then talks to.
talk() {
	local name=$1 in out; shift
	rm -f "$work/$name".{in,out}; mkfifo "$work/$name".{in,out}
	(drop_pipes; exec "$@") <"$work/$name.in" >"$work/$name.out" 2>"$work/$name.err" &
	pid[$name]=$!
	exec {in}>"$work/$name.in" {out}<"$work/$name.out"
	to[$name]=$in from[$name]=$out
}
# hush NAME: ends it; its exit status is ours.
hush() {
	local in=${to[$1]} out=${from[$1]}
	exec {in}>&- {out}<&-
	unset "to[$1]" "from[$1]"
	wait "${pid[$1]}"
}
# ask NAME VERB ARG...: the answer is $said; %XX stands for a byte.
ask() {
	local in=${to[$1]} out=${from[$1]} IFS=$'\t'; shift
	said="no answer"
	printf '%s\n' "$*" >&"$in" && read -r -t 120 -u "$out" said || said="no answer: $(cat "$work"/*.err)"
}

# open_run [OPTION...]: a probe named `in` inside a run, and one named `out` outside, if there is none.
open_run() {
	[[ ${pid[out]:-} ]] || talk out "$probe"
	task=$test-$$-$((++tasks)) wanted=()
	talk in ringfence run -q --policy fence --workspace /mnt/rf --task "$task" "$@" -- "$probe"
	ask in pid
	[[ $said =~ ^[0-9]+$ ]] || fail "the run did not start: $said"
}
# close_run: ends it, and compares its denials with what was written down.
close_run() {
	hush in; is "$test: the run's exit status" $? 0
	events_match "$task"
}

# allow NAME VERB ARG...: the probe $who may. outside: the one outside may. gives NAME ANSWER VERB...: any answer, no event.
allow() { local name=$1; shift; ask "$who" "$@"; is "$name" "$said" ok; }
outside() { ask out "$@"; [[ $said = ok ]] || fail "outside: $*: $said"; }
gives() { local name=$1 answer=$2; shift 2; ask "$who" "$@"; is "$name" "$said" "$answer"; }
# deny NAME EVENT VERB ARG...: $who may not; EVENT is "ACCESS OBJECT RULE REASON HOOK".
deny() {
	local name=$1 errno=EACCES; wanted+=("deny $2")
	[[ $2 != *" widening "* ]] || errno=EXDEV
	shift 2; ask "$who" "$@"; is "$name" "$said" "$errno"
}

# events_of TASK: its verdicts as the test writes them; O_TMPFILE's numbers don't matter.
events_of() {
	tail -c "+$log_start" "$log" | jq -r --arg task "$1" 'select(.kind == "verdict" and .task.name == $task) |
		[.verdict, .access, (.object_hex // (.object // "-" | @json | .[1:-1])), (.rule // "none"), .reason, .hook] | join(" ")' |
		sed -E 's,/#[0-9]+ ,/#N ,'
}
events_match() {
	local seen missing
	books_close "$test"
	seen=$(events_of "$1" | sort)
	missing=$(diff <(printf '%s\n' "${wanted[@]}" | sort) <(echo "$seen"))
	if [[ $missing ]]; then
		fail "events (< wanted, > logged): $(head -n 30 <<<"$missing")"
	else
		pass "events: all ${#wanted[@]} and no other"
	fi
}
# reason NAME: how many decisions had it so far.
reason() { ringfence status --json | jq --arg name "$1" '.reasons[$name] // 0'; }
