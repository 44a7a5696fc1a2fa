#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Names functions above 60 lines, files above 400, headers and scripts above 150. Says so and never fails.
set -euo pipefail
cd "$(dirname "$0")/../.."
mapfile -t sources < <(git ls-files 'bpf/*.[ch]' 'userspace/*.[ch]' 'tests/*.[ch]')
awk 'FNR == 1 {start = 0} /^{/ {start = FNR} /^}/ && start {
	if (FNR - start + 1 > 60) print "note: " FILENAME ":" start ": a function of " FNR - start + 1 " lines"; start = 0}' "${sources[@]}"
mapfile -t scripts < <(git ls-files '*.sh' '*.bash' '*.test')
wc -l "${sources[@]}" "${scripts[@]}" | awk '$2 != "total" {
	max = $2 ~ /\.(h|sh|bash|test)$/ ? 150 : 400; if ($1 > max) print "note: " $2 ": " $1 " lines"}'
