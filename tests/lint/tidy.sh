#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# tidy.sh FILE...: clang-tidy; what passed once is not asked again until it, a header or .clang-tidy changes.
set -euo pipefail
cd "$(dirname "$0")/../.."
build=${BUILD:-build}
flags=(-std=gnu17 -D_GNU_SOURCE -Ibpf -Iuserspace "-I$build")
mkdir -p "$build/lint/tidy"
bad=0
for file; do
	key=$({ cat .clang-tidy tests/unit/.clang-tidy; echo "$file"; clang -E "${flags[@]}" "$file"; } | sha256sum | cut -c 1-32) || { bad=1; continue; }
	[[ ! -e $build/lint/tidy/$key ]] || continue
	if out=$(clang-tidy --quiet "$file" -- "${flags[@]}" 2>"$build/lint/tidy/$key.err"); then
		touch "$build/lint/tidy/$key"
	else
		echo "$out"
		cat "$build/lint/tidy/$key.err"
		bad=1
	fi
	rm -f "$build/lint/tidy/$key.err"
done
exit "$bad"
