// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* The least that any LSM program on the hook costs: it only passes on what the others said. */
#include "vmlinux.h"

#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>

char LICENSE[] SEC("license") = "Dual BSD/GPL";

SEC("lsm/file_open")
int BPF_PROG(floor_file_open, struct file *file, int ret)
{
	return ret;
}
