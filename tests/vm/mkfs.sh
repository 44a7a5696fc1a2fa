#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# In the guest: make and mount one small filesystem of each kind below DIR (default /mnt/rf), named by its kind.
set -euo pipefail

dir=${1:-/mnt/rf}
images=/run/rf-images # tmpfs: the guest's root is an overlay, and its memory is all there is
[[ $(hostname) = rfguest ]] || { echo "mkfs.sh: only for the guest of run.sh" >&2; exit 1; }
mkdir -p "$dir"/{ext4,xfs,btrfs,tmpfs,overlayfs} "$images"
mountpoint -q "$images" || mount -t tmpfs tmpfs "$images"

# loop KIND SIZE MKFS...: a sparse file of that size, made by MKFS and mounted
loop() {
	truncate -s "$2" "$images/$1"
	"${@:3}" "$images/$1" >/dev/null # mkfs.btrfs prints news even when told to be quiet
	mount -t "$1" -o loop "$images/$1" "$dir/$1"
}

modprobe -a loop ext4 xfs btrfs overlay
loop ext4 64M mkfs.ext4 -q -b 4096 -O casefold,verity # 6.1 has verity for 4 KiB blocks only
loop xfs 300M mkfs.xfs -q
loop btrfs 128M mkfs.btrfs -q
mount -t tmpfs -o size=64M tmpfs "$dir/tmpfs"

# The guest's own root is an overlay over 9p; this one has a local file system below, as a container has.
mkdir -p "$images"/overlay/{lower,upper,work}
mount -t overlay -o "lowerdir=$images/overlay/lower,upperdir=$images/overlay/upper,workdir=$images/overlay/work" \
	overlay "$dir/overlayfs"
