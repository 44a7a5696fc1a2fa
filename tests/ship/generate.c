/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Writes events as the enforcer would: generate LOG MAX_BYTES KEEP FROM TO PAUSE_US. Event i is (cpu i % 4, seq i) and
 * every seventh has a hostile name.
 */
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "event/event.h"
#include "lib/cleanup.h"

static const char *const hostile[] = {
	"\n<132>1 2026-11-30T12:00:00Z forged ringfence - file.read [ringfence@32473 seq=\"0/1\"] forged",
	"\"]\\\"] seq=\"9/9\"",
	"\xff\xfe\xc0\xaf\xed\xa0\x80",
	"\xe2\x80\xae\xe2\x80\xa8\xc2\x85\x7f\x1b[2J",
	"\r\n\t\v\f",
	"\xf0\x9f\x98\x80 gr\xc3\xbc\xc3\x9f",
	"300 <0>1 - - - - - x",
	"\\u000a\\\\n#012",
	"%msg% $(reboot) `id`",
	"",
};

static void fill(struct rf_event *event, unsigned long i)
{
	char *name = (char *)event->data;
	int n;

	memset(event, 0, sizeof(*event));
	n = sprintf(name, "/home/x/%lu", i);
	if (i % 7 == 0)
		n += sprintf(name + n, "%s", hostile[i / 7 % (sizeof(hostile) / sizeof(hostile[0]))]);
	if (i % 701 == 0)
		for (; n < RF_PATH_MAX; n++)
			name[n] = (char)(i % 2 ? 0x01 : 0xff);
	event->head = (struct rf_event_head){
		.size = (__u32)(offsetof(struct rf_event, data) + (size_t)n),
		.kind = RF_EVENT_VERDICT,
		.version = RF_EVENT_VERSION,
		.cpu = i % 4,
		.seq = i,
		.time = i,
	};
	event->access = RF_FILE_READ;
	event->verdict = i % 3;
	event->hook = RF_HOOK_FILE_OPEN;
	event->path_len = (__u16)n;
	strcpy(event->comm, "cat");
}

int main(int argc, char **argv)
{
	const struct rf_host_info host = {"testhost", "boot-1", 1796040000123456789};
	const struct rf_run_info run = {.run = "r-1", .policy = "p", .digest = "00112233445566778899", .person = "ada"};
	const struct rf_rule_info rule = {
		.id = "standing-keys", .why = "credentials stay outside a run", .layer = "base"};
	__cleanup(rf_log_close) struct rf_log *log = NULL;
	__cleanup(freep) char *line = malloc(RF_LINE_MAX);
	__cleanup(freep) struct rf_event *event = malloc(sizeof(*event) + RF_EVENT_DATA_MAX);
	struct rf_record record;

	if (argc != 7 || !line || !event || rf_log_open(argv[1], strtoul(argv[2], NULL, 10), atoi(argv[3]), &log))
		return 1;
	for (unsigned long i = strtoul(argv[4], NULL, 10); i <= strtoul(argv[5], NULL, 10); i++) {
		int n;

		fill(event, i);
		if (rf_event_decode(event, event->head.size, &record))
			return 2;
		n = rf_event_json(&record, &host, &run, &rule, "/runs/r-1", line, RF_LINE_MAX);
		if (n < 0 || rf_log_append(log, line, (size_t)n))
			return 3;
		usleep((useconds_t)atoi(argv[6]));
	}
	return 0;
}
