#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# In a guest: start.sh BUILD KERNEL. How long a fenced command takes to start, beside peers, as a line of JSON in
# $RF_OUT. Only the ratios mean anything: the emulator's milliseconds are nobody's.
set -euo pipefail
RF_BUILD=$1 kernel=$2 repeats=15
# shellcheck source=tests/vm/lib.sh
source "$(dirname "$0")/../vm/lib.sh"
export PATH=$build/tests/bench/programs:$PATH

mkdir -p /bench
cat >/bench/start.json <<'EOF'
{"ringfence": 1, "name": "start", "files": [{"allow": ["read", "execute"], "paths": ["/usr/**", "/etc/**"]}]}
EOF
start_daemon --policies /bench

# median COMMAND...: microseconds, of repeats, after two that fill the caches
median() {
	local i start times=()
	for ((i = -2; i < repeats; i++)); do
		start=${EPOCHREALTIME/./}
		"$@" || { echo "start.sh: $* failed" >&2; exit 1; }
		((i < 0)) || times+=($((${EPOCHREALTIME/./} - start)))
	done
	printf '%d\n' "${times[@]}" | sort -n | sed -n $((repeats / 2 + 1))p
}

plain=$(median env true)
ringfence=$(median ringfence run -q -p start -w /bench --policies /bench -- true)
bwrap=$(median bwrap --ro-bind / / true)
landlock=$(median landlock /usr /etc -- true)
jq -nc --arg kernel "$kernel" --argjson p "$plain" --argjson r "$ringfence" --argjson b "$bwrap" \
	--argjson l "$landlock" 'def x: . * 100 | round / 100;
	{$kernel, plain_us: $p, ringfence_us: $r, bwrap_us: $b, landlock_us: $l,
	 ringfence_to_bwrap: ($r / $b | x), ringfence_to_landlock: ($r / $l | x)}' | tee -a "$RF_OUT/start.json"
stop_daemon || true
