#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Stress and proof in guests: every test of tests/vm/stress on every kernel, one guest each kernel.
set -uo pipefail

usage="usage: stress.sh [-k KERNEL]... [-c CPUS] [-t SECONDS] [TEST]...

  -k KERNEL   6.1, 6.12 or 7; all three by default
  -c CPUS     default 4
  -t SECONDS  time limit of one guest, boot included; default 1500
  TEST        names of tests/vm/stress/NAME.test; all by default

Times come from the environment: STORM_SECONDS, RENAMES_SECONDS, MOUNTS_SECONDS; pairs from DIFFERENTIAL_PAIRS."

here=$(cd "$(dirname "$0")" && pwd)
kernels=() cpus=4 limit=1500

# In the guest: the tests one after another; the programs that the first one loads serve all.
inside() {
	local name status=0
	for name; do
		echo "== $name on $(uname -r)"
		"$here/stress/$name.test" || { echo "== $name: exit $?"; status=1; }
	done
	exit $status
}
[[ ${1:-} != --inside ]] || { shift; inside "$@"; }

while getopts k:c:t:h opt; do
	case $opt in
	k) kernels+=("$OPTARG") ;;
	c) cpus=$OPTARG ;;
	t) limit=$OPTARG ;;
	h) echo "$usage"; exit ;;
	*) echo "$usage" >&2; exit 2 ;;
	esac
done
shift $((OPTIND - 1))
((${#kernels[@]})) || kernels=(6.1 6.12 7)
tests=("$@")
if ((!$#)); then
	for file in "$here"/stress/*.test; do
		name=${file##*/}
		tests+=("${name%.test}")
	done
fi
env=()
for name in STORM_SECONDS RENAMES_SECONDS MOUNTS_SECONDS DIFFERENTIAL_PAIRS; do
	[[ ! ${!name:-} ]] || env+=(-e "$name=${!name}")
done

out=$(mktemp "${TMPDIR:-/tmp}/rfstress.XXXXXX")
trap 'rm -f "$out"' EXIT
passed=0 failed=0
for kernel in "${kernels[@]}"; do
	status=0
	"$here/run.sh" -k "$kernel" -c "$cpus" -a preempt=full -t "$limit" "${env[@]}" -- \
		"$here/stress.sh" --inside "${tests[@]}" 2>&1 | tee "$out" || status=$?
	good=$(awk '/^[0-9]+ passed, [0-9]+ failed$/ {n += $1} END {print n + 0}' "$out")
	bad=$(awk '/^[0-9]+ passed, [0-9]+ failed$/ {n += $3} END {print n + 0}' "$out")
	closed=$(grep -cE '^[0-9]+ passed, [0-9]+ failed$' "$out")
	# A test without a closing line, or a guest that ended badly with nothing failed, is a failure too.
	bad=$((bad + ${#tests[@]} - closed))
	((status == 0 || bad > 0)) || bad=1
	passed=$((passed + good)) failed=$((failed + bad))
	echo "== kernel $kernel: $good passed, $bad failed (exit $status)"
done
echo "$passed passed, $failed failed"
((failed == 0 && passed > 0))
