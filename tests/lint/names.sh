#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# One name everywhere: each access, reason and hook of bpf/abi/access.h is in userspace/lib/names.c, and its name in
# the documents that people look it up in.
set -euo pipefail
cd "$(dirname "$0")/../.."
bad=0 seen=0

# of ENUM: its enumerators but the _MAX that closes it
of() {
	awk -v name="$1" '$0 ~ "^enum " name " " {on = 1; next} on && /^}/ {exit} on && match($0, /RF_[A-Z0-9_]+/) {
		e = substr($0, RSTART, RLENGTH); if (e !~ /_MAX$/) print e}' bpf/abi/access.h
}
# in_each NAME FILE...
in_each() {
	local file
	for file in "${@:2}"; do
		grep -qF -- "$1" "$file" || { echo "$file: $1 is not there"; bad=1; }
	done
}

check() { # ENUM FILE...
	local enumerator name
	for enumerator in $(of "$1"); do
		[[ $enumerator != RF_HOOK_NONE ]] || continue
		seen=$((seen + 1))
		name=$(sed -n "s/.*\[$enumerator\] = \"\([^\"]*\)\".*/\1/p" userspace/lib/names.c)
		if [[ $name ]]; then in_each "$name" "${@:2}"; else echo "names.c: $enumerator has no name"; bad=1; fi
	done
}

for enumerator in $(of rf_access); do
	name=$(sed 's/_/./; s/.*/\L&/' <<<"${enumerator#RF_}")
	grep -qF "[$enumerator] = \"$name\"" userspace/lib/names.c || { echo "names.c: $enumerator is not $name"; bad=1; }
done
check rf_access docs/policy.md docs/man/ringfence.1
check rf_reason docs/events.md
check rf_hook docs/events.md
((seen > 20)) || { echo "names.sh: found only $seen enumerators: did access.h move?"; bad=1; }
exit "$bad"
