/* SPDX-License-Identifier: Apache-2.0 */
/*
 * differential [--paths N] [--addresses N] [--seed S]: random policies against the kernel. Each policy becomes an image
 * in the kernel, a tagged child opens real files (reads, and writes what is no directory), renames and links, or
 * connects sockets, and the kernel's verdict, the userspace evaluator's and the oracle's must be the same. Of each
 * denial the event must name the path, the access, the reason and the rule that the oracle names.
 *
 * Directories are renamed onto others that are not empty: what our hook lets pass ends in ENOTEMPTY, and all stays in
 * its place. Files are renamed or linked, and the parent takes that back. Some directories are mounts of their own.
 */
#include <netinet/in.h>
#include <sys/mount.h>
#include <sys/socket.h>

#include "../../oracle/oracle.h"
#include "../../oracle/random.h"
#include "fence.h"

#define TREE "/run/differential"
#define OWN 220 /* paths drawn for a policy; equal ones count once */
#define POOL 220 /* paths of former policies that are asked besides */
#define ASKED (OWN + POOL)
#define RENAMES 120
#define CONTINUATIONS 12 /* below a directory, that the oracle tries where nothing is said to widen */
#define PATH_BYTES (sizeof(TREE) + RF_RANDOM_PATH + sizeof("/kept"))

struct question {
	uint16_t len;
	bool directory;
	char path[PATH_BYTES];
	struct rf_random_addr addr;
	int result[2]; /* errno of reading (or connecting) and of writing; -1: not asked */
};

struct second_name {
	struct question old, new;
	bool directory, link;
	int result;
};

static struct sheet {
	unsigned int n, n_renames;
	bool addresses;
	struct question q[ASKED];
	struct second_name rename[RENAMES];
} * sheet;

/* Filesystems of their own, so that paths begin at several mount points; frequent names of the generator. */
static const char *const mounts[] = {TREE, TREE "/a", TREE "/a/b", TREE "/c"};
#define MOUNTS (sizeof(mounts) / sizeof(mounts[0]))

struct tally {
	unsigned long pairs, verdicts, allowed, denied, differences, events, wrong_events, policies;
};

static struct tally paths, renames, addresses;
static struct {
	unsigned long holds, walked, widens, below, too_complex;
} found;
/* Denials that the oracle expects, in the order in which the child asks. */
static struct {
	const struct question *q;
	uint16_t access, rule;
	uint8_t reason;
} expected[2 * ASKED + RENAMES];
static unsigned int n_expected, n_seen;
static int to_child[2], from_child[2];

static struct question pool[4096];
static unsigned int n_pool;

static void say(const char *what, const struct question *q, const struct rf_random_policy *policy)
{
	if ((paths.differences + paths.wrong_events + addresses.differences + renames.differences) > 5)
		return;
	printf("# %s: ", what);
	for (unsigned int i = 0; i < q->len; i++)
		printf(q->path[i] > ' ' && q->path[i] < 0x7f ? "%c" : "\\x%02x", (unsigned char)q->path[i]);
	printf("%s\n", sheet->addresses ? "(address)" : "");
	for (size_t i = 0; policy && i < policy->n && !sheet->addresses; i++)
		printf("#   %s %#llx %.*s\n", policy->patterns[i].allow ? "allow" : "deny",
		       (unsigned long long)policy->patterns[i].accesses, (int)policy->patterns[i].len,
		       policy->patterns[i].glob);
	fflush(stdout);
}

static int try_open(const char *path, int flags)
{
	int fd = open(path, flags | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);

	if (fd < 0)
		return errno;
	close(fd);
	return 0;
}

