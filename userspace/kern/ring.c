// SPDX-License-Identifier: Apache-2.0
/*
 * The ring buffer and the books. Our own consumer, because libbpf's takes a record out of the ring before its reader
 * can say that it was not able to keep it. Layout and ordering: kernel/bpf/ringbuf.c.
 */
#include "kern/kern.h"

#include <errno.h>
#include <linux/bpf.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "abi/event.h"

#define RECORD_ALIGN(n) (((n) + 7U) & ~7U)

struct rf_ring_reader {
	uint64_t *consumer; /* ours to advance */
	const uint64_t *producer; /* the page before the data */
	const uint8_t *data; /* RF_RING_BYTES, mapped twice in a row, so that a record never wraps */
	size_t page;
};

static int open_reader(struct rf_enforcer *e)
{
	struct rf_ring_reader *r;
	int fd = e->maps[RF_MAP_RING];
	void *map;

	if (e->reader)
		return 0;
	r = calloc(1, sizeof(*r));
	if (!r)
		return -ENOMEM;
	r->page = (size_t)sysconf(_SC_PAGESIZE);
	r->consumer = mmap(NULL, r->page, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (r->consumer == MAP_FAILED) {
		free(r);
		return -errno;
	}
	map = mmap(NULL, r->page + 2 * (size_t)RF_RING_BYTES, PROT_READ, MAP_SHARED, fd, (off_t)r->page);
	if (map == MAP_FAILED) {
		int err = -errno;

		munmap(r->consumer, r->page);
		free(r);
		return err;
	}
	r->producer = map;
	r->data = (const uint8_t *)map + r->page;
	e->reader = r;
	return 0;
}

void rf_close_ring(struct rf_enforcer *e)
{
	struct rf_ring_reader *r = e->reader;

	if (!r)
		return;
	munmap((void *)r->producer, r->page + 2 * (size_t)RF_RING_BYTES);
	munmap(r->consumer, r->page);
	free(r);
	e->reader = NULL;
}

/*
 * Counts a record as delivered, once however often we are killed in between: the ring position names the record, and
 * what the count will be is written down before it is changed.
 */
static void count_delivered(struct rf_enforcer *e, uint64_t position, uint32_t cpu)
{
	struct rf_taking *taking = &e->shared->rf_host.taking;
	struct rf_cpu *books = &e->shared->rf_cpus[cpu % RF_CPUS_MAX];

	taking->delivered = books->delivered + 1;
	taking->cpu = cpu;
	__atomic_store_n(&taking->position, position + 1, __ATOMIC_SEQ_CST);
	__atomic_store_n(&books->delivered, taking->delivered, __ATOMIC_SEQ_CST);
}

/* The record at position was dealt with by an enforcer that died before it had advanced the ring. */
static bool was_taken(struct rf_enforcer *e, uint64_t position)
{
	struct rf_taking *taking = &e->shared->rf_host.taking;

	if (__atomic_load_n(&taking->position, __ATOMIC_SEQ_CST) != position + 1)
		return false;
	e->shared->rf_cpus[taking->cpu % RF_CPUS_MAX].delivered = taking->delivered;
	return true;
}

static uint32_t cpu_of(const void *bytes, size_t len)
{
	const struct rf_event_head *head = bytes;

	return len >= sizeof(*head) ? head->cpu : 0;
}

int rf_enforcer_drain(struct rf_enforcer *e, int (*cb)(void *ctx, const void *bytes, size_t len), void *ctx)
{
	int err = open_reader(e);
	struct rf_ring_reader *r = e->reader;
	uint64_t at;

	if (err)
		return err;
	at = __atomic_load_n(r->consumer, __ATOMIC_ACQUIRE);
	while (at < __atomic_load_n(r->producer, __ATOMIC_SEQ_CST)) {
		const uint8_t *record = r->data + (at & (RF_RING_BYTES - 1));
		uint32_t head = __atomic_load_n((const uint32_t *)record, __ATOMIC_ACQUIRE);
		uint32_t len = head & ~(BPF_RINGBUF_BUSY_BIT | BPF_RINGBUF_DISCARD_BIT);

		/* Reserved and not yet submitted: it and what follows come next time. */
		if (head & BPF_RINGBUF_BUSY_BIT)
			break;
		if (!(head & BPF_RINGBUF_DISCARD_BIT) && !was_taken(e, at)) {
			err = cb(ctx, record + BPF_RINGBUF_HDR_SZ, len);
			if (err)
				return err;
			count_delivered(e, at, cpu_of(record + BPF_RINGBUF_HDR_SZ, len));
		}
		at += RECORD_ALIGN(len + BPF_RINGBUF_HDR_SZ);
		/* Ordered before the next look at the producer: the kernel only wakes a consumer that it sees has caught up. */
		__atomic_store_n(r->consumer, at, __ATOMIC_SEQ_CST);
	}
	return 0;
}

int rf_enforcer_ring_fd(const struct rf_enforcer *e)
{
	return e->maps[RF_MAP_RING];
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

void rf_enforcer_add_reported(struct rf_enforcer *e, unsigned int cpu, uint64_t n)
{
	__atomic_add_fetch(&e->shared->rf_cpus[cpu % RF_CPUS_MAX].reported, n, __ATOMIC_SEQ_CST);
}
