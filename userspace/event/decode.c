/* SPDX-License-Identifier: Apache-2.0 */
/* A ring record is bytes of bounded length: every size, enum and number is checked before anyone reads by it. */
#include <errno.h>

#include "event/event.h"
#include "lib/names.h"

#define FLAGS_KNOWN (RF_EVENT_PATH_CLIPPED | RF_EVENT_EXE_CLIPPED | RF_EVENT_DELETED | RF_EVENT_UNANCHORED)

static bool head_is_sound(const struct rf_event_head *head, size_t len)
{
	/* The ring may round a record up, so bytes behind head.size are slack, never data. */
	return head->size >= sizeof(struct rf_event) && head->size <= len && head->kind == RF_EVENT_VERDICT &&
	       head->version == RF_EVENT_VERSION && head->cpu < RF_CPUS_MAX && head->seq >= 1 &&
	       !(head->flags & ~(__u32)FLAGS_KNOWN);
}

static bool enums_are_sound(const struct rf_event *event)
{
	return rf_access_name(event->access) && event->verdict <= RF_OBSERVE && event->reason < RF_REASON_MAX &&
	       event->hook < RF_HOOK_MAX && (event->family == 0 || event->family == 4 || event->family == 6);
}

int rf_event_decode(const void *bytes, size_t len, struct rf_record *ret)
{
	const struct rf_event *event = bytes;

	if (!bytes || len < sizeof(*event) || (uintptr_t)bytes % __alignof__(*event))
		return -EBADMSG;
	if (!head_is_sound(&event->head, len) || !enums_are_sound(event))
		return -EBADMSG;
	if (event->path_len > RF_PATH_MAX || event->exe_len > RF_EXE_MAX)
		return -EBADMSG;
	if (offsetof(struct rf_event, data) + event->path_len + event->exe_len != event->head.size)
		return -EBADMSG;
	*ret = (struct rf_record){
		.event = event,
		.object = (const char *)event->data,
		.object_len = event->path_len,
		.exe = (const char *)event->data + event->path_len,
		.exe_len = event->exe_len,
	};
	return 0;
}
