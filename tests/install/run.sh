#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# `make install` into an empty directory: what is there, what is not, and the installed program at work.
set -euo pipefail
cd "$(dirname "$0")/../.."
build=$(realpath "${BUILD:-build}")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
passed=0 failed=0

expect() { # NAME COMMAND...
	local name=$1 out
	shift
	if out=$("$@" 2>&1); then
		passed=$((passed + 1))
		echo "ok      $name"
	else
		failed=$((failed + 1))
		echo "FAILED  $name: $out"
	fi
}
refuse() { # NAME COMMAND...
	local name=$1
	shift
	expect "$name" bash -c '! "$@"' refuse "$@"
}

expect "install into DESTDIR" deploy/install.sh "$work/a" /usr "$build"
root=$work/a/usr
for program in bin/ringfence sbin/ringfenced sbin/ringfence-ship; do
	expect "$program runs" "$root/$program" --version
done
for file in share/man/man1/ringfence.1 share/man/man8/ringfenced.8 share/man/man8/ringfence-ship.8 \
	lib/systemd/system/ringfenced.service lib/systemd/system/ringfence-ship.service \
	lib/sysusers.d/ringfence.conf lib/tmpfiles.d/ringfence.conf share/doc/ringfence/LICENSES/Apache-2.0.txt; do
	expect "$file" test -s "$root/$file"
done
expect "every policy" diff <(cd policies && printf '%s\n' *.json | grep -v '\.tests\.json$') <(ls "$root/share/ringfence/policies")
for policy in "$root"/share/ringfence/policies/*.json; do
	name=$(basename "$policy" .json)
	expect "policy check $name, from where it was installed" \
		"$root/bin/ringfence" policy check --policies "$root/share/ringfence/policies" "$name"
done
echo '{' >"$work/broken.json"
refuse "policy check of a broken policy" "$root/bin/ringfence" policy check "$work/broken.json"
expect "nothing beside PREFIX" diff <(echo usr) <(ls -A "$work/a")

expect "install with another PREFIX" deploy/install.sh "$work/b" /opt/rf "$build"
expect "its unit names its program" grep -qx 'ExecStart=/opt/rf/sbin/ringfenced --foreground' \
	"$work/b/opt/rf/lib/systemd/system/ringfenced.service"
refuse "and no other" grep -rq '=/usr/sbin/' "$work/b/opt/rf/lib/systemd/system"
refuse "install of a build that is not there" deploy/install.sh "$work/c" /usr "$work/none"

echo "$passed passed, $failed failed"
((failed == 0 && passed > 0))
