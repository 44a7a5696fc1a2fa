// SPDX-License-Identifier: Apache-2.0
/* Load, attach and pin the kernel half, or adopt what is pinned. */
#include "kern/kern.h"

#include <bpf/bpf.h>
#include <bpf/btf.h>
#include <bpf/libbpf.h>
#include <dirent.h>
#include <errno.h>
#include <stdarg.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/cleanup.h"
#include "lib/version.h"

static const char *const map_names[RF_MAPS] = {
	[RF_MAP_SHARED] = "shared",	   [RF_MAP_TASKS] = "rf_tasks",	    [RF_MAP_SCRATCHES] = "rf_scratches",
	[RF_MAP_CGROUPS] = "rf_cgroups",   [RF_MAP_ANCHORS] = "rf_anchors", [RF_MAP_REQUESTS] = "rf_anchor_requests",
	[RF_MAP_OVERLAYS] = "rf_overlays", [RF_MAP_RING] = "rf_ring",
};

int rf_because(struct rf_enforcer *e, int err, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	vsnprintf(e->why, sizeof(e->why), format, args);
	va_end(args);
	return err;
}

const char *rf_enforcer_why(const struct rf_enforcer *e)
{
	return e->why;
}

/* The running kernel's parameter count of a hook, -1 if it has no such hook. */
static int hook_arguments(const struct btf *btf, const char *hook)
{
	char name[64];
	const struct btf_type *type;
	int id;

	snprintf(name, sizeof(name), "bpf_lsm_%s", hook);
	id = btf__find_by_name_kind(btf, name, BTF_KIND_FUNC);
	if (id < 0)
		return -1;
	type = btf__type_by_id(btf, btf__type_by_id(btf, id)->type);
	return btf_vlen(type);
}

/* Does this kernel have the hook of an optional program ("?lsm/HOOK"), with the N parameters of a name that ends in _N? */
static bool fits(const struct btf *btf, const struct bpf_program *prog)
{
	const char *hook = strchr(bpf_program__section_name(prog), '/'), *name = bpf_program__name(prog);
	int arguments = hook ? hook_arguments(btf, hook + 1) : -1;
	char last = name[strlen(name) - 1];

	return arguments >= 0 && (last < '0' || last > '9' || arguments == last - '0');
}

struct ringfence_bpf *rf_skeleton_open(void)
{
	struct btf *btf = btf__load_vmlinux_btf();
	struct bpf_program *prog;
	struct ringfence_bpf *skel;

	if (!btf)
		return NULL;
	skel = ringfence_bpf__open();
	if (skel)
		bpf_object__for_each_program(prog, skel->obj) if (!bpf_program__autoload(prog))
			bpf_program__set_autoload(prog, fits(btf, prog));
	btf__free(btf);
	return skel;
}

static void pin_path(char *path, size_t size, const char *kind, const char *name)
{
	snprintf(path, size, RF_PIN_DIR "/%s%s", kind, name);
}

static const char *const carried_programs[RF_CARRIED_PROGRAMS] = {"rf_carried_permission", "rf_carried_mmap"};

/* Iterators, and what is attached only while a run needs it. */
static bool is_on_request(const struct bpf_program *prog)
{
	for (int i = 0; i < RF_CARRIED_PROGRAMS; i++)
		if (!strcmp(bpf_program__name(prog), carried_programs[i]))
			return true;
	return bpf_program__expected_attach_type(prog) == BPF_TRACE_ITER;
}

static int pin_programs(struct rf_enforcer *e, struct ringfence_bpf *skel)
{
	struct bpf_program *prog;
	char path[256];

	bpf_object__for_each_program(prog, skel->obj)
	{
		struct bpf_link *link;
		int err;

		if (!bpf_program__autoload(prog))
			continue;
		if (is_on_request(prog)) {
			pin_path(path, sizeof(path), "prog_", bpf_program__name(prog));
			err = bpf_program__pin(prog, path);
		} else {
			pin_path(path, sizeof(path), "link_", bpf_program__name(prog));
			link = bpf_program__attach(prog);
			if (!link)
				return rf_because(e, -errno, "cannot attach %s: %s", bpf_program__name(prog),
						  strerror(errno));
			err = bpf_link__pin(link, path);
			bpf_link__destroy(link);
		}
		if (err)
			return rf_because(e, err, "cannot pin %s: %s", path, strerror(-err));
	}
	return 0;
}

