// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * What an object is called: its superblock and its path inside, found by walking d_parent, continued by the mount
 * point at which the run's view has that superblock (the anchor). Mounts and roots that an agent makes change none of
 * it. The answer is an automaton state; what can't be answered is a reason, never a guess.
 *
 *   inode_rmdir (file.bpf.c)  a removed directory makes its own stale
 *   sb_free_security          a superblock that goes takes its anchors along
 *
 * The walk runs under RCU, so dentries and names it meets stay allocated; rename_lock, sampled before and after, says
 * whether they stayed in place. A directory's cached state is valid while nothing was renamed since (rf_dir_moment) and
 * it was not removed itself (rf_dirgen): it is only cached for hashed dentries, which rmdir unhashes.
 */
#include "path.bpf.h"

extern const void rename_lock __ksym;

/* Attempts before a walk that renames disturb is given up: each rename of the host ends one. */
#define RF_WALK_TRIES 32
/* Looks at a rename_lock that is held: by a CPU that spins for nothing else, but may be a virtual one that waits. */
#define RF_RENAME_TRIES (1 << 16)

enum { WALK_UP = 0, WALK_ANCHOR, WALK_CACHED, WALK_ROOT, WALK_BOUND, WALK_FOLDS, WALK_NAMELESS };

struct walk {
	struct rf_scratch *s;
	__u64 leaf;
};

__u32 rf_rename_seq(void)
{
	__u32 seq = 1;

	bpf_probe_read_kernel(&seq, sizeof(seq), &rename_lock);
	return seq;
}

/* The anchor at an inode, if it is one and still the same inode. */
static __always_inline struct rf_anchor *anchor_at(__u64 inode, __u32 view)
{
	struct rf_anchor_key key = {.inode = inode, .view = view};
	struct inode *i = (struct inode *)inode;
	struct rf_anchor *anchor;

	if (!rf_anchor_hints[rf_hash(inode) & (RF_ANCHOR_HINTS - 1)])
		return NULL;
	anchor = bpf_map_lookup_elem(&rf_anchors, &key);
	if (!anchor || anchor->ino != BPF_CORE_READ(i, i_ino) || anchor->generation != BPF_CORE_READ(i, i_generation) ||
	    anchor->sb != (__u64)BPF_CORE_READ(i, i_sb))
		return NULL;
	return anchor;
}

__u32 rf_step_bytes(__u32 image, __u32 state, __u64 address, __u32 len, bool slash)
{
	__u32 classes = rf_image(image)->automaton[RF_AUTOMATON_PATH].classes;
	char bytes[RF_STEP_BYTES];

	if (bpf_probe_read_kernel(bytes, sizeof(bytes), (const void *)address))
		return 0;
	if (slash)
		state = rf_step(rf_cells, RF_CELLS_MASK, image, classes, state, '/');
	for (__u32 i = 0; i < RF_STEP_BYTES; i++) {
		if (i >= len)
			break;
		state = rf_step(rf_cells, RF_CELLS_MASK, image, classes, state, bytes[i]);
	}
	return state;
}

/* The same for names of up to 255 bytes. */
__u32 rf_step_name(__u32 image, __u32 state, __u64 address, __u32 len, bool slash)
{
	/* FUSE has longer ones. */
	if (len > RF_NAME_MAX)
		return 0;
	for (__u32 at = 0; at <= RF_NAME_MAX; at += RF_STEP_BYTES) {
		if (at >= len && at)
			break;
		state = rf_step_bytes(image, state, address + at, len - at, slash && !at);
		if (!state)
			break;
	}
	return state;
}

static __always_inline bool unhashed(struct dentry *d)
{
	return !BPF_CORE_READ(d, d_hash.pprev);
}

/*
 * Does one file below this directory answer to several spellings? d_name is what was typed first, so no rule about
 * spellings can be applied. Some filesystems say it of each directory; of others that compare names in a way of their
 * own it is assumed, those known to be exact left out.
 */
