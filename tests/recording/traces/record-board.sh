#!/bin/sh
# Record what a kernel's own tracers print: timerlat with osnoise's events and stacks, osnoise,
# wakeup_rt with and without functions, and timerlat beside the events that say it better. As root
# on a virtual board with Debian's kernel (which has no irqsoff and preemptoff tracers):
#   whylate board run pc-rt -- sh -c "$(cat record-board.sh)" | csplit -z -f pc-rt- - '/^=== /' '{*}'
set -eu
[ -e /sys/kernel/tracing/trace ] || mount -t tracefs nodev /sys/kernel/tracing
cd /sys/kernel/tracing
echo 500 > osnoise/stop_tracing_total_us
echo 100 > osnoise/print_stack
busy() {
    i=0
    while [ $i -lt 20 ]; do cat /proc/*/status > /dev/null 2>&1 || :; i=$((i + 1)); done
}
# Kept are no more than 400 lines.
trace() {
    echo "=== $1"
    echo > trace
    echo 1 > tracing_on
    echo "$2" > current_tracer
    busy
    echo 0 > tracing_on
    head -n "${3:-400}" trace
    echo nop > current_tracer
}
echo 1 > events/osnoise/enable
echo 0 > osnoise/stop_tracing_total_us
trace timerlat timerlat
trace osnoise osnoise 150
echo 0 > events/osnoise/enable
trace timerlat-alone timerlat 150
for event in sched/sched_switch sched/sched_waking irq timer/hrtimer_start timer/hrtimer_expire_entry \
    timer/hrtimer_expire_exit irq_vectors/local_timer_entry irq_vectors/local_timer_exit \
    irq_vectors/reschedule_entry irq_vectors/reschedule_exit ipi/ipi_entry ipi/ipi_exit; do
    [ ! -e events/$event/enable ] || echo 1 > events/$event/enable
done
trace timerlat-events timerlat
trace events nop
echo 0 > events/enable
trace wakeup_rt wakeup_rt 250
echo 0 > options/function-trace
trace wakeup_rt-alone wakeup_rt
