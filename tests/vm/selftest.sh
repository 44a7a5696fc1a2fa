#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Prove run.sh itself, on the kernels named or all of kernels.list: one line per check, then "N passed, N failed".
set -euo pipefail

here=$(cd "$(dirname "$0")" && pwd)
run=$here/run.sh
out=$(mktemp -d)
trap 'rm -rf "$out"' EXIT
passed=0 failed=0

# check NAME WANTED-STATUS PATTERN RUN-ARGUMENT...: the pattern (an extended regex) must match all of the output
check() {
	local name=$1 wanted=$2 pattern=$3 got=0 text start=$SECONDS

	text=$("$run" -k "$kernel" -o "$out" "${@:4}" 2>"$out/stderr") || got=$?
	if [[ $got = "$wanted" && $text =~ ^$pattern$ ]]; then
		passed=$((passed + 1))
		echo "ok     $kernel: $name ($((SECONDS - start)) s)"
	else
		echo "FAILED $kernel: $name: status $got, wanted $wanted; output '$text', wanted '$pattern'"
		tail -n 30 "$out/stderr"
		failed=$((failed + 1))
	fi
}
# holds NAME COMMAND...: about what the check before it left on the host
holds() {
	if "${@:2}"; then passed=$((passed + 1)); else failed=$((failed + 1)); echo "FAILED $kernel: $1"; fi
}

# shellcheck disable=SC2016 # for the guest's shell
self() {
	kernel=$1
	check "boots" 0 '[0-9.]+' -- cut -d ' ' -f 1 /proc/uptime
	check "status 3, both outputs, env and directory" 3 "out err v w $PWD rfguest" -e 'V=v w' -- \
		sh -c 'printf "out "; printf "err " >&2; printf "%s %s %s" "$V" "$(pwd)" "$(hostname)"; exit 3'
	check "death by signal" 143 '' -- sh -c 'kill -TERM $$'
	check "no such command" 127 '.*no-such-command.*' -- no-such-command
	check "nothing lost of 20 MB, with a process left behind" 0 '20000000' -- \
		sh -c 'sleep 1000 & head -c 20000000 /dev/zero | tee /out/big | wc -c'
	holds "/out/big is whole" test "$(stat -c %s "$out/big")" = 20000000
	check "time limit" 124 'begin' -t 60 -- sh -c 'echo begin; sleep 1000'
	check "panic" 125 'begin' -- sh -c 'echo begin; sleep 2; echo c >/proc/sysrq-trigger; sleep 100'
	holds "panic text is shown" grep -q 'sysrq triggered crash' "$out/stderr"
	check "power off by the command" 125 '' -- sh -c 'echo o >/proc/sysrq-trigger; sleep 100'
	check "bpf in the LSM list, BTF is there" 0 '.*,bpf.*' -- \
		sh -c 'test -s /sys/kernel/btf/vmlinux && cat /sys/kernel/security/lsm'
	check "the cached BTF is the kernel's" 0 '' -- \
		cmp /sys/kernel/btf/vmlinux "${XDG_CACHE_HOME:-$HOME/.cache}/ringfence/kernels/$kernel/vmlinux.btf"
	check "the host's tools" 0 'git node python hello' -- sh -c '
		git --version >/dev/null && echo -n "git "; node -e "process.stdout.write(\"node \")"
		python3 -c "print(\"python\", end=\" \")"; echo "int puts(const char *); int main(void) { puts(\"hello\"); }" |
		gcc -x c -o /tmp/hello - && /tmp/hello'
	check "every file system" 0 'ext4 xfs btrfs tmpfs overlay done' -- sh -ec "
		'$here/mkfs.sh' /mnt/rf
		for d in ext4 xfs btrfs tmpfs overlayfs; do
			echo x >/mnt/rf/\$d/x; test -s /mnt/rf/\$d/x; printf '%s ' \$(findmnt -n -o FSTYPE /mnt/rf/\$d)
		done; echo done"
	check "4 CPUs" 0 4 -c 4 -- nproc
	check "preempt=full" 0 '.*\(full\).*' -a preempt=full -- cat /sys/kernel/debug/sched/preempt
	check "writes stay in the guest" 0 '' -- touch "$here/selftest-wrote-this"
	holds "the guest did not write to the host" test ! -e "$here/selftest-wrote-this"
	check "icount" 0 '1' -i -- nproc
}

(($#)) || mapfile -t kernels < <("$here/fetch.sh" -l)
for kernel in "${@:-${kernels[@]}}"; do
	self "$kernel"
done
echo "$passed passed, $failed failed"
((failed == 0 && passed > 0))
