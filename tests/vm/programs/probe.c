// SPDX-License-Identifier: Apache-2.0
/*
 * One system call, or the fewest that lead to it, for each line read: VERB and its arguments behind tabs, with %XX for any
 * byte. The answer is one line: ok, the errno's name, or what the verb's comment says. Inside a run it is driven
 * through pipes, so that no program start disturbs what is asked. `probe VERB ARG...` asks once: exit 0, or 1.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/sched.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <sys/xattr.h>
#include <unistd.h>

#define ARGS_MAX 32

struct verb {
	const char *name;
	int args;
	int (*run)(char **a); /* 0, a negative errno, or a positive number */
};

static int answer(long result)
{
	return result < 0 ? -errno : 0;
}

/* Opens, and closes again what could be opened. */
static int try_open(const char *path, int flags)
{
	int fd = open(path, flags | O_CLOEXEC | O_NONBLOCK, 0644);
	int err = answer(fd);

	if (fd >= 0)
		close(fd);
	return err;
}

static int do_read(char **a)
{
	int fd = open(a[0], O_RDONLY | O_CLOEXEC | O_NONBLOCK), err = answer(fd);
	char byte;

	if (err)
		return err;
	err = answer(read(fd, &byte, 1));
	close(fd);
	return err == -EISDIR ? 0 : err;
}

static int put(const char *path, int flags, const char *text)
{
	int fd = open(path, flags | O_CLOEXEC, 0644), err = answer(fd);

	if (err)
		return err;
	err = answer(write(fd, text, strlen(text)));
	close(fd);
	return err;
}

static int do_write(char **a)
{
	return put(a[0], O_WRONLY, a[1]);
}

static int do_append(char **a)
{
	return put(a[0], O_WRONLY | O_APPEND, a[1]);
}

static int do_create(char **a)
{
	return put(a[0], O_WRONLY | O_CREAT | O_EXCL, "new");
}

static int do_open(char **a)
{
	static const struct {
		const char *name;
		int flags;
	} modes[] = {
		{"trunc", O_RDONLY | O_TRUNC},	 {"3", 3},	   {"rw", O_RDWR},
		{"tmpfile", O_TMPFILE | O_RDWR}, {"path", O_PATH}, {"directory", O_DIRECTORY},
	};

	for (size_t i = 0; i < sizeof(modes) / sizeof(modes[0]); i++)
		if (!strcmp(a[0], modes[i].name))
			return try_open(a[1], modes[i].flags);
	return -ENOSYS;
}

/* O_PATH asks nothing; what it leads to through /proc does. */
static int do_reopen(char **a)
{
	char link[64];
	int fd = open(a[1], O_PATH | O_CLOEXEC), err = answer(fd);

	if (err)
		return err;
	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	err = try_open(link, *a[0] == 'w' ? O_WRONLY : O_RDONLY);
	close(fd);
	return err;
}

static int do_mkdir(char **a)
{
	return answer(mkdir(a[0], 0755));
}

static int do_mknod(char **a)
{
	return answer(mknod(a[0], S_IFIFO | 0644, 0));
}

static int do_symlink(char **a)
{
	return answer(symlink(a[0], a[1]));
}

static int do_link(char **a)
{
	return answer(link(a[0], a[1]));
}

static int do_unlink(char **a)
{
	return answer(unlink(a[0]));
}

static int do_rmdir(char **a)
{
	return answer(rmdir(a[0]));
}

static int do_rename(char **a)
{
	return answer(rename(a[0], a[1]));
}

static int do_exchange(char **a)
{
	return answer(renameat2(AT_FDCWD, a[0], AT_FDCWD, a[1], RENAME_EXCHANGE));
}

static int do_chmod(char **a)
{
	return answer(chmod(a[0], 0600));
}

static int do_utimes(char **a)
{
	return answer(utimensat(AT_FDCWD, a[0], NULL, 0));
}

static int do_setxattr(char **a)
{
	return answer(setxattr(a[0], a[1], "x", 1, 0));
}

static int do_removexattr(char **a)
{
	return answer(removexattr(a[0], a[1]));
}

static int do_truncate(char **a)
{
	return answer(truncate(a[0], 1));
}