static int try_connect(const struct rf_random_addr *a)
{
	int type = a->protocol == IPPROTO_TCP ? SOCK_STREAM : a->protocol == IPPROTO_UDP ? SOCK_DGRAM : SOCK_RAW;
	int fd = socket(a->family == 4 ? AF_INET : AF_INET6, type | SOCK_NONBLOCK | SOCK_CLOEXEC, a->protocol);
	struct sockaddr_in in = {.sin_family = AF_INET, .sin_port = htons(a->port)};
	struct sockaddr_in6 in6 = {.sin6_family = AF_INET6, .sin6_port = htons(a->port)};
	int yes = 1, result = 0;

	if (fd < 0)
		return -1;
	/* The kernel itself says EACCES to broadcasts without it. */
	setsockopt(fd, SOL_SOCKET, SO_BROADCAST, &yes, sizeof(yes));
	memcpy(&in.sin_addr, a->addr, 4);
	memcpy(&in6.sin6_addr, a->addr, 16);
	if (a->family == 4 ? connect(fd, (struct sockaddr *)&in, sizeof(in))
			   : connect(fd, (struct sockaddr *)&in6, sizeof(in6)))
		result = errno;
	close(fd);
	return result;
}

static int try_second_name(const struct second_name *s)
{
	return (s->link ? link : rename)(s->old.path, s->new.path) ? errno : 0;
}

/* The tagged one: answers sheets until the pipe ends. */
static void child(const char *cgroup)
{
	char token;

	close(to_child[1]);
	fence_enter(cgroup);
	do {
		for (unsigned int i = 0; i < sheet->n; i++) {
			struct question *q = &sheet->q[i];

			q->result[0] = sheet->addresses ? try_connect(&q->addr) : try_open(q->path, O_RDONLY);
			q->result[1] = sheet->addresses || q->directory ? -1 : try_open(q->path, O_WRONLY);
		}
		for (unsigned int i = 0; i < sheet->n_renames; i++)
			sheet->rename[i].result = try_second_name(&sheet->rename[i]);
		token = 1;
	} while (write(from_child[1], &token, 1) == 1 && read(to_child[0], &token, 1) == 1);
	_exit(0);
}

static void ask_child(void)
{
	char token = 1;

	if (write(to_child[1], &token, 1) != 1 || read(from_child[0], &token, 1) != 1)
		fence_die("the tagged child");
}

static void on_event(const struct rf_event *e)
{
	const struct question *q;
	struct tally *t = sheet->addresses ? &addresses : &paths;
	unsigned int at = n_seen++;
	bool same;

	t->events++;
	if (at >= n_expected) {
		t->wrong_events++;
		return;
	}
	q = expected[at].q;
	same = e->access == expected[at].access && e->rule == expected[at].rule && e->verdict == RF_DENY &&
	       e->reason == expected[at].reason;
	if (!sheet->addresses)
		same = same && e->path_len == q->len && !memcmp(e->data, q->path, q->len);
	else
		same = same && e->port == q->addr.port && e->protocol == q->addr.protocol;
	if (!same) {
		t->wrong_events++;
		say("an event names another object, access or rule than", q, NULL);
		printf("#   event: access %u rule %u reason %u flags %#x path %.*s\n", e->access, e->rule, e->reason,
		       e->head.flags, e->path_len, e->data);
	}
}

static void expect(const struct question *q, uint16_t access, uint16_t rule, uint8_t reason)
{
	expected[n_expected].q = q;
	expected[n_expected].access = access;
	expected[n_expected].rule = rule;
	expected[n_expected++].reason = reason;
}

static uint8_t reason_of(uint16_t rule)
{
	return rule == RF_RULE_NONE ? RF_REASON_NO_RULE : RF_REASON_RULE;
}

/* One verdict of the kernel against the two of userspace. */
static void compare(struct tally *t, const struct question *q, const struct rf_random_policy *policy, int result,
		    uint16_t access, struct rf_decision image, struct rf_decision oracle)
{
	bool kernel = result != EACCES;

	t->verdicts++;
	oracle.allow ? t->allowed++ : t->denied++;
	if (!oracle.allow)
		expect(q, access, oracle.rule, reason_of(oracle.rule));
	if (kernel == oracle.allow && image.allow == oracle.allow && image.rule == oracle.rule &&
	    (sheet->addresses || !kernel || !result))
		return;
	t->differences++;
	say("difference", q, policy);
	printf("#   access %u: kernel %s, image %d rule %u, oracle %d rule %u\n", access, strerror(result), image.allow,
	       image.rule, oracle.allow, oracle.rule);
}

