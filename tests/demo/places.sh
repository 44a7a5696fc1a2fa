# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash disable=SC2154,SC2034 # variables of guest.sh
# What the demo needs around the agent: a home with secrets, a git server, listeners, rsyslogd. Sourced by guest.sh.

# A text that is found again wherever it goes. secret NAME: it is in $secret, and in the list that report.sh gets
secret() {
	secret=$1=$(od -An -tx1 -N 16 /dev/urandom | tr -d ' \n')
	echo "$secret" >>"$out/secrets"
}
secret_file() { secret "$1"; mkdir -p "${2%/*}"; (umask 077; echo "$secret" >"$2"); }

make_places() {
	if getent passwd dev >/dev/null || [[ -e /home/dev || -e $agent || -e /sys/fs/cgroup/demo ]]; then
		die "this machine has a user dev, /home/dev, $agent or a cgroup demo: the demo makes its own"
	fi
	made=dev
	chmod 755 "$demo"
	useradd --create-home --shell /bin/bash dev
	getent passwd ringfence-ship >/dev/null || { useradd --system --shell /usr/sbin/nologin ringfence-ship; made+=' ship'; }
	echo "# dev's" >>/home/dev/.bashrc
	cp /home/dev/.bashrc "$out/bashrc.before"
	secret_file ssh /home/dev/.ssh/id_ed25519
	secret_file aws /home/dev/.aws/credentials
	secret_file env /home/dev/acme/.env
	secret key
	agent_key=$secret
	# npm would ask its registry for a newer npm, in vain.
	echo update-notifier=false >/home/dev/.npmrc
	printf '[user]\n\tname = Demo Agent\n\temail = agent@example.org\n' >/home/dev/.gitconfig
	mkdir -p "$workspace/csv" "$inside" "$outside" "$demo/www" "$demo/ship"
	mkfifo "$inside/never" "$outside/never"
	chown -R dev:dev /home/dev "$inside" "$outside"
	chown ringfence-ship: "$demo/ship"
	install -d -m 2750 -g ringfence-ship "$demo/log"
	install -D -t "$agent" "$here"/{agent,try,work,hijack,orphan}.sh "$here/add-quotes.patch"
	cp /usr/bin/touch "$demo/www/helper"
	# A control group that was handed to dev: going from home to away is a right that dev has.
	mkdir -p /sys/fs/cgroup/demo/{home,away}
	chown dev /sys/fs/cgroup/demo/{,home/,away/}cgroup.procs
	ip addr add 203.0.113.7/32 dev lo
}

start() { "$@" >>"$demo/servers.out" 2>&1 & pids+=($!); }
receive() { nc -dlk "$1" "$2" >>"$demo/received.$3" 2>>"$demo/servers.out" & pids+=($!); }

start_servers() {
	local git=(git -c user.name=Dev -c user.email=dev@example.org -c init.defaultBranch=main)
	cp -r "$here/project" "$demo/seed"
	(cd "$demo/seed" && "${git[@]}" init -q && git add -A && "${git[@]}" commit -q -m 'csv: read lines' &&
		git clone -q --bare . "$demo/git/csv") || die "git cannot make the repository"
	start git daemon --listen=127.0.0.1 --reuseaddr --export-all --enable=receive-pack --base-path="$demo/git"
	start busybox httpd -f -p 127.0.0.1:8080 -h "$demo/www"
	receive 203.0.113.7 8443 unlisted
	receive 127.0.0.1 8443 allowed
	cat >"$demo/rsyslog.conf" <<-END
		global(workDirectory="$demo")
		module(load="imtcp")
		template(name="fence" type="string" string="%timereported:::date-rfc3339% %msgid% %structured-data% %msg%\n")
		ruleset(name="fence") { action(type="omfile" file="$demo/rsyslog" template="fence") }
		input(type="imtcp" address="127.0.0.1" port="601" ruleset="fence")
	END
	start rsyslogd -n -i "$demo/rsyslog.pid" -f "$demo/rsyslog.conf"
}

# Nothing of the hijack without a fence is left when the run begins.
forget_outside() {
	local file
	for file in unlisted allowed; do
		cp "$demo/received.$file" "$out/outside.$file"
		: >"$demo/received.$file"
	done
	cp /home/dev/.bashrc "$out/bashrc.outside"
	cp "$out/bashrc.before" /home/dev/.bashrc
	rm -f /dev/shm/helper-dev
	rmdir "$workspace/csv"
}

# shellcheck disable=SC2317 # called at exit
remove_places() {
	ip addr del 203.0.113.7/32 dev lo
	userdel -r dev 2>/dev/null
	[[ $made != *ship* ]] || userdel ringfence-ship 2>/dev/null
	rmdir /sys/fs/cgroup/demo/{home,away} /sys/fs/cgroup/demo 2>/dev/null
	rm -rf "$agent" "$inside" "$outside" /dev/shm/helper-{dev,root}
}
