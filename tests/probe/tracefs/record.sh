#!/bin/sh
# Record a few pages of this kernel's ring buffers with the formats they need, and the kernel's
# own text of the same events, as a tar file on the standard output. As root; tracefs is mounted
# at $1. With "absolute" as $2 events are discarded in the buffer, and what follows one has its time
# in full: a histogram of times keeps filters from looking before they write.
set -eu
top=$1
out=$(mktemp -d)
instance=$top/instances/record-$$
mkdir "$instance"
cd "$instance"
echo 0 > tracing_on
echo 8 > buffer_size_kb
echo mono > trace_clock
for event in sched/sched_switch sched/sched_waking sched/sched_migrate_task irq/irq_handler_entry \
    irq/irq_handler_exit irq/softirq_raise irq/softirq_entry irq/softirq_exit \
    timer/hrtimer_expire_entry timer/hrtimer_expire_exit lock/contention_begin \
    lock/contention_end power/cpu_idle nmi/nmi_handler ipi csd/csd_function_entry csd/csd_function_exit irq_vectors/local_timer_entry \
    irq_vectors/local_timer_exit irq_vectors/reschedule_entry irq_vectors/reschedule_exit \
    irq_vectors/call_function_entry irq_vectors/call_function_exit \
    irq_vectors/call_function_single_entry irq_vectors/call_function_single_exit \
    irq_vectors/irq_work_entry irq_vectors/irq_work_exit; do
    [ -e events/$event ] || continue
    for format in $(find events/$event -name format); do
        mkdir -p "$out/${format%/format}"
        cat "$format" > "$out/$format"
    done
    echo 1 > events/$event/enable
done
if [ "${2:-}" = absolute ]; then
    echo 'hist:keys=next_pid:ts=common_timestamp.usecs' > events/sched/sched_switch/trigger
    echo 'vec == 99' > events/irq/softirq_raise/filter
    echo 'prio < 0' > events/sched/sched_waking/filter
fi
echo 1 > tracing_on
sleep 2
echo 0 > tracing_on
cat events/header_page > "$out/events/header_page"
grep -i ' interrupts"\|NMIs"' "$top/printk_formats" > "$out/printk_formats" || :
uname -srm > "$out/kernel"
cat trace > "$out/trace.txt"
for cpu in per_cpu/cpu*; do
    # The end of the buffer is no end of the file: cat would wait there.
    timeout 1 cat $cpu/trace_pipe_raw > "$out/${cpu#per_cpu/}.raw" 2> /dev/null || :
done
if [ "${2:-}" = absolute ]; then
    echo '!hist:keys=next_pid:ts=common_timestamp.usecs' > events/sched/sched_switch/trigger
fi
cd /
rmdir "$instance"
tar -C "$out" -cf - .
rm -r "$out"
