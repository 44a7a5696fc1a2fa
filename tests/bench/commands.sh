#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# In a guest whose clock counts instructions: commands.sh BUILD KERNEL. What whole commands cost, as lines of JSON in
# $RF_OUT: CPU time of their processes, in a tree (tree.tar beside run.sh's output) on a tmpfs.
set -euo pipefail
# shellcheck source=tests/bench/cases.sh
source "$(dirname "$0")/cases.sh"
names=(git-status find compile)
declare -A plain times=([git-status]=3 [find]=3 [compile]=1)

tar -xf "$build/bench/tree.tar" -C /c
mkdir /c/src
for i in {1..50}; do
	printf '#include <stdio.h>\n#include <stdlib.h>\n\nint part_%d(void)\n{\n\treturn puts(getenv("HOME"));\n}\n' "$i"
done | split -l 7 --numeric-suffixes=1 --additional-suffix=.c - /c/src/part-

# The same environment in every case: a run's is not its starter's.
# shellcheck disable=SC2016 # for that shell
command_of() {
	command=(env -i "PATH=$PATH" HOME=/root LANG=C.UTF-8)
	case $1 in
	git-status) command+=(git -C /c/tree status) ;;
	find) command+=(find /c/tree -name '*.none') ;;
	compile) command+=(sh -c 'for f in /c/src/*.c; do gcc -c "$f" -o "${f%c}o" || exit; done') ;;
	esac
}

# all CASE WRAPPER...
all() {
	local name got command
	for name in "${names[@]}"; do
		command_of "$name"
		got=$("${@:2}" cputime "${times[$name]}" "${command[@]}")
		[[ $1 != plain ]] || plain[$name]=$got
		printf '{"kernel":"%s","case":"%s","command":"%s","instructions":%d,"ratio":%s}\n' "$kernel" "$1" "$name" \
			"${got}000" "$(jq -n "$got / ${plain[$name]} * 10000 | round / 10000")" | tee -a "$RF_OUT/commands.json"
	done
}

: >"$RF_OUT/commands.json"
# Fills the caches.
for name in "${names[@]}"; do
	command_of "$name"
	cputime 1 "${command[@]}" >/dev/null
done
all plain
all landlock landlock
load_apparmor
all apparmor apparmor
start_with 10
start_other_run
all untagged
all tagged tagged 10
nothing_refused
exec 3>&-
kill $daemon
