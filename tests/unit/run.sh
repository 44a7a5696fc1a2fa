#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# run.sh [TEST...]: every unit test, or those named (test_policy), with gcc and with clang, under ASan and UBSan;
# then 1,000,000 pairs of the oracle. CHECK_CC="gcc" keeps to one compiler. Closes with "N passed, N failed".
set -euo pipefail
cd "$(dirname "$0")/../.."
build=${BUILD:-build}
passed=0 failed=0
export ASAN_OPTIONS=detect_leaks=1:strict_string_checks=1 UBSAN_OPTIONS=print_stacktrace=1
export CMOCKA_MESSAGE_OUTPUT=TAP

# one PROGRAM: runs it into PROGRAM.tap, its exit status into PROGRAM.status
one() {
	local status=0
	timeout 300 "$1" >"$1.tap" 2>"$1.err" || status=$?
	echo "$status" >"$1.status"
}
export -f one

# A test counts when it says so; one that was announced and never spoke, or was skipped, failed.
count() { # PROGRAM
	local status tests ok lost
	status=$(<"$1.status")
	tests=$(awk -F '\\.\\.' '/^1\.\.[0-9]+$/ {n += $2} END {print n + 0}' "$1.tap")
	ok=$(grep '^ok ' "$1.tap" | grep -vci '# skip' || true)
	lost=$((tests - ok))
	((status == 0 || lost > 0)) || lost=1
	((tests > 0)) || lost=1
	passed=$((passed + ok)) failed=$((failed + lost))
	if ((lost)); then
		echo "FAILED  $1: exit $status, $ok of $tests passed"
		grep -hE '^(not ok|#|ok .*# SKIP)|ERROR|runtime error|SUMMARY' "$1.tap" "$1.err" | head -n 40 || true
	else
		echo "ok      $1: $tests"
	fi
}

oracle() { # PROGRAM
	if timeout 600 "$1" --seed 1 --pairs 1000000 >"$1.tap" 2>&1; then
		passed=$((passed + 1))
		echo "ok      $1: $(tail -n 1 "$1.tap")"
	else
		failed=$((failed + 1))
		echo "FAILED  $1:"
		tail -n 20 "$1.tap"
	fi
}

for cc in ${CHECK_CC:-gcc clang}; do
	out=$build/check/$cc
	echo "== unit tests, $cc with ASan and UBSan"
	mkdir -p "$out"
	if ! make --no-print-directory -s -j "$(nproc)" -f tests/sanitized.mk CC="$cc" OUT="$out" KIND=unit; then
		echo "FAILED  the build with $cc"
		failed=$((failed + 1))
		continue
	fi
	programs=()
	if (($#)); then
		for name; do programs+=("$out/$name"); done
	else
		for source in tests/unit/test_*.c; do programs+=("$out/$(basename "$source" .c)"); done
	fi
	rm -f "$out"/*.tap "$out"/*.err "$out"/*.status
	# shellcheck disable=SC2016 # for the inner shell
	printf '%s\n' "${programs[@]}" | xargs -P "$(nproc)" -n 1 bash -c 'one "$1"' one
	for program in "${programs[@]}"; do count "$program"; done
	(($#)) || [[ $cc != gcc && -z ${CHECK_CC:-} ]] || oracle "$out/oracle"
done

echo "$passed passed, $failed failed"
((failed == 0 && passed > 0))
