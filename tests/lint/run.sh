#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# run.sh [CHECK...]: everything that can be said about the tree without running it, or the checks named: format, spdx,
# includes, names, abi, cppcheck, tidy, shell, man, tables, sizes. Closes with "N passed, N failed".
set -euo pipefail
cd "$(dirname "$0")/../.."
export BUILD=${BUILD:-build}
passed=0 failed=0 only=" $* "

# What git knows and what is about to be added, in the working tree.
list() { git ls-files -co --exclude-standard -- "$@" | sort -u | while read -r f; do [[ ! -f $f ]] || echo "$f"; done; }
mapfile -t c < <(list '*.c' '*.h' ':!vmlinux')
mapfile -t plain < <(list 'userspace/*.c' 'tests/*.c' ':!*.bpf.c' ':!tests/demo/project')
mapfile -t scripts < <(list '*.sh' '*.bash' '*.test' .ci/run)

# check NAME COMMAND...: silent when it succeeds
check() {
	local name=$1 out start=$SECONDS
	shift
	[[ $only == "  " || $only == *" $name "* ]] || return 0
	if out=$("$@" 2>&1); then
		passed=$((passed + 1))
		echo "ok      $name ($((SECONDS - start)) s)"
		grep -a '^note:' <<<"$out" || true
	else
		failed=$((failed + 1))
		printf 'FAILED  %s (%d s)\n%s\n' "$name" $((SECONDS - start)) "$out"
	fi
}

# Files that cannot have a comment, and prose, are named by LICENSE.
spdx() {
	local file want bad=0
	for file in $(list ':!LICENSE*' ':!.gitignore' ':!*.json' ':!*.md' ':!tests/fuzz/seeds' ':!tests/corpus' ':!vmlinux/*.h' \
		':!tests/lint/cppcheck.*' ':!tests/*/expected*'); do
		want="Apache-2.0"
		[[ $file != bpf/* && $file != *.bpf.c ]] || want="GPL-2.0-only OR BSD-2-Clause"
		head -n 3 "$file" | grep -aqE "SPDX-License-Identifier: $want( \*/)?$" || { echo "$file: no SPDX line with $want"; bad=1; }
	done
	return $bad
}

# The contract has one layout, whoever compiles it.
abi() {
	local warnings=(-Wall -Wextra -Werror -Ibpf -c bpf/abi/check.c -o /dev/null)
	gcc -std=gnu17 "${warnings[@]}" && clang -std=gnu17 "${warnings[@]}" &&
		clang -g -O2 -target bpf -mcpu=v3 -Ivmlinux/x86 -Wno-unused-parameter "${warnings[@]}" &&
		clang -g -O2 -target bpf -mcpu=v3 -Ivmlinux/arm64 -Wno-unused-parameter "${warnings[@]}"
}

cpp() {
	mkdir -p "$BUILD/lint/cppcheck"
	cppcheck --quiet -j "$(nproc)" --cppcheck-build-dir="$BUILD/lint/cppcheck" --std=c11 --inline-suppr \
		--enable=warning,portability,performance --error-exitcode=1 --library=tests/lint/cppcheck.cfg \
		--suppressions-list=tests/lint/cppcheck.suppressions -D_GNU_SOURCE -Ibpf -Iuserspace "${plain[@]}"
}

tidy() { printf '%s\n' "${plain[@]}" | xargs -P "$(nproc)" -n 4 tests/lint/tidy.sh; }

# mandoc's exit status counts what is below -W too.
man() {
	local out
	out=$(mandoc -Tlint -Wwarning docs/man/*.[1-8]) || true
	[[ -z $out ]] || { echo "$out"; return 1; }
}

tables() { "$BUILD/ringfence" policy test policies/*.tests.json; }

# clang-tidy needs the generated skeleton, the tables need the compiler of policies.
make --no-print-directory -s -j "$(nproc)" all >/dev/null
check format clang-format --dry-run -Werror "${c[@]}"
check spdx spdx
check includes tests/lint/includes.sh
check names tests/lint/names.sh
check abi abi
check cppcheck cpp
check tidy tidy
check shell shellcheck -x -P SCRIPTDIR "${scripts[@]}"
check man man
check tables tables
check sizes tests/lint/sizes.sh
echo "$passed passed, $failed failed"
((failed == 0 && passed > 0))
