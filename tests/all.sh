#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# all.sh [PART...]: every test there is, or the parts named; what `make test` and CI run. Each part prints a header, its
# own words, its time and "N passed, N failed"; the last line is the sum. A part that says no such line has failed.
# The words of part NAME stay in build/test/NAME.log.
set -euo pipefail
cd "$(dirname "$0")/.."
export BUILD=${BUILD:-build}
logs=$BUILD/test
mkdir -p "$logs"
passed=0 failed=0 only=" $* " summary=() troubles=()

# part NAME ABOUT COMMAND...
part() {
	local name=$1 about=$2 start=$SECONDS status=0 p=0 f=0 last took
	shift 2
	[[ $only == "  " || $only == *" $name "* ]] || return 0
	printf '\n=== %s: %s\n    %s\n' "$name" "$about" "$*"
	"$@" 2>&1 | tee "$logs/$name.log" || status=${PIPESTATUS[0]}
	last=$(grep -aE '^[0-9]+ passed, [0-9]+ failed$' "$logs/$name.log" | tail -n 1 || true)
	if [[ $last ]]; then
		p=${last%% passed*} f=${last#*, } f=${f%% *}
		if ((status && !f)); then f=1; echo "FAILED  $name: exit status $status"; fi
		if ((p + f == 0)); then f=1; echo "FAILED  $name: tested nothing"; fi
	else
		f=1
		echo "FAILED  $name: exit status $status and no line \"N passed, N failed\""
	fi
	((!f)) || troubles+=("$name")
	took=$((SECONDS - start))
	passed=$((passed + p)) failed=$((failed + f))
	summary+=("$(printf '%-10s %4d passed %3d failed %5d s' "$name" "$p" "$f" "$took")")
	echo "--- ${summary[-1]}"
}

# once COMMAND...: a command that has no counts of its own is one test
once() {
	if "$@"; then echo "1 passed, 0 failed"; else echo "0 passed, 1 failed"; return 1; fi
}

quiet() { "$@" >/dev/null; }

build() { # CC: everything, from nothing, in a directory of its own
	rm -rf "$BUILD/test/$1"
	once quiet make --no-print-directory -s -j "$(nproc)" CC="$1" BUILD="$BUILD/test/$1" tests
}

# What every part uses, before the first clock starts.
echo "fetching kernels (cached in ${XDG_CACHE_HOME:-$HOME/.cache}/ringfence), building the programs"
tests/vm/fetch.sh 6.1 6.12 7
make --no-print-directory -s -j "$(nproc)" all tests >/dev/null

part lint "format, licences, layers, names, cppcheck, clang-tidy, shellcheck, man pages, policy tables" tests/lint/run.sh
part gcc "builds without a warning" build gcc
part clang "builds without a warning" build clang
part check "unit tests under ASan and UBSan, 1,000,000 pairs against the oracle" tests/unit/run.sh
part fuzz "every fuzz target for 5 s" tests/fuzz/run.sh 5
part install "make install into an empty directory" tests/install/run.sh
part rsyslog "the shipper against a real rsyslogd" tests/ship/rsyslog.sh
part harness "the VM harness itself, on the default kernel" tests/vm/selftest.sh 6.12
part suite "what is fenced, on every kernel" tests/vm/suite.sh
part stress "storms and the kernel's side of the oracle" tests/vm/stress.sh
part demo "an agent at work and its hijack" once tests/demo/run.sh

# What failed once more, where whoever reads only the end will see it.
for name in "${troubles[@]}"; do
	printf '\n=== %s failed (all of it: %s)\n' "$name" "$logs/$name.log"
	grep -aE -A 12 '^(FAILED|not ok|run\.sh:)|did not report|Error [0-9]' "$logs/$name.log" | head -n 60 || true
done
printf '\n=== %d s in all\n' "$SECONDS"
printf '%s\n' "${summary[@]}"
echo "$passed passed, $failed failed"
((failed == 0 && passed > 0))
