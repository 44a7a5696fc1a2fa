/* SPDX-License-Identifier: Apache-2.0 */
/* Reads the log's lines in order across rotation: FILE.n ... FILE.1, FILE, and waits there for more. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A place between two lines. The numbers of deleted files are used again, so the file's first line is part of it. */
struct rf_position {
	uint64_t inode; /* 0: the beginning of the oldest file */
	uint64_t offset;
	uint64_t head; /* hash of the file's first line */
};

struct rf_reader;
/* The directory must exist; the log need not yet. Caller closes *ret. */
int rf_reader_open(const char *path, struct rf_reader **ret);
void rf_reader_close(struct rf_reader **reader);
/* 0; 1: that file is gone, so reading goes on at the oldest there is; -errno, then the reader stays where it is. */
int rf_reader_seek(struct rf_reader *reader, const struct rf_position *position);
/*
 * 1: a line, without its newline, good until the next call; 0: nothing more now; -EBADMSG: bytes that can't be a line
 * (longer than RF_LINE_MAX, or torn at the end of a finished file) were skipped; another -errno: could not read.
 */
int rf_reader_next(struct rf_reader *reader, const char **ret_line, size_t *ret_len);
/* Behind what rf_reader_next() returned or skipped. */
void rf_reader_position(const struct rf_reader *reader, struct rf_position *ret);
/* Where the log ends now. No log yet: all 0. */
int rf_reader_end(const struct rf_reader *reader, struct rf_position *ret);
/* Bytes of the log behind position. */
uint64_t rf_reader_lag(const struct rf_reader *reader, const struct rf_position *position);
/* How often lines may have been lost to rotation or truncation before they were read. */
uint64_t rf_reader_gaps(const struct rf_reader *reader);
