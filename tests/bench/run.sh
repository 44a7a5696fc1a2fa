#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# `make bench`: what fencing costs, measured on kernels in guests and beside peers. run.sh [files|commands|start|compile]...
# Writes build/bench/{files,commands,start,compile}.json and prints them as tables. It tells aims that are missed and fails only
# when something could not be measured. BUILD and KERNELS can be set.
set -euo pipefail
cd "$(dirname "$0")/../.."
build=$(readlink -m "${BUILD:-build}") kernels=${KERNELS:-6.1 7} out=$build/bench
parts=${*:-files commands start compile}

has() { [[ " $parts " = *" $1 "* ]]; }
table() { column -t -s $'\t' | sed 's/^/  /'; }
# shellcheck disable=SC2016 # $met is jq's
aim='def aim($met): if $met then "met" else "missed" end;'

make --no-print-directory BUILD="$build" all "$build"/tests/bench/programs/{compile,cputime,floor,landlock,operations}
mkdir -p "$out"
clang -g -O2 -target bpf -mcpu=v3 -D__TARGET_ARCH_x86 -Wall -Werror -Wno-unused-parameter -Ivmlinux/x86 \
	-c tests/bench/floor.bpf.c -o "$out/floor.bpf.o"

# in_guests PART RUN.SH-OPTIONS...: PART.sh on each kernel, its lines of JSON together in PART.json
in_guests() {
	local part=$1 kernel
	shift
	: >"$out/$part.json"
	for kernel in $kernels; do
		echo "$part on kernel $kernel"
		mkdir -p "$out/$part-$kernel"
		rm -f "$out/$part-$kernel/$part.json"
		tests/vm/run.sh -k "$kernel" -o "$out/$part-$kernel" "$@" -- "tests/bench/$part.sh" "$build" "$kernel" >"$out/$part-$kernel/log" 2>&1 ||
			{ tail -n 20 "$out/$part-$kernel/log"; echo "bench: $part could not be measured on $kernel" >&2; exit 1; }
		cat "$out/$part-$kernel/$part.json" >>"$out/$part.json"
	done
}

# make_tree: a repository of 20,000 files in 400 directories as build/bench/tree.tar; a guest unpacks it in seconds
make_tree() {
	local tree=$out/tree/tree
	[[ ! -e $out/tree.tar ]] || return 0
	rm -rf "$out/tree"
	mkdir -p "$tree"
	(cd "$tree" && mkdir -p area-{01..20}/part-{01..20} && for dir in area-*/part-*; do
		for file in "$dir"/file-{01..50}.c; do echo "$file" >"$file"; done
	done)
	git -C "$tree" init -q --template= -b main
	git -C "$tree" add .
	git -C "$tree" -c user.name=bench -c user.email=bench@example.org commit -q -m tree
	git -C "$tree" repack -q -a -d
	git -C "$tree" prune-packed
	tar -C "$out/tree" --owner=0 --group=0 -cf "$out/tree.tar.new" tree
	mv "$out/tree.tar.new" "$out/tree.tar"
	rm -rf "$out/tree"
}

if has compile; then
	"$build/tests/bench/programs/compile" --json | tee "$out/compile.json" >/dev/null
fi
# One at a time: guests share the CPUs.
has files && in_guests files -i -t 3600
if has commands; then
	make_tree
	in_guests commands -i -t 3600
fi
has start && in_guests start -t 900

if has files; then
	printf '\nInstructions of operations on files, and what is added to the plain kernel (clock that counts instructions)\n'
	jq -r '[.kernel, .operation, .case, .rules, "depth \(.depth)", .instructions, "+\(.added)"] | @tsv' "$out/files.json" | table
	printf '\nAims\n'
	jq -rs "$aim"' map(select(.operation == "open")) | group_by(.kernel)[] | .[0].kernel as $k
		| def of($c; $d): map(select(.case == $c and .depth == $d) | .added) | max;
		def rules($r): map(select(.case == "tagged" and .rules == $r) | .instructions) | max;
		(map(select(.case == "tagged") | .added) | max) as $tagged
		| [$k, "untagged at most floor + 60", "+\(of("untagged"; 8) - of("floor"; 8))",
		   aim(of("untagged"; 8) <= of("floor"; 8) + 60)],
		  [$k, "tagged, cached: at most 800 at any depth and rules", "+\($tagged)", aim($tagged <= 800)],
		  [$k, "at depth 8 at most half of Landlock", "+\(of("tagged"; 8)) of +\(of("landlock"; 8))",
		   aim(of("tagged"; 8) * 2 <= of("landlock"; 8))],
		  [$k, "10,000 rules at most 1.05 x 10", "\(rules(10000) / rules(10) * 1000 | round / 1000) x",
		   aim(rules(10000) <= 1.05 * rules(10))]
		| @tsv' "$out/files.json" | table
fi
if has commands; then
	printf '\nWhole commands in a tree of 20,000 files: CPU time in millions of instructions, and times the plain kernel\n'
	jq -r '[.kernel, .command, .case, (.instructions / 1e6 | round), "\(.ratio) x"] | @tsv' "$out/commands.json" | table
	printf '\nAims\n'
	jq -rs "$aim"' group_by([.kernel, .command])[] | "\(.[0].kernel)\t\(.[0].command)" as $k
		| def of($c): map(select(.case == $c) | .ratio)[0];
		[$k, "untagged at most 1.01", "\(of("untagged")) x", aim(of("untagged") <= 1.01)],
		[$k, "tagged at most 1.05", "\(of("tagged")) x", aim(of("tagged") <= 1.05)],
		[$k, "tagged below Landlock", "\(of("tagged")) of \(of("landlock")) x", aim(of("tagged") < of("landlock"))]
		| join("\t")' "$out/commands.json" | table
fi
if has start; then
	printf '\nStart of a command (true), daemon running: how many times what a peer takes\n'
	jq -r '[.kernel, "bwrap --ro-bind / / true: \(.ringfence_to_bwrap) x", "Landlock: \(.ringfence_to_landlock) x"] | @tsv' \
		"$out/start.json" | table
fi
if has compile; then
	printf '\nCompiling, on this machine: aim 200 ms of CPU, 100 MiB\n'
	jq -r "$aim"' [.set, .rules, "\(.ms) ms", "\(.mib) MiB", "\(.states) states", aim(.ms <= 200 and .mib <= 100)] | @tsv' \
		"$out/compile.json" | table
fi