static void check(struct tally *t, const struct rf_random_policy *policy, const union rf_cell *cells, size_t n)
{
	uint8_t key[RF_ADDR_KEY_MAX];

	for (unsigned int i = 0; i < sheet->n; i++) {
		const struct question *q = &sheet->q[i];
		const struct rf_random_addr *a = &q->addr;

		if (q->result[0] < 0)
			continue;
		t->pairs++;
		if (sheet->addresses) {
			size_t len = rf_addr_key(key, a->family, a->addr, a->protocol, a->port);

			compare(t, q, policy, q->result[0], RF_NET_CONNECT,
				rf_image_addr(cells, n, RF_NET_CONNECT, key, len),
				oracle_addr(policy->patterns, policy->n, 0, a->family, a->addr, a->protocol, a->port));
			continue;
		}
		for (unsigned int access = RF_FILE_READ; access <= RF_FILE_WRITE; access++) {
			if (q->result[access] >= 0)
				compare(t, q, policy, q->result[access], access,
					rf_image_path(cells, n, access, q->path, q->len),
					oracle_path(policy->patterns, policy->n, access, q->path, q->len));
		}
	}
}

/* Is what the image says of widening what the oracle sees? */
static bool oracle_agrees(struct rf_random *r, const struct rf_random_policy *policy, const struct second_name *s,
			  const struct rf_second_name *says)
{
	char below[RF_RANDOM_PATH + 1] = "";

	if (says->answer == RF_INCLUSION_TOO_COMPLEX)
		return s->directory;
	if (says->answer == RF_INCLUSION_WIDENS)
		return says->gained && oracle_gained(policy->patterns, policy->n, s->old.path, s->new.path,
						     says->below) == says->gained;
	for (int i = 0; i <= (s->directory ? CONTINUATIONS : 0); i++) {
		if (i)
			rf_random_continuation(r, policy, below);
		if (oracle_gained(policy->patterns, policy->n, s->old.path, s->new.path, below))
			return false;
	}
	return true;
}

/* What the kernel must answer: 0, EACCES or EXDEV. */
static int answer_of(const struct rf_random_policy *policy, const struct second_name *s,
		     const struct rf_second_name *says)
{
	const struct question *asked[] = {&s->new, &s->old};
	static const uint16_t access[] = {RF_FILE_CREATE, RF_FILE_DELETE};

	for (int i = 0; i < (s->link ? 1 : 2); i++) {
		struct rf_decision d =
			oracle_path(policy->patterns, policy->n, access[i], asked[i]->path, asked[i]->len);

		if (!d.allow) {
			expect(asked[i], access[i], d.rule, reason_of(d.rule));
			return EACCES;
		}
	}
	if (says->answer == RF_INCLUSION_HOLDS)
		return 0;
	expect(&s->new, RF_FILE_CREATE, RF_RULE_NONE,
	       says->answer == RF_INCLUSION_WIDENS ? RF_REASON_WIDENING : RF_REASON_TOO_COMPLEX);
	return EXDEV;
}

static void check_rename(struct rf_random *r, const struct rf_random_policy *policy, const struct second_name *s,
			 const union rf_cell *cells, size_t n)
{
	struct rf_second_name says;
	int want, got = s->result == ENOTEMPTY && s->directory ? 0 : s->result;

	if (rf_image_second_name(cells, n, s->old.path, s->old.len, s->new.path, s->new.len, s->directory, &says))
		fence_die("no memory");
	want = answer_of(policy, s, &says);
	renames.pairs++;
	renames.verdicts++;
	want ? renames.denied++ : renames.allowed++;
	found.holds += !want;
	found.walked += !want && says.pairs;
	found.widens += want == EXDEV;
	found.below += want == EXDEV && says.len;
	found.too_complex += want == EXDEV && says.answer == RF_INCLUSION_TOO_COMPLEX;
	if (got == want && (!s->directory || s->result) && oracle_agrees(r, policy, s, &says))
		return;
	renames.differences++;
	say("difference in a rename from", &s->old, policy);
	say("to", &s->new, NULL);
	printf("#   %s: kernel %s, wanted %s; image: answer %d, gains %#llx below \"%s\"\n",
	       s->directory ? "directory" : "file", strerror(s->result), strerror(want), says.answer,
	       (unsigned long long)says.gained, says.below);
}

