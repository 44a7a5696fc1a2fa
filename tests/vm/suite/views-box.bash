# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash disable=SC2034,SC2154 # sourced by views.test
# The second half of views.test: runs whose processes live in a mount namespace of their own.

inside=/mnt/rf/box
mkdir -p "$base"/{allowed,denied}/vol "$box"/{usr,etc,proc,dev,tmp,sys,old,root,$inside/{allowed,denied,single,late}}
echo content | tee "$base/allowed/vol/f" "$base/denied/vol/f" "$box/etc/shadow" "$box/etc/hostname" >"$box/root/f"
mkdir -p "$box$inside"/{late/{allowed,own},allowed/vol}
touch "$box$inside/single/allowed"
for d in bin sbin lib lib64; do ln -sfn "usr/$d" "$box/$d"; done
mkdir -p "$cgroups/views-box"

# In a cgroup: a new root with volumes, named otherwise than on the host, and then a probe.
talk box bash -c "echo 0 >$cgroups/views-box/cgroup.procs; exec unshare -m --propagation private bash -c '
	mount --bind $box $box && cd $box &&
	mount --rbind /usr usr && mount --rbind /dev dev && mount -t proc proc proc &&
	mount --bind $base/denied/vol .$inside/allowed && mount --bind $base/allowed/vol .$inside/denied &&
	mount --bind $base/secret/k .$inside/single/allowed &&
	pivot_root . old && umount -l /old && cd / && exec $probe'"
ask box pid; first=$said
[[ $first =~ ^[0-9]+$ ]] || fail "the container did not start: $said"
no "a workspace that the container does not have" ringfence tag --policy views --workspace "$base" views-box
task=$test-$$-box wanted=() who=box
run=$(ringfence tag --policy views --workspace /root --task "$task" views-box) || fail "tag: $run"

# box_verdicts WHEN: names are the container's, whatever the host calls the same files.
box_verdicts() {
	allow "$1: denied on the host, allowed here" read "$inside/allowed/f"
	deny "$1: allowed on the host, denied here" "$(event "$inside/denied/f" shut)" read "$inside/denied/f"
	deny "$1: /etc/shadow" "$(event /etc/shadow system-secrets)" read /etc/shadow
	allow "$1: /etc/hostname" read /etc/hostname
	deny "$1: /root/f" "$(event /root/f none no-rule)" read /root/f
	allow "$1: a single file" read "$inside/single/allowed"
	deny "$1: a file of the host's root" "$(event /etc/hostname none unknown-filesystem)" read "/proc/1/root/etc/hostname"
}
box_verdicts "container"
# The host's view beside it.
who=in box_task=$task box_wanted=("${wanted[@]}")
open_run --policy views
allow "the host's name of a volume" read "$base/allowed/vol/f"
deny "the host's name of a volume, denied" "$(event "$base/denied/vol/f" shut)" read "$base/denied/vol/f"
close_run
who=box task=$box_task wanted=("${box_wanted[@]}")

# Later mounts: the host's give names, the container's own do not, and change none.
enter() { nsenter -t "$first" -m -- /usr/bin/bash -c "$1"; }
shell_denied "a mount of the run" "$(event /x none unknown-filesystem create inode_mkdir)" \
	"mount -t tmpfs tmpfs $inside/late/own && mkdir $inside/late/own/x || exit 13"
gives "a bind mount of the run" ok sh "mount --bind $inside/denied $inside/allowed"
deny "... changes no name" "$(event "$inside/denied/f" shut)" read "$inside/allowed/f"
gives "... and is taken away" ok sh "umount $inside/allowed"
sleep 1
enter "mount -t tmpfs tmpfs $inside/late/allowed && echo content >$inside/late/allowed/f"
soon "a mount of the host in there" "$(event /f none unknown-filesystem)" read "$inside/late/allowed/f"
shell_denied "the run's own is still unknown" "$(event /y none unknown-filesystem create inode_mkdir)" "mkdir $inside/late/own/y || exit 13"
gives "the run takes it away" ok sh "umount $inside/late/own"
box_verdicts "after mounts"

# Another enforcer goes on with the same names.
kill -KILL "$(pgrep -x ringfenced)"; while pgrep -x ringfenced >/dev/null; do sleep 0.05; done
box_verdicts "without an enforcer"
(drop_pipes; start_daemon --policies "$suite") || fail "the daemon does not start again"
box_verdicts "adopted"
enter "umount $inside/late/allowed"; sleep 1
enter "mount -t tmpfs tmpfs $inside/late/allowed && echo content >$inside/late/allowed/f"
soon "a mount of the host, adopted" "$(event /f none unknown-filesystem)" read "$inside/late/allowed/f"
books_close box
ok "untag" ringfence untag "$run"
is "no name of the container is left" "$(ringfence status --json | jq .views)" 0
events_match "$task"
hush box
rmdir "$cgroups/views-box"

# Around `ringfence run`: what was mounted before it has names; inside: what the run mounts has none.
own=$base/allowed/own
task=$test-$$-around wanted=() who=around
talk around unshare -m --propagation private bash -c "
	mount --bind $base/allowed/vol $base/denied && mount -t tmpfs tmpfs $own && echo content >$own/f &&
	exec ringfence run -q --policy views --workspace /mnt/rf --task $task -- $probe"
allow "mounted before the run" read "$own/f"
deny "a directory mounted over a denied name" "$(event "$base/denied/f" shut)" read "$base/denied/f"
deny "... by the name it has anyway" "$(event "$base/denied/f" shut)" read "$base/allowed/vol/f"
shell_denied "a tmpfs over /etc" "$(event /passwd none unknown-filesystem create inode_create)" \
	"unshare -m bash -c 'mount -t tmpfs tmpfs /etc && $probe create /etc/passwd || exit 13'"
shell_denied "a bind mount, a chroot" "$(event "$base/secret/k" secret)" \
	"unshare -m bash -c 'mount --rbind / $own && chroot $own $probe read $base/secret/k || exit 13'"
gives "a bind mount, a chroot, allowed" ok sh "unshare -m bash -c 'mount --rbind / $base/allowed/b && chroot $base/allowed/b $probe read /etc/hostname'"
hush around; is "around: the run's exit status" $? 0
events_match "$task"

# The policy may allow what the run mounts, and names stay what they were.
who=in; open_run --policy views-mounts
gives "a tmpfs over /etc, allowed" ok sh "unshare -m bash -c 'mount -t tmpfs tmpfs /etc && $probe create /etc/passwd'"
gives "bwrap, allowed" ok sh "bwrap --dev-bind / / --bind $base/allowed $own -- $probe read $own/f"
shell_denied "bwrap" "$(event "$base/secret/k" secret)" "bwrap --dev-bind / / --bind $base/secret $own -- $probe read $own/k || exit 13"
gives "a detached tmpfs, allowed" ok sh "$views new-tmpfs"
gives "a detached clone, allowed" ok sh "$views clone-tree $base/allowed f"
shell_denied "a detached clone" "$(event "$base/secret/k" secret)" "$views clone-tree $base/secret k"
close_run
open_run --policy views
shell_denied "a detached tmpfs" "$(event /f none unknown-filesystem create inode_create)" "$views new-tmpfs"
close_run
