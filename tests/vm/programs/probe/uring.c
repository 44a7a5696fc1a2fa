// SPDX-License-Identifier: Apache-2.0
/* System calls through io_uring: one ring, one request, one answer. `worker-` makes a kernel thread do it. */
#include "probe.h"

#include <fcntl.h>
#include <linux/fs.h>
#include <linux/io_uring.h>
#include <linux/openat2.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#define OP_FTRUNCATE 55 /* 6.9; not in the headers of Debian 12 */
#define RING_BYTES 4096 /* more than one page is not needed for one entry */

struct ring {
	int fd;
	struct io_uring_params params;
	char *queue; /* both rings: IORING_FEAT_SINGLE_MMAP, 5.4 */
	struct io_uring_sqe *sqes;
};

static int ring_start(struct ring *ring)
{
	ring->fd = (int)syscall(SYS_io_uring_setup, 1, &ring->params);
	if (ring->fd < 0)
		return -errno;
	ring->queue = mmap(NULL, RING_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, ring->fd, IORING_OFF_SQ_RING);
	ring->sqes = mmap(NULL, sizeof(*ring->sqes), PROT_READ | PROT_WRITE, MAP_SHARED, ring->fd, IORING_OFF_SQES);
	return ring->queue == MAP_FAILED || ring->sqes == MAP_FAILED ? -ENOMEM : 0;
}

static void ring_stop(struct ring *ring)
{
	if (ring->queue != MAP_FAILED)
		munmap(ring->queue, RING_BYTES);
	if (ring->sqes != MAP_FAILED)
		munmap(ring->sqes, sizeof(*ring->sqes));
	if (ring->fd >= 0)
		close(ring->fd);
}

/* What the request answers: 0, a negative errno, or a descriptor. personality 1: with our own, registered, credentials. */
static int ring_ask(const struct io_uring_sqe *sqe)
{
	struct ring ring = {.fd = -1, .queue = MAP_FAILED, .sqes = MAP_FAILED};
	int err = ring_start(&ring);

	if (!err && sqe->personality &&
	    syscall(SYS_io_uring_register, ring.fd, IORING_REGISTER_PERSONALITY, NULL, 0) != sqe->personality)
		err = -EINVAL;
	if (!err) {
		const struct io_sqring_offsets *sq = &ring.params.sq_off;

		*ring.sqes = *sqe;
		*(uint32_t *)(ring.queue + sq->array) = 0;
		__atomic_store_n((uint32_t *)(ring.queue + sq->tail), 1, __ATOMIC_RELEASE);
		if (syscall(SYS_io_uring_enter, ring.fd, 1, 1, IORING_ENTER_GETEVENTS, NULL, 0) != 1)
			err = -errno;
		else
			err = ((struct io_uring_cqe *)(ring.queue + ring.params.cq_off.cqes))->res;
	}
	ring_stop(&ring);
	return err;
}

static uint64_t address_of(const void *p)
{
	return (uintptr_t)p;
}

static int opened(const struct io_uring_sqe *sqe)
{
	int fd = ring_ask(sqe);

	return fd < 0 ? fd : first_byte(fd);
}

static int do_open(char **a)
{
	struct io_uring_sqe sqe = {.opcode = IORING_OP_OPENAT, .fd = AT_FDCWD, .addr = address_of(a[0])};

	return opened(&sqe);
}

static int do_worker_open(char **a)
{
	struct io_uring_sqe sqe = {
		.opcode = IORING_OP_OPENAT, .flags = IOSQE_ASYNC, .fd = AT_FDCWD, .addr = address_of(a[0])};

	return opened(&sqe);
}

static int do_openat2(char **a)
{
	struct open_how how = {.flags = O_RDONLY};
	struct io_uring_sqe sqe = {.opcode = IORING_OP_OPENAT2,
				   .fd = AT_FDCWD,
				   .addr = address_of(a[0]),
				   .len = sizeof(how),
				   .off = address_of(&how)};

	return opened(&sqe);
}

static int do_unlink(char **a)
{
	struct io_uring_sqe sqe = {.opcode = IORING_OP_UNLINKAT, .fd = AT_FDCWD, .addr = address_of(a[0])};

	return ring_ask(&sqe);
}

static int do_mkdir(char **a)
{
	struct io_uring_sqe sqe = {.opcode = IORING_OP_MKDIRAT, .fd = AT_FDCWD, .addr = address_of(a[0]), .len = 0755};

	return ring_ask(&sqe);
}

static int two_names(uint8_t opcode, char **a)
{
	struct io_uring_sqe sqe = {.opcode = opcode,
				   .fd = AT_FDCWD,
				   .addr = address_of(a[0]),
				   .len = (uint32_t)AT_FDCWD,
				   .addr2 = address_of(a[1])};

	return ring_ask(&sqe);
}

static int do_rename(char **a)
{
	return two_names(IORING_OP_RENAMEAT, a);
}

static int do_link(char **a)
{
	return two_names(IORING_OP_LINKAT, a);
}

static int do_symlink(char **a)
{
	struct io_uring_sqe sqe = {
		.opcode = IORING_OP_SYMLINKAT, .fd = AT_FDCWD, .addr = address_of(a[0]), .addr2 = address_of(a[1])};

	return ring_ask(&sqe);
}

static int do_setxattr(char **a)
{
	struct io_uring_sqe sqe = {.opcode = IORING_OP_SETXATTR,
				   .addr = address_of(a[1]),
				   .addr2 = address_of("x"),
				   .addr3 = address_of(a[0]),
				   .len = 1};

	return ring_ask(&sqe);
}

static int do_ftruncate(char **a)
{
	struct io_uring_sqe sqe = {.opcode = OP_FTRUNCATE, .off = 1};
	int err;

	sqe.fd = get(a[0], O_RDWR);
	err = answer(sqe.fd);
	if (err)
		return err;
	err = ring_ask(&sqe);
	close(sqe.fd);
	return err;
}

static int do_nop(char **a)
{
	struct io_uring_sqe sqe = {.opcode = IORING_OP_NOP};

	(void)a;
	return ring_ask(&sqe);
}

static int do_personality(char **a)
{
	struct io_uring_sqe sqe = {.opcode = IORING_OP_NOP, .personality = 1};

	(void)a;
	return ring_ask(&sqe);
}

const struct verb uring_verbs[] = {
	{"uring-nop", 0, do_nop},
	{"uring-personality", 0, do_personality}, /* a nop with registered credentials */
	{"uring-open", 1, do_open}, /* PATH: its first byte */
	{"uring-worker-open", 1, do_worker_open}, /* PATH: its first byte */
	{"uring-openat2", 1, do_openat2}, /* PATH: its first byte */
	{"uring-unlink", 1, do_unlink}, /* PATH */
	{"uring-mkdir", 1, do_mkdir}, /* PATH */
	{"uring-rename", 2, do_rename}, /* OLD NEW */
	{"uring-link", 2, do_link}, /* OLD NEW */
	{"uring-symlink", 2, do_symlink}, /* TARGET PATH */
	{"uring-setxattr", 2, do_setxattr}, /* PATH NAME */
	{"uring-ftruncate", 1, do_ftruncate}, /* PATH */
	{},
};
