// SPDX-License-Identifier: Apache-2.0
/* Who asked for a run, and how strong that knowledge is. */
#define _GNU_SOURCE 1 /* asprintf */

#include <errno.h>
#include <fcntl.h>
#include <pwd.h>
#include <string.h>
#include <sys/syscall.h>

#include "control/request.h"
#include "daemon/manager.h"
#include "lib/cleanup.h"
#include "lib/fdio.h"

/* malloc'ed name of a user, or "uid:N". */
static char *user_name(uid_t uid)
{
	const struct passwd *pw = getpwuid(uid);
	char *name;

	if (pw)
		return strdup(pw->pw_name);
	return asprintf(&name, "uid:%u", uid) < 0 ? NULL : name;
}

/* The login uid of the peer: set by the kernel at log-in, kept through sudo and su. false: none. */
static bool login_uid(const struct rf_peer *peer, uid_t *ret)
{
	__cleanup(freep) char *text = NULL;
	char path[64], *end;
	unsigned long uid;
	size_t len;

	snprintf(path, sizeof(path), "/proc/%d/loginuid", (int)peer->pid);
	if (rf_read_file(AT_FDCWD, path, 32, &text, &len))
		return false;
	/* Still the process that connected? Otherwise its number may have become another's. */
	if (syscall(SYS_pidfd_send_signal, peer->pidfd, 0, NULL, 0))
		return false;
	uid = strtoul(text, &end, 10);
	if (end == text || uid >= (uid_t)-1)
		return false;
	*ret = (uid_t)uid;
	return true;
}

static int state(struct statement *statement, const char *name, enum rf_strength strength)
{
	if (!name)
		return 0;
	statement->name = strdup(name);
	statement->strength = strength;
	return statement->name ? 0 : -ENOMEM;
}

int who_asked(struct run *run, const struct rf_request *request, const struct rf_peer *peer)
{
	uid_t uid = peer->uid;
	bool login = login_uid(peer, &uid);
	int err = state(&run->agent, request->agent, RF_DECLARED);

	if (!err)
		err = state(&run->task, request->task, RF_DECLARED);
	if (err)
		return err;
	run->uid = peer->uid;
	if (request->person)
		return state(&run->person, request->person, RF_DECLARED);
	if (!login && request->sudo_user)
		return state(&run->person, request->sudo_user, RF_DECLARED);
	run->person.name = user_name(uid);
	run->person.strength = RF_KERNEL;
	return run->person.name ? 0 : -ENOMEM;
}
