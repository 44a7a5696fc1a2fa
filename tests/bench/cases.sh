# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash disable=SC2034 # read by the parts
# For the parts of the benchmark that run in a guest as PART.sh BUILD KERNEL: source it. The same ten rules for Ringfence
# and for its peers, and a wrapper for each case.
RF_BUILD=$1 kernel=$2
# shellcheck source=tests/vm/lib.sh
source "$(dirname "${BASH_SOURCE[0]}")/../vm/lib.sh"
export PATH=$build/tests/bench/programs:$PATH:/usr/sbin
read_execute=(/usr "$build" /etc /sys /proc)
everything=(/dev /tmp /c)
read_only=(/root /b)

# /b and /c: where the files are, which may be read and written
mkdir -p /b /c /bench /var/log/ringfence
mount -t tmpfs b /b
mount -t tmpfs c /c

# policy COUNT: the ten rules, with others between them up to COUNT
policy() {
	local i
	printf '{"ringfence": 1, "name": "rules-%d", "files": [\n' "$1"
	printf '{"allow": ["read", "execute"], "paths": ["%s/**"]},\n' "${read_execute[@]}"
	printf '{"allow": ["*"], "paths": ["%s/**"]},\n' "${everything[@]}"
	for ((i = 10; i < $1; i++)); do
		printf '{"allow": ["read"], "paths": ["/srv/build/team-%03d/project-%04d/**"]},\n' $((i % 100)) "$i"
	done
	printf '{"allow": ["read"], "paths": ["/root/**"]},\n{"allow": ["read"], "paths": ["/b/**"]}\n]}\n'
}

# What Ringfence does not ask about is allowed here too; AppArmor's word on it would be another rule.
apparmor_profile() {
	printf 'profile bench {\n  capability,\n  network,\n  signal,\n  ptrace,\n'
	printf '  %s/{,**} mrix,\n' "${read_execute[@]}"
	printf '  %s/{,**} mrwlkix,\n' "${everything[@]}"
	printf '  %s/{,**} r,\n' "${read_only[@]}"
	echo '}'
}

floor() { command floor "$build/bench/floor.bpf.o" "$@"; }
landlock() { command landlock "${read_execute[@]}" "${read_only[@]}" -w "${everything[@]}" -- "$@"; }
apparmor() { aa-exec -p bench -- "$@"; }
# tagged RULES COMMAND...
tagged() { ringfence run -q -p "rules-$1" -w /b --policies /bench -- "${@:2}"; }

load_apparmor() {
	apparmor_profile >/bench/apparmor
	apparmor_parser -K -r /bench/apparmor
}

# A name says what was measured only if nothing was refused meanwhile.
nothing_refused() {
	if dmesg | grep 'apparmor="DENIED"' || grep '"verdict":"deny"' /var/log/ringfence/events.jsonl; then
		echo "$0: something was refused" >&2
		exit 1
	fi
}

# start_with RULES...: the daemon, with a policy of each size
start_with() {
	local rules
	for rules; do policy "$rules" >"/bench/rules-$rules.json"; done
	start_daemon --policies /bench
}

# A run elsewhere, while untagged tasks are measured; it ends with us.
start_other_run() {
	mkfifo /bench/end
	tagged 10 cat </bench/end &
	exec 3>/bench/end
	until [[ $(ringfence ps | wc -l) -ge 2 ]]; do sleep 1; done
}
