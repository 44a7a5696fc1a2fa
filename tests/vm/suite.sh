#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# The functional suite on real kernels: one guest for each kernel and configuration runs all tests.
set -uo pipefail

usage="usage: suite.sh [-k \"KERNEL...\"] [-a CMDLINE] [-c CPUS] [TEST...]

Without -a and -c: 2 CPUs, then preempt=full on one CPU and on four. Without -k: 6.1, 6.12 and 7. Tests are the names
of tests/vm/suite/*.test. What a guest said is in build/vm/KERNEL-CONFIG.log. The last line is \"N passed, N failed\";
exit 0 only if nothing failed and every test on every guest said its closing line."
here=$(cd "$(dirname "$0")" && pwd)
build=${RF_BUILD:-$here/../../build}
kernels="6.1 6.12 7" configs=("2:" "1:preempt=full" "4:preempt=full") cmdline='' cpus='' passed=0 failed=0

while getopts k:a:c:h opt; do
	case $opt in
	k) kernels=$OPTARG ;;
	a) cmdline=$OPTARG ;;
	c) cpus=$OPTARG ;;
	h) echo "$usage"; exit ;;
	*) echo "$usage" >&2; exit 2 ;;
	esac
done
shift $((OPTIND - 1))
[[ ! $cmdline && ! $cpus ]] || configs=("${cpus:-2}:$cmdline")
tests=("$@")
if ((!$#)); then
	for file in "$here"/suite/*.test; do tests+=("$(basename "$file" .test)"); done
	# The one that kills the guest's daemon comes last.
	mapfile -t tests < <(printf '%s\n' "${tests[@]}" | sed '/^daemon$/d'; echo daemon)
fi
for test in "${tests[@]}"; do
	[[ -e $here/suite/$test.test ]] || { echo "suite.sh: no test $test" >&2; exit 2; }
done

limit=120
for test in "${tests[@]}"; do
	each=$(sed -n 's/^# limit: \([0-9]*\) s$/\1/p' "$here/suite/$test.test")
	limit=$((limit + ${each:-120} + 10))
done

# guest KERNEL CPUS CMDLINE: all tests there; counts what they say and what they fail to say.
guest() {
	local config="$2cpu${3:+-${3//[^a-z0-9]/-}}" start=$SECONDS rc=0 test line
	local log=$build/vm/$1-$config.log

	"$here/run.sh" -k "$1" -c "$2" -a "$3" -t "$limit" -e "RF_BUILD=$build" -- "$here/suite/guest.sh" "${tests[@]}" \
		>"$log" 2>&1 || rc=$?
	for test in "${tests[@]}"; do
		line=$(sed -n "s/^result  $test: //p" "$log")
		echo "$1 $config $test: ${line:-did not report}"
		if [[ $line =~ ^([0-9]+)\ passed,\ ([0-9]+)\ failed, ]]; then
			passed=$((passed + BASH_REMATCH[1])) failed=$((failed + BASH_REMATCH[2]))
		else
			failed=$((failed + 1))
		fi
	done
	grep '^FAILED' "$log"
	# A guest that ends badly though all its tests are well: a panic at the end, say.
	if ((rc)) && ! grep -qE '^FAILED|^result .*([1-9][0-9]* failed|no closing)' "$log"; then
		echo "$1 $config: exit status $rc; $log ends:"; tail -n 15 "$log"
		failed=$((failed + 1))
	fi
	echo "$1 $config: $((SECONDS - start)) s, exit status $rc"
}

mkdir -p "$build/vm"
build=$(cd "$build" && pwd)
for kernel in $kernels; do
	for config in "${configs[@]}"; do guest "$kernel" "${config%%:*}" "${config#*:}"; done
done
echo "$passed passed, $failed failed"
((failed == 0 && passed > 0))
