/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Fixed-width types for both halves: BPF code has them from vmlinux.h, userspace from the kernel's uapi. */
#pragma once

#ifndef __bpf__
#include <linux/types.h>
#endif
