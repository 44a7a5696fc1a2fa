#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Unpack a kernel image and cut its BTF out: extract.py IMAGE VMLINUX BTF

IMAGE is an x86 bzImage, an arm64 Image, an arm64 EFI zboot image or a gzip of one. VMLINUX gets the unpacked
kernel (an ELF file on x86), BTF the raw type information as /sys/kernel/btf/vmlinux would show it.
"""
import lzma
import re
import struct
import subprocess
import sys
import zlib


def decompress(data):
    if data[:2] == b"\x1f\x8b":
        return zlib.decompressobj(31).decompress(data)
    if data[:6] == b"\xfd7zXZ\0":
        return lzma.LZMADecompressor().decompress(data)
    if data[:4] == b"\x28\xb5\x2f\xfd":
        # The kernel build appends the unpacked size, which zstd calls garbage after it has unpacked everything.
        return subprocess.run(["zstd", "-dcq"], input=data[:-4], stdout=subprocess.PIPE, check=True).stdout
    sys.exit(f"extract.py: unknown compression, payload starts with {data[:6].hex()}")


def unpack(image):
    if image[0x202:0x206] == b"HdrS":
        offset, size = struct.unpack_from("<II", image, 0x248)
        start = (image[0x1F1] + 1) * 512 + offset
        return decompress(image[start:start + size])
    if image[:2] == b"MZ" and image[4:8] == b"zimg":
        offset, size = struct.unpack_from("<II", image, 8)
        return decompress(image[offset:offset + size])
    if image[0x38:0x3C] == b"ARM\x64":
        return image
    return decompress(image)


def find_btf(kernel):
    """The largest thing that has a consistent BTF header: the arm64 image has no section table to ask."""
    best = b""
    for match in re.finditer(rb"\x9f\xeb\x01\x00", kernel):
        at = match.start()
        header, type_off, type_len, str_off, str_len = struct.unpack_from("<IIIII", kernel, at + 4)
        end = at + header + max(type_off + type_len, str_off + str_len)
        strings = at + header + str_off
        if not 24 <= header <= 64 or end > len(kernel) or str_len < 2 or type_len < 12:
            continue
        if kernel[strings] == 0 and kernel[strings + str_len - 1] == 0 and end - at > len(best):
            best = kernel[at:end]
    return best or sys.exit("extract.py: no BTF in this kernel")


def main():
    if len(sys.argv) != 4:
        sys.exit(__doc__)
    with open(sys.argv[1], "rb") as f:
        kernel = unpack(f.read())
    for path, data in (sys.argv[2], kernel), (sys.argv[3], find_btf(kernel)):
        with open(path, "wb") as f:
            f.write(data)


main()
