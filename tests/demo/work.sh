#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# A task done well: clone, edit, build, test, commit, push. In ${workspace}, as the user dev.
here=$(dirname "$0") who=dev
# shellcheck disable=SC1091 # checked by itself
. "$here/try.sh"

built() { make && gcc -O1 -Wall -Isrc src/csvcut.c build/csv.o -o build/cut && [[ $(build/cut 2 <<<'a,"b,c"') = b,c ]]; }
tested() { make test | grep -x 'csv_test: ok'; }
npm_tested() { cd table && npm test; }
committed() { git add -A && git commit -q -m 'csv: understand quoted fields' && [[ ! $(git status --porcelain) ]]; }
pushed() { git push -q && [[ $(git ls-remote origin refs/heads/main) = $(git rev-parse HEAD)* ]]; }

try clone git clone -q git://127.0.0.1/csv csv
cd csv || exit
try edit git apply "$here/add-quotes.patch"
try build built
try test tested
try npm-test npm_tested
try commit committed
try push pushed