static __always_inline bool folds(struct dentry *d)
{
	struct inode *inode = BPF_CORE_READ(d, d_inode);

	if (BPF_CORE_READ(inode, i_flags) & RF_S_CASEFOLD)
		return true;
	if (!BPF_CORE_READ(d, d_op, d_compare))
		return false;
	switch (BPF_CORE_READ(d, d_sb, s_magic)) {
	case 0xef53: /* ext4 */
	case 0xf2f52010: /* f2fs */
	case 0x01021994: /* tmpfs */
	case 0x794c7630: /* overlayfs */
	case 0x9fa0: /* proc: compares who may see a sysctl */
		return false;
	default:
		return true;
	}
}

static __always_inline void cache(struct rf_scratch *s, struct dentry *d)
{
	__u64 inode = (__u64)BPF_CORE_READ(d, d_inode);
	struct inode *i = (struct inode *)inode;

	/* After the state was found: it holds for this moment only if nothing moved until now. */
	if (!s->passing && s->renames == rf_rename_seq() && (!unhashed(d) || d == BPF_CORE_READ(d, d_parent)))
		rf_dir_remember(s->image_id, inode, BPF_CORE_READ(i, i_ino), BPF_CORE_READ(i, i_generation), s->gen,
				s->state);
}

/* One level up from s->cursor. */
static long climb(__u32 i, struct walk *w)
{
	struct rf_scratch *s = w->s;
	struct dentry *d = (struct dentry *)s->cursor, *parent = BPF_CORE_READ(d, d_parent);
	__u64 inode = (__u64)BPF_CORE_READ(d, d_inode);
	struct inode *in = (struct inode *)inode;
	struct rf_anchor *anchor = inode ? anchor_at(inode, s->view) : NULL;
	__u32 state;

	if (anchor && anchor->len > RF_ANCHOR_PATH_MAX) {
		s->stop = WALK_NAMELESS;
		return 1;
	}
	if (anchor) {
		s->mount = (__u64)anchor->path;
		s->mount_len = anchor->len;
		s->stop = WALK_ANCHOR;
		return 1;
	}
	if (inode) {
		state = rf_dir_state(s->image_id, inode, BPF_CORE_READ(in, i_ino), BPF_CORE_READ(in, i_generation),
				     s->gen);
		if (state) {
			s->state = state;
			s->stop = WALK_CACHED;
			return 1;
		}
	}
	if (parent == d) {
		s->stop = WALK_ROOT;
		return 1;
	}
	if (s->depth >= RF_DEPTH_MAX) {
		s->stop = WALK_BOUND;
		return 1;
	}
	s->chain[s->depth & (RF_DEPTH_MAX - 1)] = (__u64)d;
	s->depth++;
	s->cursor = (__u64)parent;
	return 0;
}

/* Is everything below the directory whose state is known decided alike? */
static __always_inline bool is_whole(struct rf_scratch *s)
{
	__u32 classes = rf_image(s->image)->automaton[RF_AUTOMATON_PATH].classes;

	return rf_state_fixed(rf_cells, RF_CELLS_MASK, s->image,
			      rf_step(rf_cells, RF_CELLS_MASK, s->image, classes, s->state, '/'));
}

/* One level down: the last of the chain that is left. */
static long descend(__u32 i, struct walk *w)
{
	struct rf_scratch *s = w->s;
	struct dentry *d;

	if (!s->depth)
		return 1;
	/* s->cursor is the directory whose state is known. */
	d = (struct dentry *)s->cursor;
	if (!folds(d)) {
		cache(s, d);
	} else if (!is_whole(s)) {
		s->stop = WALK_FOLDS;
		return 1;
	}
	s->depth--;
	d = (struct dentry *)s->chain[s->depth & (RF_DEPTH_MAX - 1)];
	s->state = rf_step_name(s->image, s->state, (__u64)BPF_CORE_READ(d, d_name.name), BPF_CORE_READ(d, d_name.len),
				true);
	s->cursor = (__u64)d;
	return !s->state;
}

