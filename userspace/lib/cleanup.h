/* SPDX-License-Identifier: Apache-2.0 */
/* Visible ownership: __cleanup(x_free) frees at the end of the scope, TAKE_PTR/TAKE_FD is the only way to escape. */
#pragma once

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define __cleanup(f) __attribute__((cleanup(f)))

#define TAKE_PTR(p)                         \
	({                                  \
		__typeof__(p) _taken = (p); \
		(p) = NULL;                 \
		_taken;                     \
	})

#define TAKE_FD(fd)                \
	({                         \
		int _taken = (fd); \
		(fd) = -1;         \
		_taken;            \
	})

/* For char * and other memory of malloc: __cleanup(freep) */
static inline void freep(void *p)
{
	free(*(void **)p);
}

static inline void closep(int *fd)
{
	if (*fd >= 0)
		close(*fd);
}

static inline void fclosep(FILE **f)
{
	if (*f)
		fclose(*f);
}
