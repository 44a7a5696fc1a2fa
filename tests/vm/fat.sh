#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# fat.sh FILE: an empty FAT12 filesystem of 1.44 MB, byte by byte: mkfs.vfat is not on every host.
set -euo pipefail

truncate -s 1440K "$1"
# Jump, name; 512-byte sectors, one a cluster, 1 reserved, 2 tables, 224 root entries, 2880 sectors, 9 for each table.
printf '\xeb\x3c\x90ringfenc\x00\x02\x01\x01\x00\x02\xe0\x00\x40\x0b\xf0\x09\x00\x12\x00\x02\x00' |
	dd of="$1" conv=notrunc status=none
printf '\x00\x00\x29\x01\x02\x03\x04NO NAME    FAT12   ' | dd of="$1" bs=1 seek=36 conv=notrunc status=none
printf '\x55\xaa' | dd of="$1" bs=1 seek=510 conv=notrunc status=none
for table in 1 10; do printf '\xf0\xff\xff' | dd of="$1" bs=512 seek=$table conv=notrunc status=none; done
