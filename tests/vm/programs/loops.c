/* SPDX-License-Identifier: Apache-2.0 */
/*
 * loops: every loop of the kernel half, asked so that the verdict or the event would be another one if its body ran
 * once, not at all, or too often. A name is all 'a' and allowed; one 'b' anywhere in it makes it denied, and so does any
 * byte that does not belong to it. Each object is asked about under a fresh image, whose directory states are not cached
 * yet, and again when they are. Each denial's event must name the whole path, the access and the rule.
 */
#include <netinet/in.h>
#include <sys/mount.h>
#include <sys/socket.h>

#include "fence.h"

#define TREE "/run/loops"

enum op { OP_OPEN, OP_CHMOD, OP_CHDIR, OP_CONNECT, OP_WALKS };

static struct request {
	enum op op;
	char path[5000];
	struct sockaddr_in6 in6;
	struct sockaddr_in in;
	int family, result;
	unsigned int walks, refused;
} * request;

static struct fence fence;
static int to_child[2], from_child[2];
static struct {
	unsigned int n;
	union {
		struct rf_event head;
		char bytes[sizeof(struct rf_event) + RF_EVENT_DATA_MAX];
	};
} seen;

static void on_event(const struct rf_event *e)
{
	seen.n++;
	memcpy(seen.bytes, e, e->head.size < sizeof(seen.bytes) ? e->head.size : sizeof(seen.bytes));
}

