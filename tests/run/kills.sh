#!/bin/busybox sh
# Carries out the kills of /whylate/kills on a virtual board: each line is PLAN GUARDIAN PERMILLE.
# A probe with that plan is killed with SIGKILL after that part of the time that such a run takes,
# and its guardian before it where GUARDIAN is "killed". What the kernel has then is compared with
# what it had before. One line of each goes to the port:
#
#	PLAN GUARDIAN MS LEFT CLEAN
#
# LEFT: something was there 2 s later; CLEAN: nothing is, after a further run where LEFT.
T=/sys/kernel/tracing

# state - all that a probe may leave in the kernel
state() {
	cat $T/kprobe_events $T/uprobe_events $T/enabled_functions /sys/kernel/debug/kprobes/list
	ls $T/instances
	/whylate/bpf_ids
}

is_clean() {
	[ "$(state)" = "$before" ]
}

# wait_clean - for 2 s of the board's time
wait_clean() {
	for _ in 1 2 3 4 5 6 7 8 9 10; do
		is_clean && return 0
		sleep 0.2
	done
	return 1
}

now_ms() {
	read -r uptime _ </proc/uptime
	echo "${uptime%.*}${uptime#*.}0"
}

start() {
	/whylate/probe --plan "/whylate/$1.plan" </dev/null >/dev/null 2>&1 &
	pid=$!
}

kill_guardian() {
	for comm in /proc/[0-9]*/comm; do
		read -r name <"$comm" || continue
		process=${comm#/proc/}
		[ "$name" = wl-guardian ] && kill -9 "${process%/comm}"
	done 2>/dev/null
}

before=$(state)
cd /run || exit 1
while read -r plan guardian permille; do
	if [ ! -f "$plan.ms" ]; then
		began=$(now_ms)
		start "$plan"
		wait "$pid"
		echo $(($(now_ms) - began)) >"$plan.ms"
	fi
	start "$plan"
	ms=$(($(cat "$plan.ms") * permille / 1000))
	usleep $((ms * 1000))
	[ "$guardian" = killed ] && kill_guardian
	kill -9 "$pid"
	wait "$pid"
	left=no clean=yes
	if ! wait_clean; then
		left=yes
		start "$plan"
		wait "$pid"
		wait_clean || clean=no
	fi
	echo "whylate: $plan $guardian $ms $left $clean"
	echo "$plan $guardian $ms $left $clean" >>kills
	[ $clean = no ] && state | sed "s/^/left: /"
done </whylate/kills
cat kills >"/dev/$(cat /whylate/port)"
poweroff -f
