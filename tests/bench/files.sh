#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# In a guest whose clock counts instructions: files.sh BUILD KERNEL. What operations on files cost, as lines of JSON in
# $RF_OUT: open (and close) at several depths, counted in names below the mount point, the others at one.
set -euo pipefail
# shellcheck source=tests/bench/cases.sh
source "$(dirname "$0")/cases.sh"
depths=(1 8 32) depth=8
others=(stat create unlink rename mkdir rmdir)
declare -A plain

# path TOP DEPTH: of a directory whose files have that depth
path() {
	local path=$1 i
	for ((i = 1; i < $2; i++)); do path+=/level-$i; done
	echo "$path"
}

files=()
for d in "${depths[@]}"; do
	mkdir -p "$(path /b "$d")"
	files+=("$(path /b "$d")/file.txt")
	echo data >"${files[-1]}"
done
directory=$(path /c $depth)
mkdir -p "$directory"
echo data >"$directory/file.txt"

# line CASE RULES OPERATION DEPTH INSTRUCTIONS
line() {
	[[ $1 != plain ]] || plain[$3-$4]=$5
	printf '{"kernel":"%s","case":"%s","rules":%d,"operation":"%s","depth":%d,"instructions":%d,"added":%d}\n' \
		"$kernel" "$1" "$2" "$3" "$4" "$5" $(($5 - plain[$3-$4])) | tee -a "$RF_OUT/files.json"
}

# opens CASE RULES COMMAND...: COMMAND is followed by the arguments of operations
opens() {
	local got i
	got=$("${@:3}" open "${files[@]}")
	mapfile -t got <<<"$got"
	((${#got[@]} == ${#files[@]})) || { echo "files.sh: $1 gave ${got[*]}" >&2; exit 1; }
	for i in "${!files[@]}"; do line "$1" "$2" open "${depths[i]}" "${got[i]}"; done
}

# all CASE RULES COMMAND...
all() {
	local operation path got
	opens "$@"
	for operation in "${others[@]}"; do
		path=$directory
		[[ $operation != stat ]] || path+=/file.txt
		got=$("${@:3}" "$operation" "$path")
		line "$1" "$2" "$operation" $depth "$got"
	done
}

: >"$RF_OUT/files.json"
all plain 0 operations
all landlock 10 landlock operations
load_apparmor
all apparmor 10 apparmor operations
opens floor 0 floor operations

start_with 10 1000 10000
start_other_run
all untagged 10 operations
all tagged 10 tagged 10 operations
for rules in 1000 10000; do opens tagged $rules tagged $rules operations; done
opens missed 10 tagged 10 operations --miss /c
nothing_refused
exec 3>&-
kill $daemon
