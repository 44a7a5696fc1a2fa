// SPDX-License-Identifier: Apache-2.0
/* From file to file inside the kernel, and the making of room. */
#include "probe.h"

#include <fcntl.h>
#include <linux/falloc.h>
#include <linux/fs.h>
#include <stddef.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <unistd.h>

static long by_splice(int from, int to, size_t size)
{
	int pipe_fds[2];
	ssize_t n;

	if (pipe(pipe_fds))
		return -1;
	n = splice(from, NULL, pipe_fds[1], NULL, size, 0);
	if (n > 0)
		n = splice(pipe_fds[0], NULL, to, NULL, (size_t)n, 0);
	close(pipe_fds[0]);
	close(pipe_fds[1]);
	return n;
}

/* Both must have the same content. */
static long by_dedupe(int from, int to, size_t size)
{
	union {
		struct file_dedupe_range range;
		char room[sizeof(struct file_dedupe_range) + sizeof(struct file_dedupe_range_info)];
	} ask = {.range = {.src_length = size, .dest_count = 1}};

	ask.range.info[0].dest_fd = to;
	if (ioctl(from, FIDEDUPERANGE, &ask))
		return -1;
	if (!ask.range.info[0].status)
		return 0;
	errno = ask.range.info[0].status < 0 ? -ask.range.info[0].status : EILSEQ;
	return -1;
}

static long transfer(const char *how, int from, int to, size_t size)
{
	if (!strcmp(how, "range"))
		return copy_file_range(from, NULL, to, NULL, size, 0);
	if (!strcmp(how, "sendfile"))
		return sendfile(to, from, NULL, size);
	if (!strcmp(how, "splice"))
		return by_splice(from, to, size);
	if (!strcmp(how, "clone"))
		return ioctl(to, FICLONE, from);
	return by_dedupe(from, to, size);
}

static int do_copy(char **a)
{
	int from = get(a[1], O_RDONLY), err = answer(from), to;
	struct stat st = {};

	if (err)
		return err;
	to = get(a[2], O_WRONLY);
	err = answer(to);
	if (!err)
		err = answer(fstat(from, &st));
	if (!err)
		err = answer(transfer(a[0], from, to, (size_t)st.st_size));
	close(from);
	if (to >= 0)
		close(to);
	return err;
}

static int do_fallocate(char **a)
{
	int punch = *a[0] == 'p', fd = get(a[1], O_WRONLY), err = answer(fd);

	if (err)
		return err;
	err = answer(fallocate(fd, punch ? FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE : 0, 0, punch ? 3 : 5000));
	close(fd);
	return err;
}

const struct verb copy_verbs[] = {
	{"copy", 3, do_copy}, /* range|sendfile|splice|clone|dedupe FROM TO */
	{"fallocate", 2, do_fallocate}, /* grow|punch PATH */
	{},
};