static int pin_maps(struct rf_enforcer *e, struct ringfence_bpf *skel)
{
	const struct bpf_map *maps[RF_MAPS] = {
		[RF_MAP_SHARED] = skel->maps.bss,
		[RF_MAP_TASKS] = skel->maps.rf_tasks,
		[RF_MAP_SCRATCHES] = skel->maps.rf_scratches,
		[RF_MAP_CGROUPS] = skel->maps.rf_cgroups,
		[RF_MAP_ANCHORS] = skel->maps.rf_anchors,
		[RF_MAP_REQUESTS] = skel->maps.rf_anchor_requests,
		[RF_MAP_OVERLAYS] = skel->maps.rf_overlays,
		[RF_MAP_RING] = skel->maps.rf_ring,
	};
	char path[256];

	for (int i = 0; i < RF_MAPS; i++) {
		pin_path(path, sizeof(path), "map_", map_names[i]);
		if (bpf_obj_pin(bpf_map__fd(maps[i]), path))
			return rf_because(e, -errno, "cannot pin %s: %s", path, strerror(errno));
	}
	return 0;
}

/* Removes every pin; links, programs and maps that nobody else holds go with them. */
static void unpin_all(void)
{
	DIR *dir = opendir(RF_PIN_DIR);
	struct dirent *entry;

	if (!dir)
		return;
	while ((entry = readdir(dir)))
		unlinkat(dirfd(dir), entry->d_name, 0);
	closedir(dir);
	rmdir(RF_PIN_DIR);
}

static int load(struct rf_enforcer *e)
{
	struct ringfence_bpf *skel = rf_skeleton_open();
	int err;

	if (!skel)
		return rf_because(e, -EOPNOTSUPP, "this kernel has no usable BTF (/sys/kernel/btf/vmlinux): %s",
				  strerror(errno));
	err = ringfence_bpf__load(skel);
	if (err) {
		err = rf_because(e, err == -EPERM ? -EPERM : -EOPNOTSUPP, "the kernel refuses the programs: %s",
				 strerror(-err));
		goto out;
	}
	if (mkdir(RF_PIN_DIR, 0700) && errno != EEXIST) {
		err = rf_because(e, -errno, "cannot create " RF_PIN_DIR ": %s", strerror(errno));
		goto out;
	}
	err = pin_maps(e, skel);
	if (!err)
		err = pin_programs(e, skel);
	if (!err) {
		snprintf(skel->bss->rf_host.build, sizeof(skel->bss->rf_host.build), "%s", RF_VERSION);
		/* Last: pins without it are the rest of a load that did not end. */
		__atomic_store_n(&skel->bss->rf_host.abi, RF_ABI_VERSION, __ATOMIC_RELEASE);
	} else {
		unpin_all();
	}
out:
	/* The pins hold the kernel objects; no writable mapping of them but the enforcer's own stays. */
	ringfence_bpf__destroy(skel);
	return err;
}

static int open_pinned(struct rf_enforcer *e)
{
	char path[256];

	for (int i = 0; i < RF_MAPS; i++) {
		pin_path(path, sizeof(path), "map_", map_names[i]);
		e->maps[i] = bpf_obj_get(path);
		if (e->maps[i] < 0)
			return -errno;
	}
	e->set_anchors = bpf_obj_get(RF_PIN_DIR "/prog_rf_set_anchors");
	e->sweep_tasks = bpf_obj_get(RF_PIN_DIR "/prog_rf_sweep_tasks");
	if (e->set_anchors < 0 || e->sweep_tasks < 0)
		return -errno;
	for (int i = 0; i < RF_CARRIED_PROGRAMS; i++) {
		pin_path(path, sizeof(path), "prog_", carried_programs[i]);
		e->carried[i] = bpf_obj_get(path);
		if (e->carried[i] < 0)
			return -errno;
	}
	e->shared = mmap(NULL, sizeof(*e->shared), PROT_READ | PROT_WRITE, MAP_SHARED, e->maps[RF_MAP_SHARED], 0);
	if (e->shared == MAP_FAILED) {
		e->shared = NULL;
		return -errno;
	}
	return 0;
}

static void close_pinned(struct rf_enforcer *e)
{
	if (e->shared)
		munmap(e->shared, sizeof(*e->shared));
	e->shared = NULL;
	for (int i = 0; i < RF_MAPS; i++) {
		closep(&e->maps[i]);
		e->maps[i] = -1;
	}
	closep(&e->set_anchors);
	closep(&e->sweep_tasks);
	e->set_anchors = e->sweep_tasks = -1;
	for (int i = 0; i < RF_CARRIED_PROGRAMS; i++) {
		closep(&e->carried[i]);
		e->carried[i] = -1;
	}
}

static bool has_carriers(const struct rf_enforcer *e)
{
	for (size_t i = 0; i < RF_RUNS_MAX; i++)
		if (e->shared->rf_runs[i].flags & RF_RUN_CARRIES)
			return true;
	return false;
}

int rf_attach_carried(struct rf_enforcer *e)
{
	bool wanted = has_carriers(e);
	char path[256];

	for (int i = 0; i < RF_CARRIED_PROGRAMS; i++) {
		__cleanup(closep) int link = -1;

		pin_path(path, sizeof(path), "link_", carried_programs[i]);
		if (!wanted) {
			unlink(path);
			continue;
		}
		if (!access(path, F_OK))
			continue;
		link = bpf_raw_tracepoint_open(NULL, e->carried[i]);
		if (link < 0 || bpf_obj_pin(link, path))
			return rf_because(e, -errno, "cannot attach %s: %s", carried_programs[i], strerror(errno));
	}
	return 0;
}

