// SPDX-License-Identifier: Apache-2.0
/* Mappings of files. */
#include "probe.h"

#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define LENGTH 4096

/* One mapping of PATH, and then maybe another protection for it. */
static int map(const char *path, int flags, int protection, int then)
{
	int fd = get(path, flags), err = answer(fd);
	char *at;

	if (err)
		return err;
	at = mmap(NULL, LENGTH, protection, MAP_PRIVATE, fd, 0);
	if (at == MAP_FAILED || (then && mprotect(at, LENGTH, then)))
		err = -errno;
	if (at != MAP_FAILED)
		munmap(at, LENGTH);
	close(fd);
	return err;
}

static int do_map_exec(char **a)
{
	return map(a[0], O_RDONLY, PROT_READ | PROT_EXEC, 0);
}

static int do_protect_exec(char **a)
{
	return map(a[0], O_RDONLY, PROT_READ, PROT_READ | PROT_EXEC);
}

/* What a just-in-time compiler does. */
static int do_map_anonymous_exec(char **a)
{
	char *at = mmap(NULL, LENGTH, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	int err = at == MAP_FAILED ? -errno : answer(mprotect(at, LENGTH, PROT_READ | PROT_EXEC));

	(void)a;
	if (at != MAP_FAILED)
		munmap(at, LENGTH);
	return err;
}

/* The same with a memfd, which is a program without a name. */
static int do_map_memfd_exec(char **a)
{
	int fd = memfd_create("probe", 0), err = answer(ftruncate(fd, LENGTH));
	char *at;

	(void)a;
	if (err)
		return err;
	at = mmap(NULL, LENGTH, PROT_READ | PROT_EXEC, MAP_SHARED, fd, 0);
	err = at == MAP_FAILED ? -errno : 0;
	if (at != MAP_FAILED)
		munmap(at, LENGTH);
	close(fd);
	return err;
}

/* Stores TEXT over the beginning of PATH, through memory. */
static int do_map_write(char **a)
{
	int fd = get(a[0], O_RDWR), err = answer(fd);
	char *at;

	if (err)
		return err;
	at = mmap(NULL, LENGTH, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (at == MAP_FAILED) {
		err = -errno;
	} else {
		memcpy(at, a[1], strlen(a[1]));
		munmap(at, LENGTH);
	}
	close(fd);
	return err;
}

static char *held;

/* A mapping that stays. */
static int do_map_hold(char **a)
{
	int fd = get(a[0], O_RDWR), err = answer(fd);

	if (err)
		return err;
	held = mmap(NULL, LENGTH, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	err = held == MAP_FAILED ? -errno : 0;
	close(fd);
	return err;
}

static int do_map_store(char **a)
{
	*held = *a[0];
	return *held;
}

const struct verb map_verbs[] = {
	{"map-exec", 1, do_map_exec}, /* PATH */
	{"protect-exec", 1, do_protect_exec}, /* PATH */
	{"map-anonymous-exec", 0, do_map_anonymous_exec},
	{"map-memfd-exec", 0, do_map_memfd_exec},
	{"map-hold", 1, do_map_hold}, /* PATH */
	{"map-store", 1, do_map_store}, /* BYTE: over the first one of what is held; answers it */
	{"map-write", 2, do_map_write}, /* PATH TEXT */
	{},
};
