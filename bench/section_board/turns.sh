#!/bin/busybox sh
# Carries out the turns of /whylate/turns on a virtual board: each line is NUMBER TOOL CALLS, where
# CALLS are four numbers for the module. What each turn gave lies in /run/turns/NUMBER, and goes to
# the port as one archive at the end. FUNCTION is set before it.
export LD_LIBRARY_PATH=/usr/lib/x86_64-linux-gnu

has_hooks() {
	grep -q "^$FUNCTION " /sys/kernel/tracing/enabled_functions
}

has_no_hooks() {
	! has_hooks
}

# wait_until COMMAND: look every 20 ms of the board's time, for 20 s
wait_until() {
	looks=0
	until "$1"; do
		looks=$((looks + 1))
		[ $looks -lt 1000 ] || return 1
		sleep 0.02
	done
}

start() {
	case $1 in
	nothing) return ;;
	whylate-*)
		/whylate/probe --plan "/whylate/$1.plan" </dev/null >out 2>err &
		pid=$!
		# It counts executions for a while before it times them.
		wait_until has_hooks
		wait_until has_no_hooks
		;;
	funclatency) funclatency $FUNCTION </dev/null >out 2>err & ;;
	perf) perf ftrace latency -a -n -T $FUNCTION </dev/null >out 2>err & ;;
	*) /whylate/pair "${1%-*}" "${1#*-}" $FUNCTION </dev/null >out 2>err & ;;
	esac
	pid=$!
	wait_until has_hooks
}

stop() {
	case $1 in
	nothing) return ;;
	whylate-*) ;;
	*) kill -INT "$pid" ;;
	esac
	wait "$pid"
	wait_until has_no_hooks
}

insmod /whylate/calls.ko
while read -r number tool calls; do
	mkdir -p "/run/turns/$number"
	cd "/run/turns/$number" || exit 1
	echo "whylate: turn $number $tool at $(cut -d' ' -f1 /proc/uptime)"
	start "$tool"
	# What was started has come to rest.
	sleep 0.2
	echo "$calls" >/sys/kernel/debug/calls/run
	cat /sys/kernel/debug/calls/log >log
	cat /sys/kernel/debug/calls/batch >batch
	case $tool in
	fentry-* | kprobe-*)
		# These do not count: the kernel counts some calls more, which are not timed.
		echo 1 >/proc/sys/kernel/bpf_stats_enabled
		echo "100 0 0 0" >/sys/kernel/debug/calls/run
		echo 0 >/proc/sys/kernel/bpf_stats_enabled
		;;
	esac
	stop "$tool"
done </whylate/turns
cd /run
tar -cf - turns >"/dev/$(cat /whylate/port)"
poweroff -f
