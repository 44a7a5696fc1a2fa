/* SPDX-License-Identifier: Apache-2.0 */
/* Directories that a test makes and leaves. */
#pragma once

#include <dirent.h>
#include <fcntl.h>
#include <unistd.h>

/* The directory and the files in it; it has no directories. */
static inline void scratch_remove(const char *path)
{
	DIR *dir = opendir(path);
	struct dirent *entry;

	while (dir && (entry = readdir(dir)))
		unlinkat(dirfd(dir), entry->d_name, 0);
	if (dir)
		closedir(dir);
	rmdir(path);
}
