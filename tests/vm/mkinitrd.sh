#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# mkinitrd.sh KERNELDIR OUT: an initramfs with busybox, the modules to reach the host's root, and initrd-init.
set -euo pipefail

kernel=$1 out=$2
here=$(cd "$(dirname "$0")" && pwd)
modules=(virtio_pci virtio_console virtio_rng 9pnet_virtio 9p overlay)

tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
mkdir -p "$tmp"/{bin,host,new,rw,modules}
cp "$(command -v busybox)" "$tmp/bin/busybox"
cp "$here/initrd-init" "$tmp/init"
chmod 755 "$tmp/init"

# The files in the order to load them, each once; what is built in prints "builtin" instead of "insmod".
n=100
modprobe -d "$kernel" -S "$(<"$kernel/version")" --show-depends -a "${modules[@]}" |
	awk '$1 == "insmod" && !seen[$2]++ { print $2 }' |
	while read -r file; do
		module=$tmp/modules/$((n++))-$(basename "${file%.xz}")
		case $file in
		*.xz) xz -dc "$file" >"$module" ;;
		*) cp "$file" "$module" ;;
		esac
	done

(cd "$tmp" && find . -mindepth 1 | cpio --quiet -o -H newc) >"$out.$$"
mv "$out.$$" "$out"