static int connect_to(struct request *q)
{
	int fd = socket(q->family, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	int err = q->family == AF_INET ? connect(fd, (struct sockaddr *)&q->in, sizeof(q->in))
				       : connect(fd, (struct sockaddr *)&q->in6, sizeof(q->in6));

	err = err ? errno : 0;
	close(fd);
	return err;
}

static int open_for(struct request *q, double seconds)
{
	double end = fence_now() + seconds;

	for (q->walks = q->refused = 0; fence_now() < end; q->walks++) {
		int fd = open(q->path, O_RDONLY | O_CLOEXEC);

		fd < 0 ? (void)q->refused++ : (void)close(fd);
	}
	return 0;
}

static int answer(struct request *q)
{
	int fd;

	switch (q->op) {
	case OP_CHDIR:
		return chdir(q->path) ? errno : 0;
	case OP_CHMOD:
		return chmod(q->path, 0600) ? errno : 0;
	case OP_CONNECT:
		return connect_to(q);
	case OP_WALKS:
		return open_for(q, 6);
	default:
		fd = open(q->path, O_RDONLY | O_CLOEXEC);
		return fd < 0 ? errno : (close(fd), 0);
	}
}

static void child(void)
{
	char token;

	close(to_child[1]);
	fence_enter(fence.path);
	while (read(to_child[0], &token, 1) == 1) {
		request->result = answer(request);
		if (write(from_child[1], &token, 1) != 1)
			break;
	}
	_exit(0);
}

static int ask(enum op op, const char *path)
{
	char token = 1;

	request->op = op;
	if (path)
		snprintf(request->path, sizeof(request->path), "%s", path);
	fence_drain(&fence);
	seen.n = 0;
	if (write(to_child[1], &token, 1) != 1 || read(from_child[0], &token, 1) != 1)
		fence_die("the tagged child");
	fence_drain(&fence);
	return request->result;
}

/* Puts an equal policy with another id into force: nothing is cached for it. */
static void refresh_image(void)
{
	static unsigned int number;
	char other[64];
	struct rf_pattern p[] = {
		{.glob = TREE "/**", .accesses = FENCE_ALL, .allow = true, .rule = 1},
		{.glob = TREE "/**/*[!ab]*", .accesses = FENCE_ALL, .rule = 2},
		{.glob = TREE "/**/*[!ab]*/**", .accesses = FENCE_ALL, .rule = 2},
		{.glob = TREE "/**/*b*", .accesses = FENCE_ALL, .rule = 3},
		{.glob = TREE "/**/*b*/**", .accesses = FENCE_ALL, .rule = 3},
		{.glob = other, .accesses = FENCE_ALL, .rule = 4},
	};
	uint32_t base, old = fence.base;

	snprintf(other, sizeof(other), "/nowhere/%u", number++);
	for (size_t i = 0; i < sizeof(p) / sizeof(p[0]); i++)
		p[i].len = strlen(p[i].glob);
	base = fence_put_paths(&fence, p, sizeof(p) / sizeof(p[0]));
	rf_enforcer_replace_image(fence.e, fence.slot, base);
	fence.base = base;
	if (old)
		rf_enforcer_drop_image(fence.e, old);
}

/* Is what was just refused told rightly? clipped: only so much of the path. */
static bool is_told(const char *path, uint16_t access, uint16_t rule, uint8_t reason, size_t clipped)
{
	size_t len = strlen(path);
	bool cut = clipped && len > clipped;
	bool good = seen.n == 1 && seen.head.access == access && seen.head.rule == rule && seen.head.reason == reason &&
		    seen.head.path_len == (cut ? clipped : len) && !memcmp(seen.head.data, path, seen.head.path_len) &&
		    !!(seen.head.head.flags & RF_EVENT_PATH_CLIPPED) == cut;

	if (!good)
		printf("# %u events; access %u rule %u reason %u flags %#x path (%u) %.*s\n# for (%zu) %s\n", seen.n,
		       seen.head.access, seen.head.rule, seen.head.reason, seen.head.head.flags, seen.head.path_len,
		       seen.head.path_len, seen.head.data, len, path);
	return good;
}

static bool is_decided(const char *path, bool allowed)
{
	int result = ask(OP_OPEN, path);

	if (allowed ? !result && !seen.n : result == EACCES && is_told(path, RF_FILE_READ, 3, RF_REASON_RULE, 0))
		return true;
	printf("# %.200s...: %s, %u events\n", path, strerror(result), seen.n);
	return false;
}

/* Cold, then warm. */
static bool is_twice(const char *path, bool allowed)
{
	refresh_image();
	return is_decided(path, allowed) && is_decided(path, allowed);
}

static const unsigned int lengths[] = {1, 2, 3, 31, 32, 33, 63, 64, 65, 95, 96, 97, 127, 128, 254, 255};
#define LENGTHS (sizeof(lengths) / sizeof(lengths[0]))

/* As a directory's name (below: a file in it) or as the file's own, with a 'b' at one place. */
static bool name_at(unsigned int len, int at, bool directory)
{
	char name[256] = "", path[600];

	memset(name, 'a', len);
	if (at >= 0)
		name[at] = 'b';
	snprintf(path, sizeof(path), TREE "/%s%s", name, directory ? "/a" : "");
	if (directory) {
		*strrchr(path, '/') = '\0';
		fence_mkdirs(path);
		path[strlen(path)] = '/';
	}
	fence_write(path, "x");
	if (!is_twice(path, at < 0))
		return false;
	unlink(path);
	if (directory) {
		*strrchr(path, '/') = '\0';
		rmdir(path);
	}
	return true;
}

static void names(void)
{
	static const int places[] = {-1, 0, 1, 30, 31, 32, 33, 62, 63, 64, 65, 94, 95, 96, 97, 126, 127, 128};

	for (size_t i = 0; i < LENGTHS; i++) {
		bool good = name_at(lengths[i], (int)lengths[i] - 1, false) &&
			    name_at(lengths[i], (int)lengths[i] - 1, true);

		for (size_t k = 0; good && k < sizeof(places) / sizeof(places[0]); k++)
			if (places[k] < (int)lengths[i])
				good = name_at(lengths[i], places[k], false) &&
				       (k % 3 || name_at(lengths[i], places[k], true));
		fence_ok(good, "each byte of names of %u bytes", lengths[i]);
	}
}

/* A path of so many names below the mount, a 'b' at one level; made and asked about. */
static void deep_path(char *path, unsigned int depth, unsigned int at)
{
	size_t n = (size_t)sprintf(path, TREE "/a");

	for (unsigned int i = 2; i <= depth; i++)
		n += (size_t)sprintf(path + n, "/%c", i == at ? 'b' : 'a');
	*strrchr(path, '/') = '\0';
	fence_mkdirs(path);
	path[strlen(path)] = '/';
	if (access(path, F_OK))
		fence_write(path, "x");
}

static void depths(void)
{
	static const unsigned int some[] = {2, 3, 4, 31, 32, 33, 63, 64, 65, 127, 128, 129, 254, 255, 256};
	static char path[2000];

	for (size_t i = 0; i < sizeof(some) / sizeof(some[0]); i++) {
		unsigned int d = some[i];
		bool good;

		deep_path(path, d, 0);
		/* The file of one tree is a directory of the next. */
		unlink(path);
		fence_write(path, "x");
		good = is_twice(path, true);
		unlink(path);
		for (unsigned int k = 0; good && k < 3; k++) {
			deep_path(path, d, k == 0 ? 2 : k == 1 ? 2 + (d - 2) / 2 : d);
			good = is_twice(path, false);
			unlink(path);
		}
		fence_ok(good, "a file %u levels deep, each level counts", d);
	}
	deep_path(path, 257, 0);
	refresh_image();
	fence_ok(ask(OP_OPEN, path) == EACCES && seen.n == 1 && seen.head.reason == RF_REASON_TOO_DEEP,
		 "257 levels are refused as too deep");
	unlink(path);
}

/* 20 names of 255 bytes: more than an event has room for. */
static void clipped(void)
{
	static char path[6000], name[256];
	size_t n = (size_t)sprintf(path, TREE);

	memset(name, 'a', 255);
	refresh_image();
	if (chdir(TREE))
		fence_die(TREE);
	ask(OP_CHDIR, TREE);
	for (int i = 0; i < 20; i++) {
		if (mkdir(name, 0755) || chdir(name) || ask(OP_CHDIR, name))
			fence_die("a long path");
		n += (size_t)sprintf(path + n, "/%s", name);
	}
	fence_write("ab", "x");
	fence_write("a", "x");
	strcpy(path + n, "/ab");
	fence_ok(!ask(OP_OPEN, "a"), "a path of %zu bytes is read", n + 2);
	fence_ok(ask(OP_OPEN, "ab") == EACCES && is_told(path, RF_FILE_READ, 3, RF_REASON_RULE, RF_PATH_MAX),
		 "its denied twin is refused, its event clipped at %d bytes", RF_PATH_MAX);
	fence_ok(ask(OP_CHMOD, "ab") == EACCES && is_told(path, RF_FILE_ATTRIBUTES, 3, RF_REASON_RULE, RF_PATH_MAX),
		 "the event names the highest of the accesses too");
	if (chdir("/") || ask(OP_CHDIR, "/"))
		fence_die("/");
}

/* A filesystem mounted at a path of so many bytes. */
static bool mounted_at(unsigned int len, int at)
{
	char point[300] = TREE "/", path[310];
	size_t n = strlen(point);

	while (n < len) {
		point[n] = n % 100 == 99 && n + 1 < len ? '/' : 'a';
		n++;
	}
	if (at >= 0)
		point[at] = 'b';
	fence_mkdirs(point);
	if (mount("loops", point, "tmpfs", 0, NULL))
		fence_die("mount");
	snprintf(path, sizeof(path), "%s/a", point);
	fence_write(path, "x");
	fence_refresh(&fence);
	bool good = is_twice(path, at < 0);
	umount2(point, MNT_DETACH);
	fence_refresh(&fence);
	return good;
}

static void anchors(void)
{
	static const unsigned int some[] = {12, 31, 32, 33, 63, 64, 65, 127, 128, 129, 254, 255};

	for (size_t i = 0; i < sizeof(some) / sizeof(some[0]); i++) {
		int last = (int)some[i] - 1;
		bool good = mounted_at(some[i], -1) && mounted_at(some[i], last);

		if (good && last > 33)
			good = mounted_at(some[i], 32) && mounted_at(some[i], 31);
		fence_ok(good, "each byte of a mount point of %u bytes", some[i]);
	}
}

static void one_address(int family, int byte, bool allowed, unsigned int *good)
{
	request->family = family;
	memset(&request->in6, 0, sizeof(request->in6));
	memset(&request->in, 0, sizeof(request->in));
	request->in6.sin6_family = AF_INET6;
	request->in.sin_family = AF_INET;
	request->in6.sin6_port = request->in.sin_port = htons(0x1234);
	memset(&request->in6.sin6_addr, 0x20, 16);
	memset(&request->in.sin_addr, 0x20, 4);
	if (byte >= 16)
		request->in6.sin6_port = request->in.sin_port = htons(byte == 16 ? 0x1134 : 0x1233);
	else if (byte >= 0)
		((uint8_t *)&request->in6.sin6_addr)[byte] ^= 1, ((uint8_t *)&request->in.sin_addr)[byte % 4] ^= 1;
	*good += (ask(OP_CONNECT, NULL) != EACCES) == allowed && seen.n == !allowed &&
		 (allowed || (seen.head.access == RF_NET_CONNECT && seen.head.rule == RF_RULE_NONE));
}

static void addresses(void)
{
	struct rf_pattern p[] = {
		{.accesses = 1, .allow = true, .rule = 7},
		{.accesses = 1, .allow = true, .rule = 8},
	};
	union rf_cell *cells;
	unsigned int good = 0;
	uint32_t base;
	size_t n;

	p[0].addr = (struct rf_addr_range){
		.family = 6, .prefix = 128, .protocol_hi = 255, .port_lo = 0x1234, .port_hi = 0x1234};
	p[1].addr = p[0].addr;
	p[1].addr.family = 4, p[1].addr.prefix = 32;
	memset(p[0].addr.addr, 0x20, 16);
	memset(p[1].addr.addr, 0x20, 4);
	cells = fence_image(NULL, 0, p, 2, &n);
	base = fence_put(&fence, cells, n);
	free(cells);
	rf_enforcer_replace_image(fence.e, fence.slot, base);
	for (int byte = -1; byte < 18; byte++) {
		one_address(AF_INET6, byte, byte < 0, &good);
		if (byte < 4 || byte >= 16)
			one_address(AF_INET, byte, byte < 0, &good);
	}
	fence_ok(good == 19 + 7, "each byte of addresses and ports: %u of 26", good);
	rf_enforcer_replace_image(fence.e, fence.slot, fence.base);
	rf_enforcer_drop_image(fence.e, base);
}

static unsigned int count_anchors(const char *map)
{
	struct rf_anchor_key key, next, *at = NULL;
	unsigned int n = 0;
	int fd = bpf_obj_get(map);

	if (fd < 0)
		fence_die(map);
	while (!bpf_map_get_next_key(fd, at, &next)) {
		/* Beside them is what is known of mounts, by number. */
		n += next.inode >> 32 != 0;
		key = next;
		at = &key;
	}
	close(fd);
	return n;
}

/* All anchors of a superblock go with it, without a refresh. */
static void dying_superblock(void)
{
	unsigned int before = count_anchors(RF_PIN_DIR "/map_rf_anchors"), with, after = 0;
	char from[64], to[64];

	fence_mkdirs(TREE "/dying");
	if (mount("loops", TREE "/dying", "tmpfs", 0, NULL))
		fence_die("mount");
	for (int i = 0; i < 20; i++) {
		snprintf(from, sizeof(from), TREE "/dying/%d", i);
		snprintf(to, sizeof(to), TREE "/bound/%d", i);
		fence_mkdirs(from);
		fence_mkdirs(to);
		if (mount(from, to, NULL, MS_BIND, NULL))
			fence_die("bind");
	}
	fence_refresh(&fence);
	with = count_anchors(RF_PIN_DIR "/map_rf_anchors");
	for (int i = 0; i < 20; i++) {
		snprintf(to, sizeof(to), TREE "/bound/%d", i);
		umount(to);
	}
	umount(TREE "/dying");
	for (int i = 0; i < 100; i++) {
		after = count_anchors(RF_PIN_DIR "/map_rf_anchors");
		if (after == before)
			break;
		usleep(100000);
	}
	fence_ok(with == before + 21 && after == before,
		 "%u anchors, %u with a filesystem bound 20 times, %u when it is gone", before, with, after);
	fence_refresh(&fence);
}

static void rename_directories(double seconds)
{
	double end = fence_now() + seconds;

	fence_mkdirs("/run/loops-a");
	while (fence_now() < end)
		if (rename("/run/loops-a", "/run/loops-b") || rename("/run/loops-b", "/run/loops-a"))
			fence_die("rename");
	_exit(0);
}

/*
 * A rename ends a walk's attempt; the next one succeeds. On one CPU, where the walker is preempted half way; renamed
 * directories see to it that nothing is cached.
 */
static void tries(void)
{
	static char path[2000];
	unsigned int moved = 0;
	struct rf_cpu books;
	pid_t pid;

	deep_path(path, 250, 0);
	refresh_image();
	pid = fork();
	if (!pid)
		rename_directories(7);
	ask(OP_WALKS, path);
	waitpid(pid, NULL, 0);
	for (unsigned int cpu = 0; cpu < rf_enforcer_cpus(fence.e); cpu++)
		if (!rf_enforcer_books(fence.e, cpu, &books))
			moved += (unsigned int)books.reason[RF_REASON_MOVED];
	fence_ok(request->walks > 200 && !request->refused && !moved,
		 "%u opens beside renames, %u refused, %u as moved", request->walks, request->refused, moved);
}

int main(void)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(0, &set);
	fence_mkdirs(TREE);
	if (sched_setaffinity(0, sizeof(set), &set) || mount("loops", TREE, "tmpfs", 0, NULL))
		fence_die("loops");
	fence_open(&fence);
	fence_drain(&fence);
	fence.on_event = on_event;
	request = fence_shared(sizeof(*request));
	fence_tag(&fence, "loops", 0);
	refresh_image();
	if (pipe(to_child) || pipe(from_child))
		fence_die("pipe");
	if (fork() == 0)
		child();
	names();
	depths();
	clipped();
	anchors();
	addresses();
	dying_superblock();
	tries();
	close(to_child[1]);
	wait(NULL);
	fence_books(&fence);
	fence_end(&fence);
	umount2(TREE, MNT_DETACH);
	fence_no_misses();
	fence_no_warning();
	return fence_finish();
}
