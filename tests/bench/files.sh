#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# In a guest whose clock counts instructions: files.sh BUILD KERNEL. What open+close costs, as lines of JSON in $RF_OUT.
set -euo pipefail
build=$1 kernel=$2
export PATH=$build:$build/tests/bench/programs:$PATH
depths=(1 8 32)
files=()
plain=()

# A tree on a tmpfs at /b: a file at each depth, counted in names below the mount point.
make_files() {
	local depth path i
	mkdir -p /b /c /bench
	mount -t tmpfs b /b
	mount -t tmpfs c /c
	for depth in "${depths[@]}"; do
		path=/b
		for ((i = 1; i < depth; i++)); do path+=/level-$i; done
		mkdir -p "$path"
		echo data >"$path/file.txt"
		files+=("$path/file.txt")
	done
}

# policy COUNT: that many rules, of which ten stand for what landlock_rules has.
policy() {
	local i
	printf '{"ringfence": 1, "name": "rules-%d", "files": [\n' "$1"
	printf '{"allow": ["read", "execute"], "paths": ["%s/**"]},\n' /usr "$build" /etc /opt /srv /var/lib
	printf '{"allow": ["*"], "paths": ["%s"]},\n' '/dev/**' '/c/**'
	for ((i = 10; i < $1; i++)); do
		printf '{"allow": ["read"], "paths": ["/srv/build/team-%03d/project-%04d/**"]},\n' $((i % 100)) "$i"
	done
	printf '{"allow": ["read"], "paths": ["/root/**"]},\n{"allow": ["read"], "paths": ["/b/**"]}\n]}\n'
}
landlock_rules=(/usr "$build" /etc /opt /srv /var/lib /dev /c /root /b)

# measure CASE RULES COMMAND...: COMMAND is followed by openclose's arguments
measure() {
	local name=$1 rules=$2 i got
	shift 2
	got=$("$@" "${files[@]}")
	mapfile -t got <<<"$got"
	((${#got[@]} == ${#files[@]})) || { echo "files.sh: $name gave ${got[*]}" >&2; exit 1; }
	[[ $name != plain ]] || plain=("${got[@]}")
	for i in "${!files[@]}"; do
		printf '{"kernel":"%s","case":"%s","rules":%d,"depth":%d,"instructions":%d,"added":%d}\n' \
			"$kernel" "$name" "$rules" "${depths[i]}" "${got[i]}" $((got[i] - plain[i])) |
			tee -a "$RF_OUT/files.json"
	done
}

make_files
: >"$RF_OUT/files.json"
measure plain 0 openclose
measure landlock 10 landlock "${landlock_rules[@]}" -- openclose

measure floor 0 floor "$build/bench/floor.bpf.o" openclose

for rules in 10 1000 10000; do policy $rules >/bench/rules-$rules.json; done
mkdir -p /var/log/ringfence
ringfenced --policies /bench &>/run/ringfenced.out &
daemon=$!
until ringfence status &>/dev/null; do
	kill -0 $daemon 2>/dev/null || { cat /run/ringfenced.out; exit 1; }
	sleep 1
done
run() { ringfence run -q -p "rules-$1" -w /b --policies /bench -- "${@:2}"; }

mkfifo /bench/end
run 10 cat </bench/end &
exec 3>/bench/end
until [[ $(ringfence ps | wc -l) -ge 2 ]]; do sleep 1; done
measure untagged 10 openclose
for rules in 10 1000 10000; do measure tagged $rules run $rules openclose; done
measure missed 10 run 10 openclose --miss /c
exec 3>&-
kill $daemon
