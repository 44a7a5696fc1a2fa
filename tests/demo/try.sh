# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash disable=SC2154 # who: set by the script
# try STEP COMMAND...: what came of it goes to results as "STEP WHO OUTCOME": works, denied, or failed with the text
# that came out. Only "Permission denied" is a denial: a step that fails for another reason proves no fence.
try() {
	local step=$1 text outcome=works; shift
	text=$("$@" 2>&1) || outcome=failed
	[[ $outcome = works || $text != *"Permission denied"* ]] || outcome=denied
	text=${text//[$'\t\n']/ }
	printf '%s\t%s\t%s\t%s\n' "$step" "$who" "$outcome" "${text: -300}" >>"$TMPDIR/results"
	# What a command prints may hold a secret: not shown here.
	printf '  %-5s %-14s %s\n' "$who" "$step" "$outcome"
}

# Waits without a process: those are what an emulated machine is slow at. Nobody writes to the pipe.
exec {never}<>"$TMPDIR/never"
nap() { read -rt 0.2 -u "$never"; return 0; }
