/* SPDX-License-Identifier: Apache-2.0 */
/* A verdict as one JSON line. Members that nobody knows are absent: docs/events.md lists them all. */
#include <arpa/inet.h>
#include <stdio.h>
#include <string.h>

#include "event/event.h"
#include "event/line.h"
#include "lib/names.h"

static int64_t realtime_ns(const struct rf_event_head *head, const struct rf_host_info *host)
{
	int64_t ns;

	if (!host || head->time > INT64_MAX || __builtin_add_overflow((int64_t)head->time, host->boot_offset_ns, &ns))
		return -1;
	return ns;
}

static void put_rule(struct rf_line *line, const struct rf_rule_info *rule)
{
	if (!rule)
		return;
	rf_line_string(line, "layer", rule->layer, RF_LINE_LAYER_MAX);
	rf_line_string(line, "rule", rule->id, RF_LINE_RULE_MAX);
	rf_line_string(line, "why", rule->why, RF_LINE_WHY_MAX);
}

static void put_task(struct rf_line *line, const struct rf_record *record, const char *cgroup_path)
{
	const struct rf_event *event = record->event;

	rf_line_unsigned(line, "pid", event->pid);
	rf_line_unsigned(line, "tid", event->tid);
	rf_line_unsigned(line, "ppid", event->ppid);
	rf_line_unsigned(line, "uid", event->uid);
	rf_line_unsigned(line, "gid", event->gid);
	rf_line_text(line, "comm", NULL, event->comm, strnlen(event->comm, sizeof(event->comm)), sizeof(event->comm));
	if (record->exe_len)
		rf_line_text(line, "exe", NULL, record->exe, record->exe_len, RF_EXE_MAX);
	rf_line_key(line, "cgroup");
	rf_line_raw(line, "{");
	rf_line_unsigned(line, "id", event->cgroup);
	if (cgroup_path)
		rf_line_text(line, "path", "cgroup", cgroup_path, strlen(cgroup_path), RF_LINE_CGROUP_MAX);
	rf_line_raw(line, "}");
}

static void protocol_name(unsigned int protocol, char ret[16])
{
	const char *name = protocol == IPPROTO_TCP	? "tcp"
			   : protocol == IPPROTO_UDP	? "udp"
			   : protocol == IPPROTO_ICMP	? "icmp"
			   : protocol == IPPROTO_ICMPV6 ? "ipv6-icmp"
			   : protocol == IPPROTO_SCTP	? "sctp"
							: NULL;

	if (name)
		snprintf(ret, 16, "%s", name);
	else
		snprintf(ret, 16, "%u", protocol);
}

static void put_net(struct rf_line *line, const struct rf_event *event)
{
	char address[INET6_ADDRSTRLEN] = "", protocol[16], text[INET6_ADDRSTRLEN + 32];

	if (event->family != 4 && event->family != 6) {
		snprintf(text, sizeof(text), "family %u", event->net_family);
		rf_line_string(line, "object", text, RF_PATH_MAX);
		rf_line_raw(line, ",\"net\":{");
		rf_line_unsigned(line, "family_number", event->net_family);
		rf_line_raw(line, "}");
		return;
	}
	inet_ntop(event->family == 4 ? AF_INET : AF_INET6, event->addr, address, sizeof(address));
	protocol_name(event->protocol, protocol);
	snprintf(text, sizeof(text), event->family == 4 ? "%s:%u/%s" : "[%s]:%u/%s", address, event->port, protocol);
	rf_line_string(line, "object", text, RF_PATH_MAX);
	rf_line_raw(line, ",\"net\":{");
	rf_line_string(line, "family", event->family == 4 ? "inet" : "inet6", RF_LINE_RUN_MAX);
	rf_line_string(line, "address", address, RF_LINE_RUN_MAX);
	rf_line_unsigned(line, "port", event->port);
	rf_line_string(line, "protocol", protocol, RF_LINE_RUN_MAX);
	rf_line_raw(line, "}");
}

static void put_verdict(struct rf_line *line, const struct rf_record *record)
{
	const struct rf_event *event = record->event;

	if (event->hook != RF_HOOK_NONE)
		rf_line_string(line, "hook", rf_hook_name(event->hook), RF_LINE_RUN_MAX);
	rf_line_string(line, "access", rf_access_name(event->access), RF_LINE_RUN_MAX);
	if (event->access == RF_NET_CONNECT)
		put_net(line, event);
	else if (record->object_len)
		rf_line_text(line, "object", NULL, record->object, record->object_len, RF_PATH_MAX);
	rf_line_string(line, "verdict", rf_verdict_name(event->verdict), RF_LINE_RUN_MAX);
	rf_line_string(line, "reason", rf_reason_name(event->reason), RF_LINE_RUN_MAX);
	rf_line_number(line, "prior", event->prior);
}

static void put_flags(struct rf_line *line, unsigned int flags)
{
	static const struct {
		unsigned int flag;
		const char *name;
	} table[] = {
		{RF_EVENT_PATH_CLIPPED, "path-clipped"},
		{RF_EVENT_EXE_CLIPPED, "exe-clipped"},
		{RF_EVENT_DELETED, "deleted"},
		{RF_EVENT_UNANCHORED, "unanchored"},
	};
	const char *names[sizeof(table) / sizeof(table[0]) + 1] = {NULL};
	size_t n = 0;

	for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++)
		if (flags & table[i].flag)
			names[n++] = table[i].name;
	rf_line_flags(line, names);
}

int rf_event_json(const struct rf_record *record, const struct rf_host_info *host, const struct rf_run_info *run,
		  const struct rf_rule_info *rule, const char *cgroup_path, char *buf, size_t size)
{
	const struct rf_event *event = record->event;
	struct rf_line line = {.buf = buf, .size = size};

	rf_line_head(&line, "verdict", realtime_ns(&event->head, host), host);
	/* rf_log_tail() looks for these three together, as they stand here. */
	rf_line_raw(&line, ",\"src\":\"kernel\"");
	rf_line_unsigned(&line, "cpu", event->head.cpu);
	rf_line_unsigned(&line, "seq", event->head.seq);
	rf_line_run(&line, run);
	rf_line_unsigned(&line, "run_id", event->run);
	put_rule(&line, rule);
	rf_line_people(&line, run);
	put_task(&line, record, cgroup_path);
	put_verdict(&line, record);
	put_flags(&line, event->head.flags);
	return rf_line_end(&line);
}
