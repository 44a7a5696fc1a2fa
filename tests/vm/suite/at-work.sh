#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# By work.test, inside a run: at-work.sh WORKSPACE VENV-OPTION COMPILE. Each line that it prints is compared there.

cd "$1" || exit
git clone -q origin.git clone && cd clone || exit
echo "int unused;" >extra.c
git add extra.c && git -c user.name=w -c user.email=w@example.org commit -qm change && git push -q origin HEAD:work
echo "commits: $(git log --oneline origin/work | wc -l)"
$3 && echo "built: $(./sum)"
# Or npm asks its registry for a newer npm, which is no work and not allowed.
npm_config_update_notifier=false npm test 2>&1 | grep -o 'npm says right' | head -n 1
python3 -m venv "$2" env || exit
# shellcheck disable=SC1091 # made a moment ago
source env/bin/activate
echo "python: $(command -v python | xargs dirname)"
python -m unittest -v test_sum 2>&1 | tail -n 1