/* Takes back what the child was allowed. */
static void undo(const struct second_name *s)
{
	if (s->directory || s->result)
		return;
	if (s->link ? unlink(s->new.path) : rename(s->new.path, s->old.path))
		fence_die(s->new.path);
}

/* Makes a path unless one of its directories is a file already; whether it can be asked about. */
static bool make_path(struct question *q)
{
	struct stat st;
	char *slash = q->path + sizeof(TREE) - 1;

	while ((slash = strchr(slash + 1, '/'))) {
		*slash = '\0';
		if (mkdir(q->path, 0755) && errno != EEXIST) {
			*slash = '/';
			return false;
		}
		*slash = '/';
	}
	if (mknod(q->path, S_IFREG | 0644, 0) && errno != EEXIST)
		return false;
	if (lstat(q->path, &st))
		return false;
	q->directory = S_ISDIR(st.st_mode);
	return true;
}

static bool is_asked(const struct question *q)
{
	for (unsigned int i = 0; i < sheet->n; i++)
		if (sheet->q[i].len == q->len && !memcmp(sheet->q[i].path, q->path, q->len))
			return true;
	return false;
}

static void draw_paths(struct rf_random *r, const struct rf_random_policy *policy)
{
	sheet->n = 0;
	for (int i = 0; i < ASKED; i++) {
		struct question *q = &sheet->q[sheet->n];
		char path[RF_RANDOM_PATH + 1] = {};

		if (i < OWN) {
			size_t len = rf_random_path(r, policy, path);

			path[len] = '\0';
			q->len = (uint16_t)snprintf(q->path, sizeof(q->path), TREE "%s", len > 1 ? path : "");
		} else if (n_pool) {
			*q = pool[rf_random_below(r, n_pool)];
		}
		if (is_asked(q) || !make_path(q))
			continue;
		pool[n_pool < 4096 ? n_pool++ : rf_random_below(r, 4096)] = *q;
		sheet->n++;
	}
}

static bool is_below(const char *path, const char *dir)
{
	size_t len = strlen(dir);

	return !strncmp(path, dir, len) && (!path[len] || path[len] == '/');
}

static size_t mount_of(const char *path)
{
	size_t mount = 0;

	for (size_t i = 1; i < MOUNTS; i++)
		if (is_below(path, mounts[i]))
			mount = i;
	return mount;
}

static bool is_mount(const char *path)
{
	return !strcmp(path, mounts[mount_of(path)]);
}

static bool is_there(const char *path)
{
	struct stat st;

	return !lstat(path, &st);
}

/* Makes a directory with a file in it. */
static bool make_directory(struct question *q)
{
	char kept[PATH_BYTES];
	struct question inside = *q;

	snprintf(kept, sizeof(kept), "%s", q->path);
	inside.len = (uint16_t)snprintf(inside.path, sizeof(inside.path), "%s/kept", kept);
	return inside.len < sizeof(inside.path) && make_path(&inside) && !inside.directory;
}

