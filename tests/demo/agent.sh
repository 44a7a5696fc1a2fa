#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# The agent of the demo, inside the fence as root: its work as the user dev, then the hijack, as dev and as root.
# guest.sh waits for work.done, looks that nothing was denied, and says go.
here=$(dirname "$0") who=root
# shellcheck disable=SC1091 # checked by itself
. "$here/try.sh"
dev=(setpriv --reuid dev --regid dev --clear-groups)

"${dev[@]}" bash "$here/work.sh"
touch "$TMPDIR/work.done"
for _ in {1..500}; do
	[[ -e $TMPDIR/go ]] && break
	nap
done
"${dev[@]}" bash "$here/hijack.sh" dev
bash "$here/hijack.sh" root
