#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Fetch the kernels of kernels.list into the cache: vmlinuz, vmlinux, vmlinux.btf, lib/modules and version.
set -euo pipefail

usage="usage: fetch.sh [-a amd64|arm64] NAME...   (or -l: list the names)

Kernels go to \${XDG_CACHE_HOME:-~/.cache}/ringfence/kernels/NAME (NAME-arm64 for arm64). One that is there is left
alone and needs no network; remove its directory to get a newer one. apt runs with its own state and sources below
the cache and checks signatures with debian-archive-keyring; the machine's own apt is not touched."
here=$(cd "$(dirname "$0")" && pwd)
cache=${XDG_CACHE_HOME:-$HOME/.cache}/ringfence
keyring=/usr/share/keyrings/debian-archive-keyring.gpg
arch=amd64

die() { echo "fetch.sh: $*" >&2; exit 1; }
say() { echo "fetch.sh: $*" >&2; }
kernels() { grep -v '^#' "$here/kernels.list"; }

# apt_setup SUITES: a private apt for these suites and this architecture, its index at most an hour old
apt_setup() {
	local suites=$1 suite repo
	local dir=$cache/apt/$arch-${1//,/-}

	mkdir -p "$dir"/{etc/apt.conf.d,etc/preferences.d,state/lists/partial,cache/archives/partial}
	for suite in ${suites//,/ }; do
		repo=debian
		[[ $suite != *-security ]] || repo=debian-security
		echo "deb [arch=$arch signed-by=$keyring] http://deb.debian.org/$repo $suite main"
	done >"$dir/etc/sources.list"
	cat >"$dir/apt.conf" <<-END
		Dir::Etc "$dir/etc"; Dir::State "$dir/state"; Dir::State::status "/dev/null"; Dir::Cache "$dir/cache";
		APT::Architecture "$arch"; APT::Architectures { "$arch"; };
		APT::Sandbox::User "root"; Acquire::Languages "none"; Acquire::Retries "3";
		APT::Update::Error-Mode "any"; APT::Get::AllowUnauthenticated "false";
	END
	export APT_CONFIG=$dir/apt.conf
	if [[ ! $(find "$dir/updated" -mmin -60 2>/dev/null) ]]; then
		say "reading the package lists of $suites ($arch)"
		apt-get -qq update >&2 || die "cannot read the package lists of $suites"
		touch "$dir/updated"
	fi
}

# packages_of IMAGE: itself and, on newer kernels, the packages it was split into
packages_of() {
	local depends package

	echo "$1"
	depends=$(apt-cache show --no-all-versions "$1" | sed -n 's/^Depends: //p')
	while read -r package; do
		# 6.18 names a linux-base that the archive has dropped, and works without.
		! apt-cache show "$package" 2>/dev/null | grep -q . || echo "$package"
	done < <(grep -oE 'linux-(base|binary|modules)-[^ ,]+' <<<"$depends")
}

# unpack RELEASE DEB...: fills $tmp/new from the packages
unpack() {
	local release=$1 new=$tmp/new root=$tmp/root deb

	for deb in "${@:2}"; do
		dpkg-deb -x "$deb" "$root"
		rm "$deb"
	done
	mkdir -p "$new/lib/modules"
	mv "$root"/lib/modules/"$release" "$new/lib/modules/" 2>/dev/null ||
		mv "$root"/usr/lib/modules/"$release" "$new/lib/modules/"
	mv "$root/boot/vmlinuz-$release" "$new/vmlinuz" 2>/dev/null ||
		mv "$new/lib/modules/$release/vmlinuz" "$new/vmlinuz" || die "no vmlinuz in the packages of $release"
	depmod -b "$new" "$release"
	python3 "$here/../../vmlinux/extract.py" "$new/vmlinuz" "$new/vmlinux" "$new/vmlinux.btf"
	echo "$release" >"$new/version"
}

# fetch NAME: makes $cache/kernels/NAME whole or not at all
fetch() {
	local name=$1 dir=$cache/kernels/$1 suites pattern image packages

	[[ $arch = amd64 ]] || dir+=-$arch
	[[ ! -e $dir/version ]] || { say "$name is $(<"$dir/version"), in $dir"; return; }
	read -r suites pattern < <(kernels | awk -v name="$name" '$1 == name { print $2, $3 }') ||
		die "$name: not in kernels.list, which has $(kernels | awk '{ printf "%s ", $1 }')"

	apt_setup "$suites"
	image=$(apt-cache search --names-only "^${pattern/ARCH/$arch}\$" | cut -d ' ' -f 1 | sort -V | tail -n 1)
	[[ $image ]] || die "$name: no package like $pattern in $suites any more"
	mapfile -t packages < <(packages_of "$image")
	say "$name: downloading ${packages[*]}"
	tmp=$(mktemp -d "$cache/kernels/.$name.XXXXXX")
	(cd "$tmp" && apt-get -qq download "${packages[@]}" >&2) || die "$name: download failed"
	unpack "${image#linux-image-}" "$tmp"/*.deb
	apt-cache show --no-all-versions "$image" | sed -n 's/^Version: //p' >"$tmp/new/package-version"
	rm -rf "$dir"
	mv "$tmp/new" "$dir"
	rm -rf "$tmp"
	say "$name: $(<"$dir/version") is in $dir"
}

while getopts a:hl opt; do
	case $opt in
	a) arch=$OPTARG ;;
	l) kernels | awk '{ print $1 }'; exit ;;
	h) echo "$usage"; exit ;;
	*) echo "$usage" >&2; exit 2 ;;
	esac
done
shift $((OPTIND - 1))
(($#)) || { echo "$usage" >&2; exit 2; }

# One fetch at a time: the second caller finds the first one's work done.
tmp=
trap '[[ ! $tmp ]] || rm -rf "$tmp"' EXIT
mkdir -p "$cache/kernels"
exec {lock}>"$cache/lock"
flock "$lock"
for name; do
	fetch "$name"
done
