#!/bin/busybox sh
# Carries out the turns of /whylate/turns on a virtual board: each line is NUMBER TOOL CALLS, where
# CALLS are four numbers for the module. What each turn gave lies in /run/turns/NUMBER, and goes to
# the port as one archive at the end. FUNCTION is set before it.
export LD_LIBRARY_PATH=/usr/lib/x86_64-linux-gnu

has_hooks() {
	grep -q "^$FUNCTION " /sys/kernel/tracing/enabled_functions
}

# wait_for_hooks: until they have been there for 300 ms of the board's time, for 40 s at most. The
# probe of whylate tries them for up to 100 ms before.
wait_for_hooks() {
	looks=0 seen=0
	while [ $seen -lt 15 ] && [ $looks -lt 2000 ]; do
		looks=$((looks + 1)) seen=$((seen + 1))
		has_hooks || seen=0
		sleep 0.02
	done
}

wait_for_none() {
	looks=0
	while has_hooks && [ $looks -lt 1000 ]; do
		looks=$((looks + 1))
		sleep 0.02
	done
}

start() {
	case $1 in
	nothing) return ;;
	whylate-*) /whylate/probe --plan "/whylate/$1.plan" </dev/null >out 2>err & ;;
	funclatency) funclatency $FUNCTION </dev/null >out 2>err & ;;
	perf) perf ftrace latency -a -n -T $FUNCTION </dev/null >out 2>err & ;;
	*) /whylate/pair "${1%-*}" "${1#*-}" $FUNCTION </dev/null >out 2>err & ;;
	esac
	pid=$!
	wait_for_hooks
}

stop() {
	case $1 in
	nothing) return ;;
	whylate-*) ;;
	*) kill -INT "$pid" ;;
	esac
	wait "$pid"
	wait_for_none
}

insmod /whylate/calls.ko
while read -r number tool calls; do
	mkdir -p "/run/turns/$number"
	cd "/run/turns/$number" || exit 1
	start "$tool"
	echo "$calls" >/sys/kernel/debug/calls/run
	cat /sys/kernel/debug/calls/log >log
	cat /sys/kernel/debug/calls/batch >batch
	echo "whylate: turn $number: $tool, $(head -n 1 log | cut -d' ' -f1) ns"
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