/* Can it be asked beside the others, so that our hook is all that can refuse it? */
static bool make_second_name(struct second_name *s)
{
	if (is_mount(s->old.path) || is_mount(s->new.path) || mount_of(s->old.path) != mount_of(s->new.path) ||
	    is_below(s->old.path, s->new.path) || is_below(s->new.path, s->old.path))
		return false;
	for (unsigned int i = 0; i < sheet->n_renames; i++) {
		const struct second_name *other = &sheet->rename[i];

		/* What is made now must not stand where a file is to go, nor the other way round. */
		if ((!other->directory || !s->directory) &&
		    (is_below(s->old.path, other->old.path) || is_below(s->old.path, other->new.path) ||
		     is_below(s->new.path, other->old.path) || is_below(s->new.path, other->new.path) ||
		     is_below(other->old.path, s->new.path) || is_below(other->new.path, s->new.path)))
			return false;
	}
	if (s->directory)
		return make_directory(&s->old) && make_directory(&s->new);
	if (is_there(s->new.path) || !make_path(&s->old) || s->old.directory || !make_path(&s->new))
		return false;
	return !unlink(s->new.path) && is_there(s->old.path);
}

static void draw_renames(struct rf_random *r, const struct rf_random_policy *policy)
{
	char old[RF_RANDOM_PATH + 1], new[RF_RANDOM_PATH + 1];

	sheet->n_renames = 0;
	for (int i = 0; i < RENAMES; i++) {
		struct second_name *s = &sheet->rename[sheet->n_renames];

		s->directory = rf_random_rename(r, policy, old, new);
		s->link = !s->directory && rf_random_below(r, 2);
		s->old.len = (uint16_t)snprintf(s->old.path, sizeof(s->old.path), TREE "%s", old);
		s->new.len = (uint16_t)snprintf(s->new.path, sizeof(s->new.path), TREE "%s", new);
		sheet->n_renames += make_second_name(s);
	}
}

static void draw_addresses(struct rf_random *r, const struct rf_random_policy *policy)
{
	for (sheet->n = 0; sheet->n < 64; sheet->n++) {
		struct rf_random_addr *a = &sheet->q[sheet->n].addr;

		rf_random_addr(r, policy, a);
		/* No socket has protocol 0. */
		if (!a->protocol || !rf_random_below(r, 4))
			a->protocol = rf_random_below(r, 2) ? IPPROTO_UDP : IPPROTO_TCP;
	}
}

/* Patterns below TREE: what began at the root begins there. */
static void move_patterns(struct rf_random_policy *policy)
{
	static char text[RF_RANDOM_PATTERNS][sizeof(TREE) + RF_RANDOM_GLOB];

	for (size_t i = 0; i < policy->n; i++) {
		struct rf_pattern *p = &policy->patterns[i];

		if (p->glob[0] != '/')
			continue;
		p->len = (size_t)snprintf(text[i], sizeof(text[i]), TREE "%.*s", p->len > 1 ? (int)p->len : 0, p->glob);
		p->glob = text[i];
	}
}

/* Most policies begin with a whole family, so that what is allowed is frequent too. */
static void widen_first(struct rf_random *r, struct rf_random_policy *policy)
{
	struct rf_pattern *p = &policy->patterns[0];

	if (!rf_random_below(r, 5))
		return;
	p->allow = true;
	p->accesses |= 1;
	p->addr.prefix = 0;
	p->addr.protocol_lo = 0, p->addr.protocol_hi = 255;
	p->addr.port_lo = 0, p->addr.port_hi = 65535;
}

static void one_policy(struct fence *f, struct rf_random *r, bool of_addresses)
{
	static struct rf_random_policy policy;
	struct tally *t = of_addresses ? &addresses : &paths;
	uint32_t base, old = f->base;
	union rf_cell *cells;
	size_t n;

	rf_random_policy(r, of_addresses ? RF_AUTOMATON_ADDR : RF_AUTOMATON_PATH, &policy);
	of_addresses ? widen_first(r, &policy) : move_patterns(&policy);
	cells = fence_image(policy.patterns, of_addresses ? 0 : policy.n, policy.patterns, of_addresses ? policy.n : 0,
			    &n);
	base = fence_put(f, cells, n);
	rf_enforcer_replace_image(f->e, f->slot, base);
	f->base = base;
	rf_enforcer_drop_image(f->e, old);
	sheet->addresses = of_addresses;
	sheet->n_renames = 0;
	of_addresses ? draw_addresses(r, &policy) : draw_paths(r, &policy);
	if (!of_addresses)
		draw_renames(r, &policy);
	n_expected = n_seen = 0;
	ask_child();
	check(t, &policy, cells, n);
	for (unsigned int i = 0; i < sheet->n_renames; i++) {
		undo(&sheet->rename[i]);
		check_rename(r, &policy, &sheet->rename[i], cells, n);
	}
	fence_drain(f);
	if (n_seen != n_expected)
		t->wrong_events++;
	t->policies++;
	free(cells);
}

