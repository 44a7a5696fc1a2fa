#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# gen.sh x86|arm64: vmlinux.h from the BTF of Debian's 6.12 kernel package, never from the running kernel.
set -euo pipefail

kernel=6.12
here=$(cd "$(dirname "$0")" && pwd)
case ${1-} in
x86) arch=amd64 dir=$kernel ;;
arm64) arch=arm64 dir=$kernel-arm64 ;;
*) echo "usage: gen.sh x86|arm64" >&2; exit 2 ;;
esac

"$here/../tests/vm/fetch.sh" -a "$arch" "$kernel"
dir=${XDG_CACHE_HOME:-$HOME/.cache}/ringfence/kernels/$dir
header=vmlinux-$(<"$dir/package-version").h

mkdir -p "$here/$1"
rm -f "$here/$1"/vmlinux*.h
bpftool btf dump file "$dir/vmlinux.btf" format c >"$here/$1/$header"
ln -s "$header" "$here/$1/vmlinux.h"
echo "$here/$1/$header: $(wc -l <"$here/$1/$header") lines from linux-image-$(<"$dir/version")"