/* Why a walk that met a root without an anchor ends there. */
static __always_inline __u32 unanchored(__u64 root)
{
	struct dentry *d = (struct dentry *)root;
	struct super_block *sb = BPF_CORE_READ(d, d_sb);

	return BPF_CORE_READ(sb, s_root) == d || BPF_CORE_READ(sb, s_flags) & RF_SB_NOUSER ? RF_REASON_UNKNOWN_FS
											   : RF_REASON_DISCONNECTED;
}

static long await_rename(__u32 i, struct rf_scratch **s)
{
	(*s)->renames = rf_rename_seq();
	return !((*s)->renames & 1);
}

/* From the anchor that the walk ended at, down. */
static __always_inline void start_at_anchor(struct rf_scratch *s)
{
	struct dentry *d = (struct dentry *)s->cursor;
	struct rf_anchor *anchor;

	s->state = rf_step_name(s->image, rf_image(s->image)->automaton[RF_AUTOMATON_PATH].start, s->mount,
				s->mount_len, false);
	/* A refresh of the view may have given its memory to another anchor meanwhile. */
	anchor = anchor_at((__u64)BPF_CORE_READ(d, d_inode), s->view);
	if (!anchor || (__u64)anchor->path != s->mount || anchor->len != s->mount_len)
		s->stop = WALK_UP;
}

static long attempt(__u32 i, struct walk *w)
{
	struct dentry *leaf = (struct dentry *)w->leaf;
	struct rf_scratch *s = w->s;

	bpf_loop(RF_RENAME_TRIES, await_rename, &s, 0);
	if (s->renames & 1)
		return 1;
	s->gen = rf_dir_moment(s->renames);
	/* An open file without a name may lie in a directory that rmdir is about to take: cache nothing. */
	s->passing = unhashed(leaf) && BPF_CORE_READ(leaf, d_inode);
	s->cursor = (__u64)leaf;
	s->depth = 0;
	s->stop = WALK_UP;
	bpf_loop(RF_DEPTH_MAX + 1, climb, w, 0);
	if (s->stop == WALK_ANCHOR)
		start_at_anchor(s);
	if (s->stop == WALK_ANCHOR || s->stop == WALK_CACHED)
		bpf_loop(RF_DEPTH_MAX + 1, descend, w, 0);
	if (s->renames != rf_rename_seq() || s->stop == WALK_UP) {
		s->reason = RF_REASON_MOVED;
		return 0;
	}
	if (s->stop == WALK_ROOT)
		s->reason = unanchored(s->cursor);
	else if (s->stop == WALK_ANCHOR || s->stop == WALK_CACHED)
		s->reason = s->state ? 0 : RF_REASON_UNREADABLE;
	else if (s->stop == WALK_NAMELESS)
		s->reason = RF_REASON_UNKNOWN_FS;
	else
		s->reason = s->stop == WALK_FOLDS ? RF_REASON_CASE_FOLDING : RF_REASON_TOO_DEEP;
	return 1;
}

__u64 rf_walk(__u32 image, __u64 dentry)
{
	struct walk w = {.s = rf_scratch(), .leaf = dentry};

	if (!w.s)
		return (__u64)RF_REASON_NO_MEMORY << 32;
	w.s->image = image;
	w.s->image_id = rf_image(image)->id;
	w.s->reason = RF_REASON_MOVED;
	w.s->view = rf_image(image)->view;
	bpf_loop(RF_WALK_TRIES, attempt, &w, 0);
	return w.s->reason ? (__u64)w.s->reason << 32 : w.s->state;
}

struct write {
	struct rf_scratch *s;
	__u32 end;
	__u32 clipped;
};

