#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Run a command under another kernel: qemu (tcg), the host's root read-only over 9p below a throw-away overlay.
set -euo pipefail

usage="usage: run.sh [-k KERNEL] [-c CPUS] [-m MEM] [-a CMDLINE] [-t SECONDS] [-i] [-o OUTDIR] [-e NAME=VALUE]... -- CMD...

  -k KERNEL   a name of kernels.list (default 6.12), fetched when it is not in the cache
  -c CPUS     default 2
  -m MEM      qemu's notation, default 2G
  -a CMDLINE  more kernel command line
  -t SECONDS  time limit, boot included; default 600, none for an interactive shell
  -i          the guest's clock counts instructions (one CPU): equal costs on every run and machine
  -o OUTDIR   host directory, read-write at /out and in \$RF_OUT in the guest; gets console.log
  -e N=V      environment for CMD, which otherwise has only the caller's PATH, HOME, LANG and TERM
  RF_TCG_THREAD=multi or single, in our own environment, overrides how many threads emulate the CPUs

CMD runs as root in the caller's directory; its output comes out here and its exit status is ours. Otherwise:
124 time is up, 125 the kernel panicked or oopsed or the guest went away, 126 the emulator did not run.
\"-- bash\" on a terminal is an interactive shell."

here=$(cd "$(dirname "$0")" && pwd)
cache=${XDG_CACHE_HOME:-$HOME/.cache}/ringfence
kernel=6.12 cpus=2 mem=2G cmdline='' limit='' icount='' out='' env=()

die() { echo "run.sh: $*" >&2; exit 126; }

while getopts k:c:m:a:t:io:e:h opt; do
	case $opt in
	k) kernel=$OPTARG ;;
	c) cpus=$OPTARG ;;
	m) mem=$OPTARG ;;
	a) cmdline=$OPTARG ;;
	t) limit=$OPTARG ;;
	i) icount=1 cpus=1 ;;
	o) out=$OPTARG ;;
	e) env+=("$OPTARG") ;;
	h) echo "$usage"; exit ;;
	*) echo "$usage" >&2; exit 2 ;;
	esac
done
shift $((OPTIND - 1))
(($#)) || { echo "$usage" >&2; exit 2; }

dir=$cache/kernels/$kernel
[[ -e $dir/version ]] || "$here/fetch.sh" "$kernel" || die "no kernel $kernel"
initrd=$dir/initrd-$(cat "$here/mkinitrd.sh" "$here/initrd-init" | sha256sum | cut -c 1-12)
[[ -e $initrd ]] || "$here/mkinitrd.sh" "$dir" "$initrd"

run=$(mktemp -d "${TMPDIR:-/tmp}/rfvm.XXXXXX")
emulator='' terminal=''
# shellcheck disable=SC2317 # runs at exit
clean() {
	[[ ! $emulator ]] || kill "$emulator" 2>/dev/null || true
	[[ ! $terminal ]] || stty "$terminal" || true
	rm -rf "$run"
}
trap clean EXIT
trap 'exit 130' INT
trap 'exit 143' TERM HUP
mkdir -p "${out:=$run/outdir}"
out=$(cd "$out" && pwd)
console=$out/console.log
: >"$run/out"

printf 'now=%q init=%q modules=%q directory=%q\n' \
	"$(date +%s)" "$here/guest.sh" "$dir/lib/modules" "$PWD" >"$run/vars"
{
	printf 'cd %q || exit 127\nexec env -i' "$PWD"
	printf ' %q' "PATH=$PATH" "HOME=$HOME" "LANG=${LANG:-C.UTF-8}" "TERM=${TERM:-dumb}" RF_OUT=/out "${env[@]}" "$@"
	echo
} >"$run/cmd"

# shellcheck disable=SC2054 # the commas are qemu's
qemu=(qemu-system-x86_64 -nodefaults -no-user-config -display none -monitor none -no-reboot -M q35 -cpu max
	-m "$mem" -smp "$cpus" -kernel "$dir/vmlinux" -initrd "$initrd"
	-append "console=ttyS0 panic=-1 oops=panic nowatchdog tsc=reliable no_timer_check $cmdline"
	-serial "file:$console" -device virtio-rng-pci
	-virtfs local,path=/,mount_tag=root,security_model=none,readonly=on,multidevs=remap
	-virtfs "local,path=$run,mount_tag=run,security_model=none"
	-virtfs "local,path=$out,mount_tag=out,security_model=none,multidevs=remap")
# QEMU 7.2 with a thread per CPU now and then runs code that another CPU has patched meanwhile: about one boot in
# 25 of kernel 7 hangs or oopses with "int3". One thread for all CPUs never did, and is as fast on two cores.
version=$(qemu-system-x86_64 --version | sed -n 's/.*version \([0-9]*\).*/\1/p')
threads=${RF_TCG_THREAD:-$( ((version > 8)) && echo multi || echo single)}
[[ ! $icount ]] || { threads=single; qemu+=(-icount "shift=0,sleep=off"); }
if [[ -t 0 && -t 1 && $# = 1 && $1 = *sh ]]; then
	touch "$run/interactive"
	terminal=$(stty -g)
	qemu+=(-chardev "stdio,id=tty,signal=off" -device virtio-serial-pci -device "virtconsole,chardev=tty")
	printf 'stty rows %s cols %s\n' "$(tput lines)" "$(tput cols)" | cat - "$run/cmd" >"$run/cmd2"
	mv "$run/cmd2" "$run/cmd"
fi
[[ $limit ]] || { limit=600; [[ ! $terminal ]] || limit=0; }

# emulate: run qemu to its end, with what the guest appends to out on our stdout; sets rc
emulate() {
	local start=$SECONDS
	timeout --foreground -k 5 "$limit" "${qemu[@]}" -accel "tcg,thread=$threads" <&0 &
	emulator=$!
	tail -c +1 -s 0.1 -f --pid=$emulator "$run/out" &
	local tail=$!
	rc=0
	wait "$emulator" || rc=$?
	emulator=''
	wait "$tail" || true
	((rc < 124 || limit == 0 || SECONDS - start < limit)) || rc=124
}

emulate
if ((rc > 128)) && [[ ! -s $run/status ]]; then
	echo "run.sh: qemu died by signal $((rc - 128)), trying once more" >&2
	: >"$run/out"
	emulate
fi

# The first sign of trouble is the text to show; BUG also stands for what the kernel survives.
trouble='Kernel panic|BUG: |Oops: |: 0000 \[#1\]'
if grep -aqE "$trouble" "$console" 2>/dev/null; then
	echo "run.sh: the kernel panicked, on $kernel ($(<"$dir/version")):" >&2
	grep -aE -m 1 -B 4 -A 40 "$trouble" "$console" >&2
	exit 125
fi
((rc != 124)) || { echo "run.sh: time is up after $limit s" >&2; exit 124; }
[[ -s $run/status ]] && exit "$(<"$run/status")"
((rc == 0)) || die "qemu ended with status $rc"
echo "run.sh: the guest ended without a word; its console ends:" >&2
tail -n 20 "$console" >&2
exit 125
