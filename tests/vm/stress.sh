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

out=$(mktemp -d "${TMPDIR:-/tmp}/rfstress.XXXXXX")
trap 'rm -rf "$out"' EXIT

# guest KERNEL: its words, then its count.
guest() {
	local status=0 good bad closed
	"$here/run.sh" -k "$1" -c "$cpus" -a preempt=full -t "$limit" "${env[@]}" -- \
		"$here/stress.sh" --inside "${tests[@]}" >"$out/$1" 2>&1 </dev/null || status=$?
	good=$(awk '/^[0-9]+ passed, [0-9]+ failed$/ {n += $1} END {print n + 0}' "$out/$1")
	bad=$(awk '/^[0-9]+ passed, [0-9]+ failed$/ {n += $3} END {print n + 0}' "$out/$1")
	closed=$(grep -cE '^[0-9]+ passed, [0-9]+ failed$' "$out/$1")
	# A test without a closing line, or a guest that ended badly with nothing failed, is a failure too.
	bad=$((bad + ${#tests[@]} - closed))
	((status == 0 || bad > 0)) || bad=1
	cat "$out/$1"
	echo "== kernel $1: $good passed, $bad failed (exit $status, $SECONDS s)"
	echo "$good $bad" >"$out/$1.count"
}

# A guest keeps one CPU of this machine busy, however many it has.
for kernel in "${kernels[@]}"; do
	while (($(jobs -rp | wc -l) >= $(nproc))); do wait -n; done
	guest "$kernel" &
done
wait
read -r counted passed failed < <(cat "$out"/*.count | awk '{ p += $1; f += $2 } END { print NR, p + 0, f + 0 }')
failed=$((failed + ${#kernels[@]} - counted))
echo "$passed passed, $failed failed"
((failed == 0 && passed > 0))