static void judge_renames(void)
{
	fence_ok(!renames.differences, "renames: %lu pairs, %lu differences", renames.pairs, renames.differences);
	fence_ok(found.holds * 20 > renames.pairs && found.walked * 200 > renames.pairs &&
			 found.widens * 50 > renames.pairs && found.below * 400 > renames.pairs,
		 "renames: %lu allowed (%lu after a walk), %lu widen (%lu below, %lu too complex), %lu denied by rules",
		 found.holds, found.walked, found.widens, found.below, found.too_complex,
		 renames.pairs - found.holds - found.widens);
}

static void judge(const char *what, const struct tally *t)
{
	fence_ok(!t->differences, "%s: %lu pairs of %lu policies, %lu verdicts, %lu differences", what, t->pairs,
		 t->policies, t->verdicts, t->differences);
	fence_ok(t->allowed * 5 > t->verdicts && t->denied * 5 > t->verdicts,
		 "%s: both verdicts are frequent: %lu allowed, %lu denied", what, t->allowed, t->denied);
	fence_ok(t->events == t->denied + (t == &paths) * renames.denied && !t->wrong_events,
		 "%s: %lu events for %lu denials, %lu wrong", what, t->events,
		 t->denied + (t == &paths) * renames.denied, t->wrong_events);
}

static void start(struct fence *f)
{
	fence_mkdirs(TREE);
	for (size_t i = 0; i < MOUNTS; i++) {
		fence_mkdirs(mounts[i]);
		if (mount("differential", mounts[i], "tmpfs", 0, "size=1g,nr_inodes=0"))
			fence_die(mounts[i]);
	}
	fence_open(f);
	f->on_event = on_event;
	sheet = fence_shared(sizeof(*sheet));
	fence_drain(f);
	fence_tag(f, "differential", fence_put_paths(f, NULL, 0));
	if (pipe(to_child) || pipe(from_child))
		fence_die("pipe");
	if (fork() == 0)
		child(f->path);
	if (read(from_child[0], &(char){0}, 1) != 1)
		fence_die("the tagged child did not start");
}

int main(int argc, char **argv)
{
	unsigned long want_paths = 100000, want_addresses = 5000;
	struct rf_random r = {1};
	struct fence f = {};

	for (int i = 1; i + 1 < argc; i += 2) {
		unsigned long value = strtoul(argv[i + 1], NULL, 0);

		if (!strcmp(argv[i], "--paths"))
			want_paths = value;
		else if (!strcmp(argv[i], "--addresses"))
			want_addresses = value;
		else
			r.state = value;
	}
	printf("# seed %llu\n", (unsigned long long)r.state);
	start(&f);
	while (paths.pairs + renames.pairs < want_paths)
		one_policy(&f, &r, false);
	judge("paths", &paths);
	judge_renames();
	while (addresses.pairs < want_addresses)
		one_policy(&f, &r, true);
	judge("addresses", &addresses);
	fence_ok(fence_run(&f).denied == paths.denied + renames.denied + addresses.denied,
		 "the kernel counted %llu denials", (unsigned long long)fence_run(&f).denied);
	close(to_child[1]);
	wait(NULL);
	fence_books(&f);
	fence_end(&f);
	umount2(TREE, MNT_DETACH);
	fence_no_misses();
	fence_no_warning();
	return fence_finish();
}
