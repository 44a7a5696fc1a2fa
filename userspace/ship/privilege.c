/* SPDX-License-Identifier: Apache-2.0 */
/* Giving up root, for good. */
#define _GNU_SOURCE 1
#include "ship/privilege.h"

#include <errno.h>
#include <grp.h>
#include <pwd.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "lib/msg.h"

static int become(const char *name)
{
	const struct passwd *user;

	errno = 0;
	user = getpwnam(name);
	if (!user)
		return rf_err(errno ? -errno : -ENOENT, "--user %s: no such user", name);
	if (!user->pw_uid)
		return rf_err(-EPERM, "--user %s is root: name an unprivileged user, or --allow-root without --user",
			      name);
	if (initgroups(name, user->pw_gid) || setresgid(user->pw_gid, user->pw_gid, user->pw_gid) ||
	    setresuid(user->pw_uid, user->pw_uid, user->pw_uid))
		return rf_err(-errno, "--user %s: cannot become this user: %s", name, strerror(errno));
	if (!setuid(0) || !geteuid() || !getuid())
		return rf_err(-EPERM, "--user %s: root could be had back; refusing to run", name);
	return 0;
}

int rf_ship_drop(const char *user, bool allow_root)
{
	int err;

	if (user && geteuid())
		return rf_err(-EPERM, "--user %s: only root can become another user; leave the option out", user);
	if (!user && !geteuid() && !allow_root)
		return rf_err(-EPERM, "refusing to run as root: give --user NAME (or --allow-root)");
	err = user ? become(user) : 0;
	if (err)
		return err;
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
		return rf_err(-errno, "cannot set no_new_privs: %s", strerror(errno));
	return 0;
}
