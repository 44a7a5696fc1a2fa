// SPDX-License-Identifier: Apache-2.0
/* What this host has and lacks, each with the line that mends it: the questions of `ringfence doctor`, in order. */
#include "kern/kern.h"

#include <bpf/libbpf.h>
#include <errno.h>
#include <linux/magic.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "lib/cleanup.h"

#define LSM_LIST "/sys/kernel/security/lsm"

static void found(struct rf_probe *probe, enum rf_probe_result result, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

static void found(struct rf_probe *probe, enum rf_probe_result result, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	vsnprintf(probe->found, sizeof(probe->found), format, args);
	va_end(args);
	probe->result = result;
}

static void remedy(struct rf_probe *probe, const char *text)
{
	snprintf(probe->remedy, sizeof(probe->remedy), "%s", text);
}

/* One line of a small file, without its newline; -errno. */
static int read_line(const char *path, char *buf, size_t size)
{
	__cleanup(fclosep) FILE *f = fopen(path, "re");

	if (!f)
		return -errno;
	if (!fgets(buf, (int)size, f))
		return -EIO;
	buf[strcspn(buf, "\n")] = '\0';
	return 0;
}

/* RHEL and its kin have grubby; Debian and Ubuntu have update-grub. */
static bool has_grubby(void)
{
	return !access("/usr/sbin/grubby", X_OK) || !access("/sbin/grubby", X_OK);
}

static void probe_root(struct rf_probe *probe)
{
	probe->name = "root";
	found(probe, geteuid() ? RF_PROBE_MISSING : RF_PROBE_OK, "user id %u", geteuid());
	if (geteuid())
		remedy(probe, "sudo ringfence doctor");
}

static void probe_kernel(struct rf_probe *probe)
{
	struct utsname name;

	probe->name = "btf";
	uname(&name);
	if (!access("/sys/kernel/btf/vmlinux", R_OK)) {
		found(probe, RF_PROBE_OK, "kernel %s with type information", name.release);
		return;
	}
	found(probe, RF_PROBE_MISSING, "kernel %s has no /sys/kernel/btf/vmlinux", name.release);
	remedy(probe, has_grubby() ? "dnf install kernel && reboot" : "apt install linux-image-amd64 && reboot");
}

static bool is_listed(const char *list, const char *name)
{
	size_t len = strlen(name);

	for (const char *at = list; at; at = strchr(at, ','), at = at ? at + 1 : NULL)
		if (!strncmp(at, name, len) && (at[len] == ',' || !at[len]))
			return true;
	return false;
}

static void probe_lsm(struct rf_probe *probe)
{
	char list[200] = "";
	int err = read_line(LSM_LIST, list, sizeof(list));

	probe->name = "bpf-lsm";
	if (!err && is_listed(list, "bpf")) {
		found(probe, RF_PROBE_OK, "active security modules: %s", list);
		return;
	}
	if (err)
		found(probe, RF_PROBE_MISSING, "cannot read " LSM_LIST ": %s", strerror(-err));
	else
		found(probe, RF_PROBE_MISSING, "bpf is not among the active security modules: %s", list);
	if (err == -ENOENT)
		remedy(probe, "mount -t securityfs securityfs /sys/kernel/security");
	else if (has_grubby())
		snprintf(probe->remedy, sizeof(probe->remedy),
			 "grubby --update-kernel=ALL --args=\"lsm=%s,bpf\" && reboot", list);
	else
		snprintf(probe->remedy, sizeof(probe->remedy),
			 "sed -i 's/^GRUB_CMDLINE_LINUX=\"/&lsm=%s,bpf /' /etc/default/grub && update-grub && reboot",
			 list);
}

static void probe_mount(struct rf_probe *probe, const char *name, const char *path, long magic, const char *mend)
{
	struct statfs st;

	probe->name = name;
	if (!statfs(path, &st) && st.f_type == magic) {
		found(probe, RF_PROBE_OK, "%s", path);
		return;
	}
	found(probe, RF_PROBE_MISSING, "not mounted at %s", path);
	remedy(probe, mend);
}

static void probe_cgroup(struct rf_probe *probe)
{
	probe_mount(probe, "cgroup2", "/sys/fs/cgroup", CGROUP2_SUPER_MAGIC,
		    has_grubby() ? "grubby --update-kernel=ALL --args=systemd.unified_cgroup_hierarchy=1 && reboot"
				 : "sed -i 's/^GRUB_CMDLINE_LINUX=\"/&systemd.unified_cgroup_hierarchy=1 /' "
				   "/etc/default/grub && update-grub && reboot");
}

static void probe_bpffs(struct rf_probe *probe)
{
	probe_mount(probe, "bpffs", "/sys/fs/bpf", BPF_FS_MAGIC, "mount -t bpf bpf /sys/fs/bpf");
}

/* The last lines that the kernel or libbpf had to say, for a refusal that nothing above explains. */
static char last_words[200];

static int keep_last_words(enum libbpf_print_level level, const char *format, va_list args)
{
	char line[200];

	vsnprintf(line, sizeof(line), format, args);
	if (level == LIBBPF_WARN && !strstr(line, "failed to load")) {
		line[strcspn(line, "\n")] = '\0';
		snprintf(last_words, sizeof(last_words), "%s", line);
	}
	return 0;
}

static void probe_attach(struct rf_probe *probe)
{
	struct ringfence_bpf *skel;
	int err;

	probe->name = "attach";
	if (!access(RF_PIN_DIR "/map_shared", F_OK)) {
		found(probe, RF_PROBE_OK, "an enforcer's programs are attached (" RF_PIN_DIR ")");
		return;
	}
	libbpf_set_print(keep_last_words);
	skel = rf_skeleton_open();
	err = skel ? ringfence_bpf__load(skel) : -EOPNOTSUPP;
	if (err) {
		found(probe, RF_PROBE_MISSING, "the kernel refuses the programs: %s",
		      last_words[0] ? last_words : strerror(-err));
	} else {
		err = ringfence_bpf__attach(skel);
		found(probe, err ? RF_PROBE_MISSING : RF_PROBE_OK,
		      err ? "the programs load but do not attach: %s" : "%s",
		      err ? strerror(-err) : "every program loads and attaches");
	}
	if (err)
		remedy(probe, geteuid() ? "sudo ringfence doctor" : "mend what is missing above, then run this again");
	ringfence_bpf__destroy(skel);
	libbpf_set_print(NULL);
}

/* Does anything say that this overlay's own credentials can be told from a task's? Its type lies in the module's BTF. */
static void probe_overlay(struct rf_probe *probe)
{
	bool known = !access("/sys/kernel/btf/overlay", F_OK) || access("/sys/module/overlay", F_OK);

	probe->name = "overlay";
	found(probe, known ? RF_PROBE_OK : RF_PROBE_WARNING, "%s",
	      access("/sys/module/overlay", F_OK) ? "overlay filesystem not in use"
	      : known				  ? "overlay filesystem with type information"
						  : "no type information: files on overlay mounts will be denied");
}

size_t rf_probe_host(struct rf_probe *probes, size_t max)
{
	void (*const all[])(struct rf_probe *) = {probe_root,  probe_kernel,  probe_lsm,   probe_cgroup,
						  probe_bpffs, probe_overlay, probe_attach};
	size_t n = sizeof(all) / sizeof(all[0]);

	if (n > max)
		n = max;
	for (size_t i = 0; i < n; i++) {
		probes[i] = (struct rf_probe){0};
		all[i](&probes[i]);
	}
	return n;
}
