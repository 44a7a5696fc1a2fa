#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# run.sh SECONDS [TARGET...]: every fuzz target (or fuzz_policy ...) with libFuzzer, ASan and UBSan for SECONDS each.
# Corpora grow in build/fuzz/corpus; what breaks a target is left in build/fuzz/crashes. Closes with "N passed, N failed".
set -euo pipefail
cd "$(dirname "$0")/../.."
seconds=${1:?usage: run.sh SECONDS [TARGET...]}
shift
out=${BUILD:-build}/fuzz
passed=0 failed=0

make --no-print-directory -s -j "$(nproc)" -f tests/sanitized.mk CC=clang OUT="$out" KIND=fuzz

# one TARGET: fuzz it, with its words in TARGET.log and its exit status in TARGET.status
one() {
	local name=${1#fuzz_} status=0
	local seeds=$out/seeds/$name
	rm -rf "$seeds"
	mkdir -p "$out/corpus/$name" "$out/crashes" "$seeds"
	cp tests/fuzz/seeds/"$name"/* "$seeds"
	# Every policy that we ship, and every malformed one; but a second of real work is half a minute in here.
	[[ $name != policy ]] ||
		find policies tests/corpus/policies -name '*.json' ! -name '*too-many-states*' -exec cp -t "$seeds" {} +
	timeout $((seconds + 200)) "$out/$1" -max_total_time="$seconds" -timeout=60 -rss_limit_mb=2048 -print_final_stats=1 \
		-artifact_prefix="$out/crashes/$name-" "$out/corpus/$name" "$seeds" >"$out/$1.log" 2>&1 || status=$?
	echo "$status" >"$out/$1.status"
}
export -f one
export out seconds

(($#)) || for source in tests/fuzz/fuzz_*.c; do set -- "$@" "$(basename "$source" .c)"; done
# shellcheck disable=SC2016 # for the inner shell
printf '%s\n' "$@" | xargs -P "$(nproc)" -n 1 bash -c 'one "$1"' one

for target; do
	log=$out/$target.log
	runs=$(awk '/^stat::number_of_executed_units/ {print $2}' "$log")
	first=$(awk '/INITED/ {for (i = 1; i < NF; i++) if ($i == "cov:") print $(i + 1)}' "$log")
	last=$(awk '{for (i = 1; i < NF; i++) if ($i == "cov:") c = $(i + 1)} END {print c + 0}' "$log")
	if [[ $(<"$out/$target.status") = 0 ]] && ((${runs:-0} > 0)); then
		passed=$((passed + 1))
		echo "ok      $target: $runs runs in $seconds s, coverage $last, $((last - ${first:-0})) of it new"
	else
		failed=$((failed + 1))
		echo "FAILED  $target: exit $(<"$out/$target.status"), ${runs:-0} runs; all of it in $log"
		grep -E 'ERROR|SUMMARY|runtime error|Test unit written|^    #[0-9] ' "$log" | head -n 20 || true
	fi
done
echo "$passed passed, $failed failed"
((failed == 0 && passed > 0))
