// SPDX-License-Identifier: Apache-2.0
/* From the ring to the log, with books. */
#include "daemon/journal.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <string.h>
#include <time.h>

#include "daemon/cgroup.h"
#include "daemon/clock.h"
#include "daemon/run.h"
#include "kern/enforcer.h"
#include "lib/cleanup.h"
#include "lib/fdio.h"
#include "lib/msg.h"

#define BOOKS_MS 250
#define TAIL_BYTES (8U << 20)

static void read_boot_id(struct journal *j)
{
	__cleanup(freep) char *text = NULL;
	size_t len;

	if (!rf_read_file(AT_FDCWD, "/proc/sys/kernel/random/boot_id", 64, &text, &len))
		snprintf(j->boot, sizeof(j->boot), "%.*s", (int)strcspn(text, "\n"), text);
}

int journal_open(struct journal *j, const char *path, uint64_t max, unsigned int keep, int runtime_fd)
{
	int err = rf_log_open(path, max, keep, &j->log);

	if (err)
		return rf_err(err, "event log %s: %s%s", path, strerror(-err),
			      err == -EPERM ? ": its directory must not be writable by everybody" : "");
	if (gethostname(j->host, sizeof(j->host) - 1))
		snprintf(j->host, sizeof(j->host), "unknown");
	read_boot_id(j);
	j->info = (struct rf_host_info){.host = j->host, .boot_id = j->boot};
	j->seq_fd = openat(runtime_fd, "sequence", O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (j->seq_fd < 0)
		return rf_err(-errno, "the runtime directory's file \"sequence\": %s", strerror(errno));
	if (pread(j->seq_fd, &j->seq, sizeof(j->seq), 0) != sizeof(j->seq))
		j->seq = 0;
	return 0;
}

static void remember(void *ctx, uint32_t cpu, uint64_t seq)
{
	struct journal *j = ctx;
	size_t i = j->seen_count++ % SEEN_MAX;

	j->seen[i].cpu = cpu;
	j->seen[i].seq = seq;
}

void journal_skip_written(struct journal *j, const char *path)
{
	int err;

	j->seen = calloc(SEEN_MAX, sizeof(*j->seen));
	err = j->seen ? rf_log_tail(path, TAIL_BYTES, j->boot, remember, j) : -ENOMEM;
	if (err)
		rf_say("%s: %s: an event may be in the log twice, ignoring", path, strerror(-err));
}

void journal_done(struct journal *j)
{
	for (struct pending *p = j->first, *next; p; p = next) {
		next = p->next;
		free(p);
	}
	free(j->seen);
	closep(&j->seq_fd);
	rf_log_close(&j->log);
}

static bool was_written(const struct journal *j, const struct rf_event_head *head)
{
	size_t n = j->seen_count < SEEN_MAX ? j->seen_count : SEEN_MAX;

	for (size_t i = 0; j->seen && i < n; i++)
		if (j->seen[i].cpu == head->cpu && j->seen[i].seq == head->seq)
			return true;
	return false;
}

static void book(struct journal *j, int64_t cpu, uint64_t reported)
{
	if (cpu >= 0 && reported)
		rf_enforcer_add_reported(j->enforcer, (unsigned int)cpu, reported);
}

static int append(struct journal *j, const char *line, size_t len)
{
	int err = rf_log_append(j->log, line, len);

	if (err && !j->error)
		rf_say("the event log cannot be written: %s; events wait and none is dropped in silence, retrying",
		       strerror(-err));
	if (!err && j->error)
		rf_say("the event log can be written again");
	j->error = err;
	return err;
}

int journal_flush(struct journal *j)
{
	while (j->first) {
		struct pending *p = j->first;
		int err = append(j, p->line, p->len);

		if (err)
			return err;
		book(j, p->cpu, p->reported);
		j->first = p->next;
		if (!j->first)
			j->last = NULL;
		free(p);
	}
	return 0;
}

/* Writes one of our own records, j->line, or lets it wait behind what waits already. */
static int emit(struct journal *j, size_t len, int64_t cpu, uint64_t reported)
{
	static const struct timespec pause = {.tv_nsec = 100 * 1000000L};
	struct pending *p;
	int err;

	for (;;) {
		err = journal_flush(j);
		if (!err)
			err = append(j, j->line, len);
		if (!err) {
			book(j, cpu, reported);
			return 0;
		}
		p = malloc(sizeof(*p) + len);
		if (p)
			break;
		/* Neither log nor memory: a record may not vanish, so nothing else is done. */
		nanosleep(&pause, NULL);
	}
	*p = (struct pending){.cpu = cpu, .reported = reported, .len = len};
	memcpy(p->line, j->line, len);
	if (j->last)
		j->last->next = p;
	else
		j->first = p;
	j->last = p;
	return err;
}

int journal_own(struct journal *j, const char *kind, const struct run *run, const char *const *fields)
{
	struct rf_run_info info;
	int len;

	if (run)
		run_info(run, NULL, &info);
	j->seq++;
	/* Before the record: a crash between the two leaves a gap, which can be seen, and not a number given twice. */
	if (pwrite(j->seq_fd, &j->seq, sizeof(j->seq), 0) != sizeof(j->seq))
		rf_say("the runtime directory's file \"sequence\": %s, ignoring", strerror(errno));
	len = rf_own_json(kind, j->seq, &j->info, run ? &info : NULL, fields, j->line, sizeof(j->line));
	if (len < 0)
		return rf_err(len, "record %s does not fit into a line: %s", kind, strerror(-len));
	return emit(j, (size_t)len, -1, 0);
}

/* total: all losses of the CPU with these; the same total twice is the same loss, reported again after a crash. */
static void lost_record(struct journal *j, unsigned int cpu, uint64_t count, const char *why, uint64_t total)
{
	char cpu_text[16], count_text[24], total_text[24];
	const char *fields[] = {"cpu#", cpu_text, "count#", count_text, why ? "why" : "total#", why ? why : total_text,
				NULL};
	int len;

	snprintf(cpu_text, sizeof(cpu_text), "%u", cpu);
	snprintf(count_text, sizeof(count_text), "%" PRIu64, count);
	snprintf(total_text, sizeof(total_text), "%" PRIu64, total);
	j->seq++;
	if (pwrite(j->seq_fd, &j->seq, sizeof(j->seq), 0) != sizeof(j->seq))
		rf_say("the runtime directory's file \"sequence\": %s, ignoring", strerror(errno));
	len = rf_own_json("lost", j->seq, &j->info, NULL, fields, j->line, sizeof(j->line));
	if (len > 0)
		emit(j, (size_t)len, cpu, why ? 0 : count);
}

static const char *path_of_cgroup(struct journal *j, const struct run *run, uint64_t id)
{
	if (run && run->cgroup_id == id)
		return run->cgroup;
	if (j->cgroup_id != id) {
		/* Remembered when it fails, too: a removed cgroup's events come in numbers. */
		j->cgroup_id = id;
		if (cgroup_path_of_id(j->root_fd, j->root_path, id, j->cgroup_path, sizeof(j->cgroup_path)))
			j->cgroup_path[0] = '\0';
	}
	return j->cgroup_path[0] ? j->cgroup_path : NULL;
}

/* Stops the drain when the log fails: the record stays in the ring, which is bounded and outlives us. */
static int take(void *ctx, const void *bytes, size_t len)
{
	struct journal *j = ctx;
	const struct rf_event_head *head = bytes;
	const struct rf_rule *rule = NULL;
	struct rf_rule_info rule_info;
	struct rf_run_info info;
	struct rf_record record;
	struct run *run;
	int n = -EBADMSG;

	if (!rf_event_decode(bytes, len, &record)) {
		if (was_written(j, &record.event->head))
			return 0;
		run = runs_of_event(j->runs, record.event->slot, record.event->run);
		rule = run ? run_rule(run, record.event->image, record.event->rule) : NULL;
		if (rule)
			rule_info = (struct rf_rule_info){.id = rule->id, .why = rule->why, .layer = rule->layer};
		if (run)
			run_info(run, run_image(run, record.event->image), &info);
		n = rf_event_json(&record, &j->info, run ? &info : NULL, rule ? &rule_info : NULL,
				  path_of_cgroup(j, run, record.event->cgroup), j->line, sizeof(j->line));
	}
	if (n < 0) {
		/* Programs of another version, or a bug: said, and counted where it belongs when that can be read. */
		lost_record(j, len >= sizeof(*head) ? head->cpu : 0, 1, "a malformed record was in the ring", 0);
		return 0;
	}
	if (append(j, j->line, (size_t)n))
		return j->error;
	if (run && record.event->verdict != RF_ALLOW)
		run_note_denial(run, j->line);
	return 0;
}

static void report_losses(struct journal *j)
{
	for (unsigned int cpu = 0; cpu < rf_enforcer_cpus(j->enforcer) && !j->first; cpu++) {
		struct rf_cpu books;
		uint64_t n;

		if (rf_enforcer_books(j->enforcer, cpu, &books) || books.lost <= books.reported)
			continue;
		n = books.lost - books.reported;
		lost_record(j, cpu, n, NULL, books.lost);
	}
}

void journal_drain(struct journal *j, bool all)
{
	/* While the log cannot be written the ring keeps what it has, and the kernel counts what it has no room for. */
	if (journal_flush(j))
		return;
	j->info.boot_offset_ns = clock_boot_offset();
	rf_enforcer_drain(j->enforcer, take, j);
	if (!j->error)
		free(TAKE_PTR(j->seen));
	if (j->first || (!all && clock_ms() - j->books_ms < BOOKS_MS))
		return;
	j->books_ms = clock_ms();
	report_losses(j);
}
