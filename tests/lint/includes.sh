#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Includes go one way. Every layer of userspace may include bpf/abi and itself, and what stands behind it here; only
# kern knows libbpf and the skeleton. In bpf/ the abi includes itself alone.
set -euo pipefail
cd "$(dirname "$0")/../.."
declare -A may=(
	[lib]="" [event]="lib" [policy]="lib" [control]="policy lib" [kern]="policy lib"
	[ship]="event lib" [daemon]="kern control event policy lib" [cli]="kern control event policy lib"
)
bad=0

for dir in userspace/*/; do
	layer=$(basename "$dir")
	[[ -v may[$layer] ]] || { echo "$dir: a layer that tests/lint/includes.sh does not know"; bad=1; continue; }
	allowed=" abi $layer ${may[$layer]} "
	while IFS=: read -r file line text; do
		what=${text#*[<\"]} what=${what%%[>\"]*}
		case $what in
		bpf/bpf.h | bpf/libbpf.h | bpf/btf.h | ringfence.skel.h)
			[[ $layer == kern ]] || { echo "$file:$line: only kern includes $what"; bad=1; }
			continue ;;
		esac
		# In the style of <stdio.h>, or of a file beside this one.
		[[ $text == *\"* && $what == */* ]] || continue
		[[ $allowed == *" ${what%%/*} "* ]] || { echo "$file:$line: $layer may not include $what"; bad=1; }
	done < <(grep -nHE '^[[:space:]]*#[[:space:]]*include' "$dir"*.[ch])
done

while IFS=: read -r file line text; do
	what=${text#*[<\"]} what=${what%%[>\"]*}
	case $file:$what in
	bpf/abi/*:linux/types.h | bpf/abi/*:stddef.h | bpf/*:vmlinux.h) ;;
	bpf/abi/*) [[ -e bpf/abi/$what ]] || { echo "$file:$line: the abi may not include $what"; bad=1; } ;;
	*:bpf/bpf_*.h | *:abi/*.h | *:*.bpf.h) ;;
	*) echo "$file:$line: a program may not include $what"; bad=1 ;;
	esac
done < <(grep -nHE '^[[:space:]]*#[[:space:]]*include' bpf/*.[ch] bpf/abi/*.[ch])
exit "$bad"