static bool has_live_runs(const struct rf_enforcer *e)
{
	for (size_t i = 0; i < RF_RUNS_MAX; i++)
		if (e->shared->rf_runs[i].state == RF_RUN_LIVE)
			return true;
	return false;
}

/* 1: adopted; 0: nothing to adopt; negative: something is pinned that must not be touched. */
static int adopt(struct rf_enforcer *e)
{
	int err = open_pinned(e);

	if (!err && e->shared->rf_host.abi == RF_ABI_VERSION &&
	    !strncmp(e->shared->rf_host.build, RF_VERSION, sizeof(e->shared->rf_host.build)))
		return 1;
	if (!err && e->shared->rf_host.abi && has_live_runs(e))
		return rf_because(
			e, -EEXIST,
			"runs are alive under the enforcer of build %.64s; end them first, this is " RF_VERSION,
			e->shared->rf_host.build);
	close_pinned(e);
	unpin_all();
	return 0;
}

/* An array of maps: the kernel's update waits for the programs that may still use an old entry (synchronize_rcu). */
static int make_sync_map(struct rf_enforcer *e)
{
	LIBBPF_OPTS(bpf_map_create_opts, opts);

	e->sync_inner = bpf_map_create(BPF_MAP_TYPE_ARRAY, "rf_sync_inner", 4, 4, 1, NULL);
	if (e->sync_inner < 0)
		return rf_because(e, -errno, "cannot create a map: %s", strerror(errno));
	opts.inner_map_fd = e->sync_inner;
	e->sync_map = bpf_map_create(BPF_MAP_TYPE_ARRAY_OF_MAPS, "rf_sync", 4, 4, 1, &opts);
	if (e->sync_map < 0)
		return rf_because(e, -errno, "cannot create a map: %s", strerror(errno));
	return 0;
}

int rf_synchronize(struct rf_enforcer *e)
{
	uint32_t key = 0;

	return bpf_map_update_elem(e->sync_map, &key, &e->sync_inner, BPF_ANY) ? -errno : 0;
}

int rf_run_iterator(int prog_fd, uint32_t tid)
{
	union bpf_iter_link_info info = {.task.tid = tid};
	LIBBPF_OPTS(bpf_link_create_opts, opts);
	__cleanup(closep) int link = -1, iter = -1;
	char buf[64];
	ssize_t n;

	if (tid) {
		opts.iter_info = &info;
		opts.iter_info_len = sizeof(info);
	}
	link = bpf_link_create(prog_fd, 0, BPF_TRACE_ITER, &opts);
	if (link < 0)
		return -errno;
	iter = bpf_iter_create(link);
	if (iter < 0)
		return -errno;
	do
		n = read(iter, buf, sizeof(buf));
	while (n > 0 || (n < 0 && errno == EAGAIN));
	return n < 0 ? -errno : 0;
}

int rf_enforcer_open(struct rf_enforcer **ret, bool *ret_adopted)
{
	struct rf_enforcer *e = calloc(1, sizeof(*e));
	int err, adopted;

	*ret = e;
	if (!e)
		return -ENOMEM;
	for (int i = 0; i < RF_MAPS; i++)
		e->maps[i] = -1;
	for (int i = 0; i < RF_CARRIED_PROGRAMS; i++)
		e->carried[i] = -1;
	e->set_anchors = e->sweep_tasks = e->sync_map = e->sync_inner = -1;
	if (geteuid())
		return rf_because(e, -EPERM, "only root can load the enforcer");
	libbpf_set_print(NULL);
	adopted = adopt(e);
	if (adopted < 0)
		return adopted;
	if (!adopted) {
		err = load(e);
		if (err)
			return err;
		err = open_pinned(e);
		if (err)
			return rf_because(e, err, "cannot open what was just pinned: %s", strerror(-err));
	}
	e->cpus = libbpf_num_possible_cpus();
	err = rf_open_host_view(e, adopted);
	if (err)
		return rf_because(e, err, "cannot open the mount table: %s", strerror(-err));
	err = make_sync_map(e);
	if (!err)
		err = rf_collect_images(e);
	if (err)
		return err;
	*ret_adopted = adopted;
	return 0;
}

void rf_enforcer_close(struct rf_enforcer **ep)
{
	struct rf_enforcer *e = *ep;

	if (!e)
		return;
	rf_close_ring(e);
	rf_view_close(e, &e->host, true);
	close_pinned(e);
	closep(&e->sync_map);
	closep(&e->sync_inner);
	free(e->images);
	free(e);
	*ep = NULL;
}

int rf_enforcer_remove(struct rf_enforcer *e)
{
	if (has_live_runs(e))
		return -EBUSY;
	unpin_all();
	return 0;
}
