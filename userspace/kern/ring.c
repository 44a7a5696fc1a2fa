// SPDX-License-Identifier: Apache-2.0
/* The ring buffer and the books. libbpf moves the consumer's position after each record: it is ours once cb returns. */
#include "kern/kern.h"

#include <bpf/libbpf.h>
#include <errno.h>
#include <string.h>

struct rf_ring_reader {
	int (*cb)(void *ctx, const void *bytes, size_t len);
	void *ctx;
};

static int on_record(void *ctx, void *bytes, size_t len)
{
	struct rf_ring_reader *reader = ctx;

	/* libbpf moves the consumer's position past this record before it stops. */
	return reader->cb(reader->ctx, bytes, len) ? -ECANCELED : 0;
}

static int open_ring(struct rf_enforcer *e)
{
	if (e->ring)
		return 0;
	if (!e->reader)
		e->reader = calloc(1, sizeof(*e->reader));
	if (!e->reader)
		return -ENOMEM;
	e->ring = ring_buffer__new(e->maps[RF_MAP_RING], on_record, e->reader, NULL);
	return e->ring ? 0 : -errno;
}

int rf_enforcer_ring_fd(const struct rf_enforcer *e)
{
	/* The map's own descriptor can be polled; libbpf's ring is opened by the first drain. */
	return e->maps[RF_MAP_RING];
}

int rf_enforcer_drain(struct rf_enforcer *e, int (*cb)(void *ctx, const void *bytes, size_t len), void *ctx)
{
	int err = open_ring(e);

	if (err)
		return err;
	e->reader->cb = cb;
	e->reader->ctx = ctx;
	err = ring_buffer__consume(e->ring);
	return err < 0 && err != -ECANCELED ? err : 0;
}

unsigned int rf_enforcer_cpus(const struct rf_enforcer *e)
{
	return e->cpus;
}

int rf_enforcer_books(const struct rf_enforcer *e, unsigned int cpu, struct rf_cpu *ret)
{
	if (cpu >= e->cpus || cpu >= RF_CPUS_MAX)
		return -ERANGE;
	*ret = e->shared->rf_cpus[cpu];
	return 0;
}

void rf_enforcer_add_delivered(struct rf_enforcer *e, unsigned int cpu, uint64_t n)
{
	__atomic_add_fetch(&e->shared->rf_cpus[cpu % RF_CPUS_MAX].delivered, n, __ATOMIC_SEQ_CST);
}

void rf_enforcer_add_reported(struct rf_enforcer *e, unsigned int cpu, uint64_t n)
{
	__atomic_add_fetch(&e->shared->rf_cpus[cpu % RF_CPUS_MAX].reported, n, __ATOMIC_SEQ_CST);
}
