#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# The functional suite on real kernels: one guest for each kernel and configuration runs all tests.
set -uo pipefail

usage="usage: suite.sh [-x] [-k \"KERNEL...\"] [-a CMDLINE] [-c CPUS] [-j GUESTS] [TEST...]

Without -a and -c: preempt=full on one CPU and on four for 6.1 and 7, the kernels that differ most, and 2 CPUs with the
kernel's own preemption for the others. A test that says \"# once: a kernel\" is left out on one CPU, one that says
\"# once: a machine\" runs only where the kernel is as it comes; with -x, or named, everything runs everywhere. Without
-k: 6.1, 6.12 and 7. Without -j: one guest at a time for each CPU of this machine, as each keeps one busy. Tests are the names of tests/vm/suite/*.test. What a
guest said is in build/vm/KERNEL-CONFIG.log. The last line is \"N passed, N failed\";
exit 0 only if nothing failed and every test on every guest said its closing line."
here=$(cd "$(dirname "$0")" && pwd)
build=${RF_BUILD:-$here/../../build}
kernels="6.1 6.12 7" every='' cmdline='' cpus='' jobs=''

while getopts xk:a:c:j:h opt; do
	case $opt in
	x) every=1 ;;
	k) kernels=$OPTARG ;;
	a) cmdline=$OPTARG ;;
	c) cpus=$OPTARG ;;
	j) jobs=$OPTARG ;;
	h) echo "$usage"; exit ;;
	*) echo "$usage" >&2; exit 2 ;;
	esac
done
shift $((OPTIND - 1))

# configs KERNEL: its guests, as CPUS:CMDLINE.
configs() {
	if [[ $cmdline || $cpus ]]; then
		echo "${cpus:-2}:$cmdline"
	elif [[ $every ]]; then
		echo 2: 1:preempt=full 4:preempt=full
	elif [[ $1 == 6.1 || $1 == 7 ]]; then
		echo 4:preempt=full 1:preempt=full
	else
		echo 2:
	fi
}
tests=("$@") named=$*
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
	local config="$2cpu${3:+-${3//[^a-z0-9]/-}}" start=$SECONDS rc=0 passed=0 failed=0 test line
	local log=$build/vm/$1-$config.log tests=("${tests[@]}")

	# What asks nothing of the scheduler, and takes minutes in an emulator, need not run under each.
	if [[ $3 && ! $every && ! $named ]]; then
		mapfile -t tests < <(for test in "${tests[@]}"; do
			grep -qx '# once: a machine' "$here/suite/$test.test" && continue
			(($2 == 1)) && grep -qx '# once: a kernel' "$here/suite/$test.test" && continue
			echo "$test"
		done)
	fi

	rm -f "$log.count"
	"$here/run.sh" -k "$1" -c "$2" -a "$3" -t "$limit" -e "RF_BUILD=$build" -- "$here/suite/guest.sh" "${tests[@]}" \
		>"$log" 2>&1 </dev/null || rc=$?
	for test in "${tests[@]}"; do
		line=$(sed -n "s/^result  $test: //p" "$log")
		echo "$1 $config $test: ${line:-did not report}"
		if [[ $line =~ ^([0-9]+)\ passed,\ ([0-9]+)\ failed, ]]; then
			passed=$((passed + BASH_REMATCH[1])) failed=$((failed + BASH_REMATCH[2]))
		else
			failed=$((failed + 1))
		fi
	done
	grep -A 12 '^FAILED' "$log" | grep -vE '^(ok|result)'
	# A guest that ends badly though all its tests are well: a panic at the end, say.
	if ((rc && !failed)) || ((!rc && failed)); then
		echo "$1 $config: exit status $rc; $log ends:"; tail -n 15 "$log"
		failed=$((failed + 1))
	fi
	echo "$1 $config: $passed passed, $failed failed, exit status $rc, $((SECONDS - start)) s"
	echo "$passed $failed" >"$log.count"
}

mkdir -p "$build/vm"
build=$(cd "$build" && pwd)
rm -f "$build"/vm/*.count
guests=0
for kernel in $kernels; do
	# Here, as guests at the same time would all want to fetch it.
	"$here/fetch.sh" "$kernel" 2>/dev/null || exit 1
	for config in $(configs "$kernel"); do
		while (($(jobs -rp | wc -l) >= ${jobs:-$(nproc)})); do wait -n; done
		guest "$kernel" "${config%%:*}" "${config#*:}" &
		guests=$((guests + 1))
	done
done
wait
read -r counted passed failed < <(cat "$build"/vm/*.count | awk '{ p += $1; f += $2 } END { print NR, p + 0, f + 0 }')
failed=$((failed + guests - counted))
echo "$passed passed, $failed failed"
((failed == 0 && passed > 0))