static int do_stat(char **a)
{
	struct stat st;

	return answer(stat(a[0], &st));
}

static int do_chdir(char **a)
{
	return answer(chdir(a[0]));
}

/* deep-make DIR LEVELS: directories "d" in one another, a file "f" in the last; deep-read reads it. */
static int deep(char **a, bool make)
{
	int dir = open(a[0], O_PATH | O_DIRECTORY | O_CLOEXEC), err = answer(dir), file;

	for (int left = atoi(a[1]); !err && left; left--) {
		int next;

		if (make && mkdirat(dir, "d", 0755) && errno != EEXIST)
			err = -errno;
		next = openat(dir, "d", O_PATH | O_DIRECTORY | O_CLOEXEC);
		if (!err)
			err = answer(next);
		close(dir);
		dir = next;
	}
	if (err)
		return err;
	file = openat(dir, "f", O_CLOEXEC | (make ? O_CREAT | O_RDWR : O_RDONLY), 0644);
	err = answer(file);
	close(file);
	close(dir);
	return err;
}

static int do_deep_make(char **a)
{
	return deep(a, true);
}

static int do_deep_read(char **a)
{
	return deep(a, false);
}

/* Address of "1.2.3.4", "::1", a path, or "@name" for an abstract one. */
static socklen_t address(const char *text, const char *port, struct sockaddr_storage *ret)
{
	struct sockaddr_in *in = (struct sockaddr_in *)ret;
	struct sockaddr_in6 *in6 = (struct sockaddr_in6 *)ret;
	struct sockaddr_un *un = (struct sockaddr_un *)ret;

	memset(ret, 0, sizeof(*ret));
	if (*text == '/' || *text == '@') {
		un->sun_family = AF_UNIX;
		snprintf(un->sun_path, sizeof(un->sun_path), "%s", text);
		if (*text == '@')
			un->sun_path[0] = '\0';
		return offsetof(struct sockaddr_un, sun_path) + strlen(text) + (*text == '/');
	}
	if (strchr(text, ':')) {
		in6->sin6_family = AF_INET6;
		in6->sin6_port = htons(atoi(port));
		return inet_pton(AF_INET6, text, &in6->sin6_addr) == 1 ? sizeof(*in6) : 0;
	}
	in->sin_family = AF_INET;
	in->sin_port = htons(atoi(port));
	return inet_pton(AF_INET, text, &in->sin_addr) == 1 ? sizeof(*in) : 0;
}

static int new_socket(const struct sockaddr_storage *to, const char *type)
{
	int kind = !strcmp(type, "udp") || !strcmp(type, "dgram") ? SOCK_DGRAM
		   : !strcmp(type, "seqpacket")			  ? SOCK_SEQPACKET
								  : SOCK_STREAM;

	return socket(to->ss_family, kind | SOCK_CLOEXEC, 0);
}

static int do_connect(char **a)
{
	struct sockaddr_storage to;
	socklen_t len = address(a[1], a[2], &to);
	int fd = new_socket(&to, a[0]), err = answer(fd);

	if (err)
		return err;
	err = answer(connect(fd, (struct sockaddr *)&to, len));
	if (!err)
		err = answer(send(fd, "x", 1, MSG_NOSIGNAL));
	close(fd);
	return err;
}

/* A datagram to a UNIX socket without connecting first. */
static int do_send_to(char **a)
{
	struct sockaddr_storage to;
	socklen_t len = address(a[0], "0", &to);
	int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	int err = answer(sendto(fd, "x", 1, MSG_NOSIGNAL, (struct sockaddr *)&to, len));

	close(fd);
	return err;
}

/* One UDP socket: to the first, to nobody, to the second. */
static int do_unspec(char **a)
{
	struct sockaddr nobody = {.sa_family = AF_UNSPEC};
	struct sockaddr_storage first, second;
	socklen_t first_len = address(a[0], a[1], &first), second_len = address(a[2], a[3], &second);
	int fd = new_socket(&first, "udp"), err = answer(connect(fd, (struct sockaddr *)&first, first_len));

	if (!err && connect(fd, &nobody, sizeof(nobody)))
		err = -ENOTSUP; /* no error of ours: told apart from a denial */
	if (!err)
		err = answer(connect(fd, (struct sockaddr *)&second, second_len));
	close(fd);
	return err;
}

