#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Process 1 of the guest after initrd-init: runs cmd of run.sh, tells its exit status, turns the guest off.
export PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin
run=/run/rf

# What cmd left running would hold the pipe open for ever: all but this shell and the writer goes.
end_others() {
	local exe pid
	for exe in /proc/[0-9]*/exe; do
		pid=${exe//[^0-9]/}
		# Kernel threads have no exe.
		[[ $pid = 1 || $pid = "$1" || ! -e $exe ]] || kill -KILL "$pid"
	done 2>/dev/null
}

# As an installer leaves it: a name that git asks for is not looked up by DNS.
echo "127.0.1.1 $(cat /proc/sys/kernel/hostname)" >>/etc/hosts

cd /
if [[ -e $run/interactive ]]; then
	setsid -c bash "$run/cmd" <>/dev/hvc0 >&0 2>&1
	status=$?
else
	# The writer appends with every write going to the host before it returns; a virtio port would lose the end.
	exec 3> >(exec cat >>"$run/out")
	writer=$!
	bash "$run/cmd" </dev/null >&3 2>&1 3>&-
	status=$?
	exec 3>&-
	end_others "$writer"
	wait "$writer"
fi
echo "$status" >"$run/status"
echo o >/proc/sysrq-trigger
sleep 10
