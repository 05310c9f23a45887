#!/bin/busybox sh
# Carries out the turns of /whylate/turns on a virtual board: each line is NUMBER TOOL CALLS, where
# CALLS are four numbers for the module. What each turn gave lies in /run/turns/NUMBER, and goes to
# the port as one archive at the end. FUNCTION is set before it.
export LD_LIBRARY_PATH=/usr/lib/x86_64-linux-gnu

has_hooks() {
	grep -q "^$FUNCTION " /sys/kernel/tracing/enabled_functions
}

has_none() {
	! has_hooks
}

# wait_for COMMAND TIMES: until it succeeded so many times without a failure, every 20 ms of the
# board's time, for 40 s at most
wait_for() {
	looks=0 successes=0
	while [ $successes -lt "$2" ] && [ $looks -lt 2000 ]; do
		looks=$((looks + 1)) successes=$((successes + 1))
		"$1" || successes=0
		sleep 0.02
	done
}

start() {
	case $1 in
	nothing) return ;;
	whylate-*)
		/whylate/probe --plan "/whylate/$number.plan" </dev/null >out 2>err &
		# It tries its hooks, and measures an empty section, before it times executions. Where a
		# hook is added to a function with others, that has none for a moment.
		wait_for has_hooks 1
		wait_for has_none 10
		;;
	funclatency) funclatency $FUNCTION </dev/null >out 2>err & ;;
	perf) perf ftrace latency -a -n -T $FUNCTION </dev/null >out 2>err & ;;
	*) /whylate/pair "${1%-*}" "${1#*-}" $FUNCTION </dev/null >out 2>err & ;;
	esac
	pid=$!
	wait_for has_hooks 15
}

stop() {
	case $1 in
	nothing) return ;;
	whylate-*) ;;
	*) kill -INT "$pid" ;;
	esac
	wait "$pid"
	wait_for has_none 1
}

insmod /whylate/calls.ko
while read -r number tool calls; do
	mkdir -p "/run/turns/$number"
	cd "/run/turns/$number" || exit 1
	: >out
	start "$tool"
	echo "$calls" >/sys/kernel/debug/calls/run
	cat /sys/kernel/debug/calls/log >log
	cat /sys/kernel/debug/calls/batch >batch
	echo "whylate: turn $number: $tool, $(head -n 1 log | cut -d' ' -f1) ns, $(wc -c <out) bytes"
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
