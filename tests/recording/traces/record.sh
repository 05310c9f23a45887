#!/bin/sh
# Record the same kind of run in each form that `whylate explain --import` reads, into the folder $1:
# 60 wakeups of cyclictest at priority 90 on CPU 0, where a thread of priority 95 spins for 300 µs
# now and then and writes down when, and an ordinary one is always busy. As root, with cyclictest,
# trace-cmd, perf, stress-ng and python3; tracefs is mounted at /sys/kernel/tracing. hog.txt: start and end of each
# spin, ns of CLOCK_MONOTONIC, which is the clock of all of these traces.
set -eu
out=$1
tracing=/sys/kernel/tracing
events="sched/sched_switch sched/sched_waking sched/sched_migrate_task irq/irq_handler_entry
    irq/irq_handler_exit irq/softirq_raise irq/softirq_entry irq/softirq_exit timer/hrtimer_start
    timer/hrtimer_expire_entry timer/hrtimer_expire_exit power/cpu_idle nmi/nmi_handler
    irq_vectors/local_timer_entry irq_vectors/local_timer_exit irq_vectors/reschedule_entry
    irq_vectors/reschedule_exit irq_vectors/call_function_single_entry
    irq_vectors/call_function_single_exit"
# Kept of each are 600 lines from the tenth wakeup of cyclictest on, below what says what it is.
some() {
    awk '/^#|^cpus=/ { print; next } / comm=cyclictest / { woken++ } woken >= 10 && n++ < 600'
}
measured="cyclictest -q -l 60 -t 1 -a 0 -p 90 -i 1000 -m"

taskset -c 0 sh -c 'while :; do :; done' &
busy=$!
taskset -c 0 chrt -f 95 python3 -c '
import time
while True:
    start = time.monotonic_ns()
    while (now := time.monotonic_ns()) - start < 300_000:
        pass
    print(start, now, flush=True)
    time.sleep(0.013)
' > "$out/hog.txt" &
hog=$!
sleep 1
trap 'kill $busy $hog' EXIT

# The kernel's own text, without and with stacks.
instance=$tracing/instances/record-$$
mkdir "$instance"
echo mono > "$instance/trace_clock"
echo 2048 > "$instance/buffer_size_kb"
echo 1 > "$instance/tracing_cpumask"
for event in $events; do
    echo 1 > "$instance/events/$event/enable"
done
$measured > /dev/null
some < "$instance/trace" > "$out/ftrace.txt"
for group in irq irq_vectors power timer nmi; do
    echo 0 > "$instance/events/$group/enable"
done
echo stacktrace > "$instance/events/sched/sched_switch/trigger"
echo > "$instance/trace"
cyclictest -q -l 20 -t 1 -a 0 -p 90 -i 1000 -m > /dev/null
some < "$instance/trace" > "$out/ftrace-stacks.txt"
echo '!stacktrace' > "$instance/events/sched/sched_switch/trigger"

# Read while it is written, from a buffer that is too small.
echo 4 > "$instance/buffer_size_kb"
taskset -c 0 perf bench sched pipe -l 20000 > /dev/null &
sleep 0.1
timeout 3 cat "$instance/trace_pipe" | grep -a -B 100 -A 100 -m 1 LOST > "$out/ftrace-lost.txt" || :
wait $!
echo 0 > "$instance/tracing_on"
rmdir "$instance"

# trace-cmd: as it prints times by itself, in full, in latency format, and raw.
list=$(for event in $events; do printf -- '-e %s ' "$(echo $event | tr / :)"; done)
trace-cmd record -q -M 1 -C mono -o "$out/trace.dat" $list $measured > /dev/null
trace-cmd report -t "$out/trace.dat" | some > "$out/trace-cmd.txt"
trace-cmd report "$out/trace.dat" | some > "$out/trace-cmd-microseconds.txt"
trace-cmd report -l "$out/trace.dat" | some > "$out/trace-cmd-latency.txt"
trace-cmd report -R "$out/trace.dat" | some > "$out/trace-cmd-raw.txt"

# A buffer that is too small: events are lost.
trace-cmd record -q -M 1 -C mono -b 8 -o "$out/trace.dat" $list stress-ng --quiet --switch 2 -t 1 \
    > /dev/null
trace-cmd report -t "$out/trace.dat" | grep -a -B 150 -A 150 -m 1 DROPPED > "$out/trace-cmd-lost.txt"

# perf: full times, and with the stacks of each event; on the clock that it has by itself too.
perf record -q -C 0 -k mono -o "$out/perf.data" $list -- $measured > /dev/null
perf script --ns -i "$out/perf.data" | some > "$out/perf.txt"
perf record -q -C 0 -o "$out/perf.data" $list -- $measured > /dev/null
perf script --ns -i "$out/perf.data" | some > "$out/perf-own-clock.txt"
perf record -q -g -C 0 -k mono -o "$out/perf.data" -e sched:sched_switch -e sched:sched_waking \
    -- cyclictest -q -l 20 -t 1 -a 0 -p 90 -i 1000 -m > /dev/null
perf script --ns -i "$out/perf.data" | some > "$out/perf-stacks.txt"
rm "$out/trace.dat" "$out"/perf.data*