/* A socket of one family, connected to an address of another or the same. */
static int do_family(char **a)
{
	struct sockaddr_storage to = {.ss_family = (sa_family_t)atoi(a[2])};
	int fd = socket(atoi(a[0]), atoi(a[1]) | SOCK_CLOEXEC, 0), err = answer(fd);

	if (err)
		return err == -EACCES ? -ENOTSUP : err;
	err = answer(connect(fd, (struct sockaddr *)&to, sizeof(struct sockaddr_in)));
	close(fd);
	return err;
}

static int do_socketpair(char **a)
{
	int fds[2], err = answer(socketpair(AF_UNIX, atoi(a[0]), 0, fds));
	char byte;

	if (!err)
		err = answer(send(fds[0], "x", 1, 0));
	if (!err)
		err = recv(fds[1], &byte, 1, MSG_DONTWAIT) == 1 ? 0 : -EIO;
	return err;
}

/* Stays open: the answer is its descriptor. */
static int do_listen(char **a)
{
	struct sockaddr_storage at;
	socklen_t len = address(a[1], a[2], &at);
	int fd = new_socket(&at, a[0]), one = 1, err = answer(fd);

	if (err)
		return err;
	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
	err = answer(bind(fd, (struct sockaddr *)&at, len));
	if (!err && listen(fd, 64) && errno != EOPNOTSUPP)
		err = -errno;
	return err ? err : fd;
}

/* Bytes that a listener got since it was asked last, by datagrams or connections. */
static int do_heard(char **a)
{
	int fd = atoi(a[0]), from, total = 0;
	char buffer[256];
	ssize_t n;

	usleep(200000); /* what is on its way arrives */
	fcntl(fd, F_SETFL, O_NONBLOCK);
	while ((n = recv(fd, buffer, sizeof(buffer), 0)) > 0)
		total += (int)n;
	while ((from = accept(fd, NULL, NULL)) >= 0) {
		while ((n = recv(from, buffer, sizeof(buffer), 0)) > 0)
			total += (int)n;
		close(from);
	}
	return total;
}

/* The status of a child as an answer: what it says of itself, or its exit status. */
static int reap(pid_t pid, int from)
{
	int status, err = 0;

	if (read(from, &err, sizeof(err)) != sizeof(err))
		err = 0;
	close(from);
	if (pid > 0 && waitpid(pid, &status, 0) == pid && !err)
		err = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
	return err;
}

static void tell(int fd, int err)
{
	if (write(fd, &err, sizeof(err)) != sizeof(err))
		_exit(99);
}

static int start(int fd, const char *path, char **argv)
{
	int out[2];
	pid_t pid;

	if (pipe2(out, O_CLOEXEC))
		return -errno;
	pid = fork();
	if (!pid) {
		int null = open("/dev/null", O_RDWR);

		dup2(null, 0);
		dup2(null, 1);
		if (path)
			execv(path, argv);
		else
			fexecve(fd, argv, environ);
		tell(out[1], -errno);
		_exit(99);
	}
	close(out[1]);
	return pid < 0 ? -errno : reap(pid, out[0]);
}

static int do_exec(char **a)
{
	return start(-1, a[0], a);
}

static int do_memfd_exec(char **a)
{
	int from = open(a[0], O_RDONLY | O_CLOEXEC), memory = memfd_create("probe", 0), err = answer(from);
	struct stat st;

	if (!err && (fstat(from, &st) || sendfile(memory, from, NULL, (size_t)st.st_size) != st.st_size))
		err = -EIO;
	if (!err)
		err = start(memory, NULL, a);
	close(from);
	close(memory);
	return err;
}

static int do_deleted_exec(char **a)
{
	int fd = open(a[0], O_RDONLY), err = answer(fd); /* not O_CLOEXEC: an interpreter would need it */

	if (!err)
		err = answer(unlink(a[0]));
	if (!err)
		err = start(fd, NULL, a);
	close(fd);
	return err;
}

