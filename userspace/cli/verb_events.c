// SPDX-License-Identifier: Apache-2.0
/* ringfence events: the log with its rotated files, oldest first, and on request what comes next. */
#include <errno.h>
#include <stddef.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#include "cli/event_line.h"
#include "control/request.h"
#include "event/event.h"
#include "lib/cleanup.h"
#include "lib/msg.h"

#define KEEP_MAX 1000
#define STEP_MS 200

struct events_options {
	const char *run, *log;
	bool follow, json;
	struct cli_colours colours;
};

static void show(const struct events_options *options, const char *line)
{
	cli_print_event(stdout, line, options->run, options->json, &options->colours);
}

/* All whole lines that are there. A line without its newline is still being written: it is read again later. */
static int read_lines(const struct events_options *options, FILE *file, char *line)
{
	long at = ftell(file);

	while (fgets(line, RF_LINE_MAX + 1, file)) {
		size_t len = strlen(line);

		if (len < RF_LINE_MAX && line[len - 1] != '\n')
			break;
		show(options, line);
		at = ftell(file);
	}
	clearerr(file);
	return fseek(file, at, SEEK_SET) ? -errno : 0;
}

static bool replaced(FILE *file, const char *path)
{
	struct stat open, now;

	if (fstat(fileno(file), &open) || stat(path, &now))
		return false; /* between two renames: look again later */
	return open.st_dev != now.st_dev || open.st_ino != now.st_ino;
}

static int follow(const struct events_options *options, FILE **file, char *line)
{
	const struct timespec step = {.tv_nsec = STEP_MS * 1000000L};

	for (;;) {
		bool moved = replaced(*file, options->log);
		int err = read_lines(options, *file, line);

		if (err || fflush(stdout))
			return err ? err : -errno;
		/* Asked before the lines were read: the writer never writes to a file that it has moved away. */
		if (moved) {
			FILE *next = fopen(options->log, "re");

			if (!next)
				return -errno;
			fclose(*file);
			*file = next;
			continue;
		}
		nanosleep(&step, NULL);
	}
}

/* FILE.9 ... FILE.1: what was rotated away. */
static int read_old(const struct events_options *options, char *line)
{
	char path[4200];
	int oldest = 0;

	for (int i = 1; i <= KEEP_MAX; i++) {
		snprintf(path, sizeof(path), "%s.%d", options->log, i);
		if (access(path, F_OK))
			break;
		oldest = i;
	}
	for (int i = oldest; i > 0; i--) {
		__cleanup(fclosep) FILE *file = NULL;
		int err;

		snprintf(path, sizeof(path), "%s.%d", options->log, i);
		file = fopen(path, "re");
		if (!file)
			return -errno;
		err = read_lines(options, file, line);
		if (err)
			return err;
	}
	return 0;
}

static int events(const struct events_options *options)
{
	__cleanup(freep) char *line = malloc(RF_LINE_MAX + 1);
	__cleanup(fclosep) FILE *file = fopen(options->log, "re");
	int err;

	if (!line)
		return rf_err(CLI_FAILED, "out of memory");
	if (!file)
		return rf_err(CLI_FAILED, "%s: %s%s", options->log, strerror(errno),
			      errno == EACCES ? "; use sudo" : "; `ringfence status` shows where the enforcer logs");
	err = options->follow ? 0 : read_old(options, line);
	/* Following begins with what comes next, as tail -f on a quiet log would. */
	if (!err && options->follow && fseek(file, 0, SEEK_END))
		err = -errno;
	if (!err)
		err = options->follow ? follow(options, &file, line) : read_lines(options, file, line);
	return err ? rf_err(CLI_FAILED, "%s: %s", options->log, strerror(-err)) : CLI_OK;
}

int verb_events(int argc, char **argv)
{
#define ROW(name, letter, kind, member, arg, help)                                     \
	{                                                                              \
		name, letter, kind, offsetof(struct events_options, member), arg, help \
	}
	static const struct rf_option_row rows[] = {
		ROW("follow", 'f', RF_OPTION_FLAG, follow, NULL, "show what comes from now on, until interrupted"),
		ROW("run", 'r', RF_OPTION_STRING, run, "RUN", "only this run's"),
		ROW("json", 0, RF_OPTION_FLAG, json, NULL, "print the log's own lines"),
		ROW("log", 0, RF_OPTION_STRING, log, "FILE", "default: " RF_LOG_DEFAULT),
	};
	static const struct rf_command command = {
		.name = "ringfence events",
		.usage = "[OPTIONS]",
		.about = "Shows the event log: time, verdict, access, object, (rule), program.",
		.rows = rows,
		.n = sizeof(rows) / sizeof(rows[0]),
		.examples =
			"  ringfence events --run r-20261130-142501-9f3a\n  ringfence events --follow --json | jq .\n",
	};
	struct events_options options = {.log = RF_LOG_DEFAULT};
	int n, status = cli_parse(&command, argc, argv, &options, 0, 0, &n);

	if (status >= 0)
		return status;
	options.colours = cli_colours(stdout);
	return events(&options);
}
