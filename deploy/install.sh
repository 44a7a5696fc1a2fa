#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# install.sh DESTDIR PREFIX BUILD: what `make install` does. Nothing outside DESTDIR is touched and nothing is started.
set -euo pipefail
destdir=${1-} prefix=${2:?usage: install.sh DESTDIR PREFIX BUILD} build=${3:?usage: install.sh DESTDIR PREFIX BUILD}
cd "$(dirname "$0")/.."
root=$destdir$prefix

put() { # MODE DIRECTORY FILE...
	local mode=$1 dir=$2
	shift 2
	install -d -m 755 "$dir"
	install -m "$mode" -t "$dir" "$@"
}

put 755 "$root/bin" "$build/ringfence"
put 755 "$root/sbin" "$build/ringfenced" "$build/ringfence-ship"

# A policy without its table of expected verdicts: that one is for tests.
for policy in policies/*.json; do
	[[ $policy == *.tests.json ]] || put 644 "$root/share/ringfence/policies" "$policy"
done

put 644 "$root/share/man/man1" docs/man/*.1
put 644 "$root/share/man/man8" docs/man/*.8
put 644 "$root/share/doc/ringfence" docs/*.md LICENSE
put 644 "$root/share/doc/ringfence/LICENSES" LICENSES/*

# The units name programs in /usr/sbin.
units=$root/lib/systemd/system
put 644 "$units" deploy/*.service
[[ $prefix == /usr ]] || sed -i "s|=/usr/sbin/|=$prefix/sbin/|" "$units"/ringfence*.service
install -d -m 755 "$root/lib/sysusers.d" "$root/lib/tmpfiles.d"
install -m 644 deploy/ringfence.sysusers "$root/lib/sysusers.d/ringfence.conf"
install -m 644 deploy/ringfence.tmpfiles "$root/lib/tmpfiles.d/ringfence.conf"

[[ $destdir ]] || echo "installed below $prefix; now: systemd-sysusers && systemd-tmpfiles --create && systemctl enable --now ringfenced"
