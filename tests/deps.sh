#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Installs the Debian packages of tests/packages that are missing: "build" only what a build needs, or "all".
set -euo pipefail
cd "$(dirname "$0")"

wanted=$(awk -v all="$1" '!/^#/ && NF && (all == "all" || $2 == "build") {print $1}' packages)
# Somebody else's package may bring the command (nodesource's nodejs has npm) and not suffer Debian's beside it.
commands=$(awk '$2 == "command" {print $1}' packages)
missing=()
for package in $wanted; do
	[[ $'\n'$commands$'\n' != *$'\n'$package$'\n'* ]] || ! command -v "$package" >/dev/null || continue
	[[ $(dpkg-query -W -f '${db:Status-Abbrev}' "$package" 2>/dev/null) == ii* ]] || missing+=("$package")
done
((${#missing[@]})) || exit 0

if ((EUID)); then
	echo "These packages are missing: ${missing[*]}" >&2
	echo "Install them with: sudo apt-get install --no-install-recommends ${missing[*]}" >&2
	exit 1
fi
echo "installing ${#missing[@]} Debian packages: ${missing[*]}"
export DEBIAN_FRONTEND=noninteractive
log=$(mktemp)
install() { apt-get install -y -q --no-install-recommends "${missing[@]}" >"$log" 2>&1; }
if ! install; then
	# Lists can be missing or old on a fresh machine.
	apt-get update -q >"$log" 2>&1 || true
	install || { tail -n 20 "$log" >&2; echo "apt-get could not install: ${missing[*]}" >&2; exit 1; }
fi
rm -f "$log"
