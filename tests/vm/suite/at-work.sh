#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# By work.test, inside a run: at-work.sh WORKSPACE MADE PART... in the workspace, with what was made for it in MADE. Each
# line that it prints is compared there.
cd "$1" || exit
made=$2
shift 2

# The workspace is a person's clone, with its settings; origin lies in ${tmp}.
repository() {
	echo "int unused;" >extra.c
	git add extra.c && git commit -qm change && git push -q origin HEAD:work
	git checkout -q --no-track -b side HEAD~1 && echo "int other;" >other.c && git add other.c && git commit -qm other
	git rebase -q origin/work && echo "rebased: $(git log --format=%s | tr '\n' ' ')"
	git worktree add -q wt -b tree && (cd wt && echo "int third;" >third.c && git add third.c && git commit -qm third)
	git merge -q --ff-only tree && git worktree remove wt && echo "merged from a worktree: $(<third.c)"
	echo "int changed;" >extra.c && git stash -q && echo "stashed: $(<extra.c)" && git stash pop -q && echo "popped: $(<extra.c)"
	git -c protocol.file.allow=always submodule --quiet update && echo "submodule: $(<sub/f)"
	git gc -q && git fsck --no-progress --no-dangling && echo "packed: $(git rev-list --all --objects | wc -l) objects, $(grep -c refs/heads .git/packed-refs) heads"
	git bundle create -q all.bundle --all && git ls-remote all.bundle side | wc -l | sed 's/^/bundled: /'
}

# A clone is the run's own, settings and all.
clone() {
	git clone -q "$made/origin.git" vendor/clone && cd vendor/clone || return
	git config user.name w && git config user.email w@example.org && git remote add other "$made/sub.git"
	git fetch -q other && git checkout -q -b taken other/main && echo "fetched: $(<f)"
	git -c protocol.file.allow=always submodule --quiet add "$made/sub.git" added && git commit -qm added
	echo "cloned: $(git config user.name) $(git config branch.taken.remote) $(<added/f) $(git log --oneline | wc -l)"
	cd "$OLDPWD" || return
	git init -q -b first fresh && git -C fresh config core.hooksPath .hooks && mkdir fresh/.hooks && echo "fresh: $(<fresh/.git/HEAD)"
}

compile() { make -s -j4 && echo "built: $(./sum)"; }

configure() {
	cmake -S "$made/cmake" -B out >cmake.log && cmake --build out >>cmake.log && echo "cmake: $(out/twice 21)"
}

# Or npm asks its registry for a newer npm, which is no work and not allowed.
modules() {
	export npm_config_update_notifier=false
	cp -r "$made/npm" app && cd app || return
	npm pack --silent ./lower ./upper | tr '\n' ' ' && npm install --silent --offline --no-audit --no-fund
	echo "npm: $(node_modules/.bin/shout abc) $(echo node_modules/*) $(<said)"
	cd "$OLDPWD" || return
}

python() {
	/usr/bin/python3 -m venv env || return
	# shellcheck disable=SC1091 # made a moment ago
	source env/bin/activate
	pip install --quiet --disable-pip-version-check --no-index --find-links "$made/wheels" summing && summing 50
	echo "python: $(command -v python3 | xargs dirname)"
	python3 -m unittest -v test_sum 2>&1 | tail -n 1
}

copies() {
	mkdir -p from/deep && seq 1000 >from/deep/n && ln -s deep/n from/link && chmod 640 from/deep/n
	rsync -a from/ to && diff -r from to && echo "rsync: $(tail -n 1 to/link) $(stat -c %a to/deep/n)"
	echo more >>from/deep/n && rsync -a --delete from/ to && tail -n 1 to/deep/n
	tar -czf from.tgz from && mkdir un && tar -xzf from.tgz -C un && diff -r from un/from && echo "tar: $(wc -l <un/from/link)"
}

edit() {
	local before
	echo "one two" >text && before=$(stat -c %i text)
	vim -es -u NONE -c 'set backup backupcopy=no' -c '%s/two/three/' -c 'wq' text
	echo "vim: $(<text), was $(<text~), $( (($(stat -c %i text) != before)) && echo "another file")"
	sed -i s/three/four/ text && echo "sed: $(<text)"
	sqlite3 db 'pragma journal_mode=wal' 'create table t(n)' 'insert into t select value from generate_series(1,50)' \
		'select sum(n) from t' | tr '\n' ' ' && sqlite3 db 'delete from t where n>10' "select 'sqlite: ' || sum(n) from t"
}

for part; do
	start=$SECONDS
	"$part"
	echo "$part: $((SECONDS - start)) s" >&2
done