static int do_sh(char **a)
{
	char *argv[] = {"/bin/bash", "-c", a[0], NULL};

	return start(-1, argv[0], argv);
}

static int child_reads(pid_t pid, int out[2], bool orphan, char **path)
{
	if (!pid) {
		if (orphan && (setsid() < 0 || fork()))
			_exit(0);
		tell(out[1], do_read(path));
		_exit(0);
	}
	close(out[1]);
	return pid < 0 ? -errno : reap(pid, out[0]);
}

static int do_fork_read(char **a)
{
	int out[2];

	return pipe(out) ? -errno : child_reads(fork(), out, false, a);
}

static int do_orphan_read(char **a)
{
	int out[2];

	return pipe(out) ? -errno : child_reads(fork(), out, true, a);
}

static int do_clone_into(char **a)
{
	int out[2], cgroup = open(a[0], O_RDONLY | O_DIRECTORY | O_CLOEXEC), err = answer(cgroup);
	struct clone_args args = {.flags = CLONE_INTO_CGROUP, .exit_signal = SIGCHLD, .cgroup = (uint64_t)cgroup};

	if (!err)
		err = answer(pipe(out));
	if (!err)
		err = child_reads((pid_t)syscall(SYS_clone3, &args, sizeof(args)), out, false, a + 1);
	close(cgroup);
	return err;
}

static int do_enter(char **a)
{
	char path[512];

	snprintf(path, sizeof(path), "%s/cgroup.procs", a[0]);
	return put(path, O_WRONLY, "0");
}

static struct {
	sem_t ask, answered;
	char **path;
	int result;
} held;

static void *hold(void *unused)
{
	for (;;) {
		sem_wait(&held.ask);
		held.result = do_read(held.path);
		sem_post(&held.answered);
	}
	return unused;
}

/* A thread that lives on; thread-read asks it. */
static int do_thread(char **a)
{
	pthread_t thread;

	(void)a;
	sem_init(&held.ask, 0, 0);
	sem_init(&held.answered, 0, 0);
	return -pthread_create(&thread, NULL, hold, NULL);
}

static int do_thread_read(char **a)
{
	held.path = a;
	sem_post(&held.ask);
	sem_wait(&held.answered);
	return held.result;
}

/*
 * An orphan in another cgroup that outlives the run: reads PATH once FLAG exists (stat is no access), and writes the
 * answer to RESULT, which it has open since before.
 */
static int do_loiter(char **a)
{
	int result = open(a[3], O_WRONLY | O_CREAT | O_CLOEXEC, 0644), err = answer(result);
	const char *text;
	struct stat st;

	if (err || fork())
		return err;
	setsid();
	close(0);
	close(1);
	close(2);
	err = do_enter(a);
	for (int i = 0; i < 1200 && stat(a[2], &st); i++)
		usleep(50000);
	if (!err)
		err = do_read(a + 1);
	text = err ? strerrorname_np(-err) : "ok";
	if (write(result, text, strlen(text)) < 0)
		_exit(1);
	_exit(0);
}

/*
 * Again and again until FLAG exists: DENIED must be denied and ALLOWED opened. The answer is how often, up to TIMES;
 * EBADMSG after one wrong verdict.
 */
static int do_flood(char **a)
{
	int n = 0, times = atoi(a[3]), pause = atoi(a[4]);
	struct stat st;

	for (; n < times && stat(a[0], &st); n++) {
		if (try_open(a[1], O_RDONLY) != -EACCES || try_open(a[2], O_RDONLY))
			return -EBADMSG;
		usleep((useconds_t)pause);
	}
	return n;
}

static int do_pid(char **a)
{
	(void)a;
	return getpid();
}

