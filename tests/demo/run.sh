#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# The demo: an agent at work and its hijack, fenced by a real kernel; exit status 0 only if every step went as it should.
#   KERNEL=7        boot this kernel of tests/vm/kernels.list in a guest (the default)
#   DEMO_HERE=1     this machine and its running kernel instead; needs root, makes a user "dev" and takes it away
#   DEMO_POLICIES   directory with other policies than policies/
#   DEMO_SECONDS    time limit of the guest, default 600
set -euo pipefail
cd "$(dirname "$0")/../.."
build=$(realpath "${BUILD:-build}") policies=$(realpath "${DEMO_POLICIES:-policies}") kernel=${KERNEL:-7}
die() { echo "demo: $*" >&2; exit 1; }

missing=()
export PATH=$PATH:/usr/sbin:/sbin
for program in rsyslogd git gcc make node npm nc busybox jq setpriv ip useradd \
	"$([[ ${DEMO_HERE:-} ]] || echo qemu-system-x86_64)"; do
	[[ ! $program ]] || command -v "$program" >/dev/null || missing+=("$program")
done
((${#missing[@]} == 0)) || die "not found: ${missing[*]}. \`make deps\` installs what the demo uses."
for program in ringfence ringfenced ringfence-ship; do
	[[ -x $build/$program ]] || die "$build/$program is not built: make"
done
out=$(mktemp -d "${TMPDIR:-/tmp}/ringfence-demo.XXXXXX")
trap 'rm -rf "$out"' EXIT

here() {
	((EUID == 0)) || die "DEMO_HERE=1 needs root"
	! "$build/ringfence" status >/dev/null 2>&1 || die "an enforcer runs here already, and a host has one"
	"$build/ringfence" doctor ||
		die "this kernel cannot enforce, see above. Without DEMO_HERE the demo boots a guest with one that can."
	BUILD=$build POLICIES=$policies tests/demo/guest.sh "$out"
}

in_guest() {
	# The first time needs the network: the kernel is a Debian package.
	[[ -e ${XDG_CACHE_HOME:-$HOME/.cache}/ringfence/kernels/$kernel/version ]] || tests/vm/fetch.sh "$kernel" ||
		die "kernel $kernel is not in the cache and could not be fetched: is there a network?"
	echo "booting kernel $kernel in a guest"
	tests/vm/run.sh -k "$kernel" -t "${DEMO_SECONDS:-600}" -o "$out" -e BUILD="$build" -e POLICIES="$policies" -- \
		tests/demo/guest.sh /out
}

status=0
if [[ ${DEMO_HERE:-} ]]; then here || status=$?; else in_guest || status=$?; fi
((status == 0)) || die "it did not come to its end (status $status)"
tests/demo/report.sh "$out" || status=$?
echo "$SECONDS s in all"
exit "$status"
