#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# In the guest, by suite.sh: prepares it once, starts the daemon, runs each TEST within its time limit.
set -uo pipefail

# shellcheck source=tests/vm/lib.sh
source "$(dirname "$0")/../lib.sh"
suite=$root/tests/vm/suite
[[ $(hostname) = rfguest ]] || { echo "guest.sh: only for the guest of run.sh" >&2; exit 1; }

"$root/tests/vm/mkfs.sh" || exit 1
btrfs -q subvolume create /mnt/rf/btrfs/sub || exit 1
ip link set lo up
# Where linux-base lets programs be executed.
cp "$build"/{ringfence,tests/vm/programs/probe} /usr/local/bin/ || exit 1
start=$SECONDS
start_daemon --policies "$suite" || exit 1
echo "the daemon started in $((SECONDS - start)) s"

status=0
for test; do
	file=$suite/$test.test start=$SECONDS
	limit=$(sed -n 's/^# limit: \([0-9]*\) s$/\1/p' "$file")
	timeout -k 5 "${limit:-120}" bash "$file" >/run/result 2>&1
	rc=$?
	cat /run/result
	closing=$(tail -n 1 /run/result)
	((rc == 0)) || status=1
	[[ $closing =~ ^[0-9]+\ passed,\ [0-9]+\ failed$ ]] || closing="no closing line, exit status $rc"
	echo "result  $test: $closing, $((SECONDS - start)) s"
done
exit "$status"