static const struct verb verbs[] = {
	{"read", 1, do_read}, /* PATH */
	{"write", 2, do_write}, /* PATH TEXT */
	{"append", 2, do_append}, /* PATH TEXT */
	{"create", 1, do_create}, /* PATH */
	{"open", 2, do_open}, /* trunc|3|rw|tmpfile|path|directory PATH */
	{"reopen", 2, do_reopen}, /* r|w PATH */
	{"mkdir", 1, do_mkdir}, /* PATH */
	{"mknod", 1, do_mknod}, /* PATH */
	{"symlink", 2, do_symlink}, /* TARGET PATH */
	{"link", 2, do_link}, /* OLD NEW */
	{"unlink", 1, do_unlink}, /* PATH */
	{"rmdir", 1, do_rmdir}, /* PATH */
	{"rename", 2, do_rename}, /* OLD NEW */
	{"exchange", 2, do_exchange}, /* OLD NEW */
	{"chmod", 1, do_chmod}, /* PATH */
	{"utimes", 1, do_utimes}, /* PATH */
	{"setxattr", 2, do_setxattr}, /* PATH NAME */
	{"removexattr", 2, do_removexattr}, /* PATH NAME */
	{"truncate", 1, do_truncate}, /* PATH */
	{"stat", 1, do_stat}, /* PATH */
	{"chdir", 1, do_chdir}, /* PATH */
	{"deep-make", 2, do_deep_make}, /* DIR LEVELS */
	{"deep-read", 2, do_deep_read}, /* DIR LEVELS */
	{"connect", 3, do_connect}, /* tcp|udp|stream|dgram|seqpacket ADDRESS PORT */
	{"send-to", 1, do_send_to}, /* PATH */
	{"unspec", 4, do_unspec}, /* ADDRESS PORT ADDRESS PORT */
	{"family", 3, do_family}, /* FAMILY TYPE ADDRESS-FAMILY */
	{"socketpair", 1, do_socketpair}, /* TYPE */
	{"listen", 3, do_listen}, /* tcp|udp|stream|dgram ADDRESS PORT */
	{"heard", 1, do_heard}, /* DESCRIPTOR */
	{"exec", 1, do_exec}, /* PATH ARG... */
	{"memfd-exec", 1, do_memfd_exec}, /* PATH ARG... */
	{"deleted-exec", 1, do_deleted_exec}, /* PATH ARG...: unlinks PATH */
	{"sh", 1, do_sh}, /* COMMAND */
	{"fork-read", 1, do_fork_read}, /* PATH */
	{"orphan-read", 1, do_orphan_read}, /* PATH */
	{"clone-into", 2, do_clone_into}, /* CGROUP PATH */
	{"enter", 1, do_enter}, /* CGROUP */
	{"thread", 0, do_thread},
	{"thread-read", 1, do_thread_read}, /* PATH */
	{"loiter", 4, do_loiter}, /* CGROUP PATH FLAG RESULT */
	{"flood", 5, do_flood}, /* FLAG DENIED ALLOWED TIMES PAUSE-US */
	{"pid", 0, do_pid},
};

static void decode(char *s)
{
	char *to = s;

	for (; *s; s++) {
		unsigned int byte;

		if (*s == '%' && sscanf(s + 1, "%2x", &byte) == 1) {
			*to++ = (char)byte;
			s += 2;
		} else {
			*to++ = *s;
		}
	}
	*to = '\0';
}

static int ask(char **words, int n)
{
	for (size_t i = 0; i < sizeof(verbs) / sizeof(verbs[0]); i++)
		if (!strcmp(verbs[i].name, words[0]))
			return n - 1 < verbs[i].args ? -E2BIG : verbs[i].run(words + 1);
	return -ENOSYS;
}

static void say(int result)
{
	if (!result)
		puts("ok");
	else if (result < 0)
		puts(strerrorname_np(-result));
	else
		printf("%d\n", result);
	fflush(stdout);
}

int main(int argc, char **argv)
{
	char *line = NULL, *words[ARGS_MAX + 1];
	size_t size = 0;

	if (argc > 1) {
		int result = ask(argv + 1, argc - 1);

		say(result);
		return result ? 1 : 0;
	}
	while (getline(&line, &size, stdin) > 0) {
		int n = 0;

		line[strcspn(line, "\n")] = '\0';
		for (char *rest = line; n < ARGS_MAX && (words[n] = strsep(&rest, "\t")); n++)
			;
		words[n] = NULL;
		for (int i = 0; i < n; i++)
			decode(words[i]);
		say(ask(words, n));
	}
	return 0;
}