/* Appends '/' and a name at s->offset; the names in the way are s->chain. */
static long write_name(__u32 i, struct write *w)
{
	struct rf_scratch *s = w->s;
	struct dentry *d;
	__u32 len, at;

	if (!s->depth)
		return 1;
	if (s->offset >= w->end) {
		s->event.head.flags |= w->clipped;
		return 1;
	}
	s->depth--;
	d = (struct dentry *)s->chain[s->depth & (RF_DEPTH_MAX - 1)];
	at = s->offset;
	if (at >= RF_EVENT_DATA_MAX)
		return 1;
	s->data[at] = '/';
	len = BPF_CORE_READ(d, d_name.len);
	if (len > RF_NAME_MAX)
		len = RF_NAME_MAX;
	bpf_probe_read_kernel(&s->data[at + 1], len, BPF_CORE_READ(d, d_name.name));
	s->offset = at + 1 + len;
	return 0;
}

/* The mount point's path that the walk ended at. */
static __always_inline void write_mount(struct rf_scratch *s, __u32 start)
{
	__u32 len = s->mount_len;

	if (len > RF_ANCHOR_PATH_MAX || start > RF_EVENT_DATA_MAX)
		return;
	bpf_probe_read_kernel(&s->data[start], len, (const void *)s->mount);
	s->offset = start + len;
}

/*
 * Writes the path of a dentry into s->data from start on, at most max bytes; its end is s->offset. For events only:
 * a rename in between may show a name of a moment ago, the verdict does not rest on it.
 */
int rf_write_path(__u64 dentry, __u32 start, __u32 max, __u32 clipped)
{
	struct rf_scratch *s = rf_scratch();
	struct walk up = {.s = s};
	struct write w = {.s = s, .end = start + max, .clipped = clipped};
	struct dentry *top;

	if (!s)
		return 0;

	/* No image: an id that no cache entry has, so the walk goes all the way to the anchor. */
	s->image_id = 0;
	s->image = 0;
	s->cursor = dentry;
	s->depth = 0;
	s->stop = WALK_UP;
	s->offset = start;
	bpf_loop(RF_DEPTH_MAX + 1, climb, &up, 0);
	if (s->stop == WALK_ANCHOR)
		write_mount(s, start);
	else
		s->event.head.flags |= RF_EVENT_UNANCHORED;
	top = (struct dentry *)s->cursor;
	if (s->stop == WALK_ROOT && !s->depth && (BPF_CORE_READ(top, d_sb, s_flags) & RF_SB_NOUSER)) {
		/* pipe:[1], memfd:x: a root has a name of its own only where there is no mount */
		s->chain[0] = s->cursor;
		s->depth = 1;
	}
	bpf_loop(RF_DEPTH_MAX + 1, write_name, &w, 0);
	if (s->offset == start && start < RF_EVENT_DATA_MAX) {
		s->data[start] = '/';
		s->offset = start + 1;
	}
	if (s->offset > w.end) {
		s->offset = w.end;
		s->event.head.flags |= clipped;
	}
	return 0;
}

struct dead_sb {
	__u64 sb;
};

static long drop_anchor(struct bpf_map *map, struct rf_anchor_key *key, struct rf_anchor *anchor, struct dead_sb *dead)
{
	if (anchor->sb == dead->sb)
		bpf_map_delete_elem(&rf_anchors, key);
	return 0;
}

static long drop_overlay(struct bpf_map *map, __u64 *cred, __u64 *sb, struct dead_sb *dead)
{
	if (*sb == dead->sb)
		bpf_map_delete_elem(&rf_overlays, cred);
	return 0;
}

SEC("lsm/sb_free_security")
int BPF_PROG(rf_sb_free, struct super_block *sb)
{
	struct dead_sb dead = {.sb = (__u64)sb};

	bpf_for_each_map_elem(&rf_anchors, drop_anchor, &dead, 0);
	bpf_for_each_map_elem(&rf_overlays, drop_overlay, &dead, 0);
	__sync_fetch_and_add(&rf_dirgen_all, 1);
	return 0;
}
