"""What took the cycles of an execution, by its counters: a class on positive evidence, or none.

Evidence, of one execution against the typical one (the median of all that are given, or of
control executions):

1. *instruction side*: stalls of the instruction side are more than half of the cycles (and not
   above them), and instructions are flat: within 10 % of the typical.
2. *spinning*: instructions are up, 1.25 times the typical or more, and stalls of the instruction
   side are flat: within 25 % of the typical, or by a change below 5 % of the execution's cycles.
3. *data side*, where its stalls are counted as well: they are more than half of the cycles,
   instructions are flat, and stalls of the instruction side have not risen, by the margins of 2.
   An execution with the evidence of both sides has neither class.
4. *unexplained*: all else.

Where it was looked, from time to time, whether an execution was in a function that is known to wait
by spinning (samples and spins: classify_sampled_executions()):

5. *spinning*: so were half of its samples or more, and cycles have risen.
6. *more work*: so was none of LEAST_SAMPLES or more, of which one that spins for half of the time
   has none once in eight times at most; instructions are up, 1.25 times the typical or more, and
   they have risen by half of the part by which cycles have risen or more: it did more, in about as
   many cycles each.
7. *unexplained*: all else; an execution that was not seen has no evidence of either.

Where it is known how much longer each execution took than the typical one, the counters must have
risen as well, or neither class is evident: cycles by half of that or more, and of either
side stalls by more than half of what cycles rose by. An execution from which a hypervisor took
time, or that ran with a slower clock, has the counters of a typical one.

The margins come from the published executions of do_local_timer(): 99.7 % of them have 2,700 to
3,000 instructions (±5 %: flat, with as much again), the longest have 2.9 times the most frequent
number of instructions (up) at 1.2 times its stalls (flat).

What the classes do not show: without samples *spinning* is a loop that goes on for longer; one that
waits for a lock and one that has more to do have the same counters. With them, a loop that waits in
a function of which that is not known is *more work* of that function. *Instruction side* has what a
pipeline's front end waits for: I-cache, instruction TLB and, by some CPUs' events, branches that
were mispredicted. *Data side* has what its back end waits for: D-cache, data TLB, stores, and by
some CPUs' events a result that another instruction needs. Where stalls of the data side are not
counted it is unexplained, as steal and firmware are.

Bias: the typical execution is a median. Where half of the executions or more are long by one
reason, as those that a tool selected may be, they are the typical ones, and an increase that all of
them have is none.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

import numpy as np
from numpy.typing import NDArray

from whylate.stats.arrays import Bools, Floats

#: So many executions have a typical one.
LEAST_EXECUTIONS = 3
#: So many samples of which none is of spinning are evidence that it did not spin.
LEAST_SAMPLES = 3
#: Instructions are flat within this part of the typical number, and up from this multiple of it.
FLAT_INSTRUCTIONS = 0.10
UP_INSTRUCTIONS = 1.25
#: Stalls are most of the cycles above this part of them.
MOST_CYCLES = 0.5
#: Stalls are flat within this part of the typical number, or this part of the cycles.
FLAT_STALLS = 0.25
FLAT_CYCLES = 0.05
#: Counters have risen by this part of what they have to explain.
ROSE = 0.5


class ExecutionClass(StrEnum):
    """What took the cycles of an execution."""

    INSTRUCTION_SIDE = "instruction side"
    DATA_SIDE = "data side"
    SPINNING = "spinning"
    MORE_WORK = "more work"
    UNEXPLAINED = "unexplained"


#: Classes in the order of the numbers that classify_executions() returns.
CLASSES = tuple(each for each in ExecutionClass if each is not ExecutionClass.MORE_WORK)
#: Those of classify_sampled_executions().
SAMPLED_CLASSES = tuple(ExecutionClass)


@dataclass(frozen=True)
class Typical:
    """The execution that others are held against: its instructions, its stalls and its cycles.

    data_stalls: those of the data side, 0 where they were not counted.
    """

    instructions: float
    stalls: float
    cycles: float = 0.0
    data_stalls: float = 0.0


def estimate_typical(
    instructions: Floats, stalls: Floats, cycles: Floats, data_stalls: Floats | None = None
) -> Typical:
    """Return the medians of executions, each shape (n,); raises ValueError for too few."""
    if instructions.size < LEAST_EXECUTIONS:
        raise ValueError(f"a typical execution takes {LEAST_EXECUTIONS} executions")
    counted = (instructions, stalls, cycles, *(() if data_stalls is None else (data_stalls,)))
    return Typical(*(float(np.median(values)) for values in counted))


def classify_executions(
    cycles: Floats,
    instructions: Floats,
    stalls: Floats,
    typical: Typical | None = None,
    times: Floats | None = None,
    data_stalls: Floats | None = None,
) -> NDArray[np.int8]:
    """Return the class of each execution, int8, shape (n,): its place in CLASSES.

    cycles, instructions, stalls: shape (n,), not negative; stalls: cycles in which the instruction
    side kept the CPU waiting. typical: of control executions; None: the medians of these, for which
    there must be LEAST_EXECUTIONS, else ValueError is raised. times: how many times as long as the
    typical one each took, shape (n,); None: not known. data_stalls: cycles in which the data side
    kept it waiting, shape (n,); None: not counted. The rule is in the module's text.
    """
    if typical is None:
        typical = estimate_typical(instructions, stalls, cycles, data_stalls)
    flat = np.abs(instructions - typical.instructions) <= FLAT_INSTRUCTIONS * typical.instructions
    up = (instructions >= UP_INSTRUCTIONS * typical.instructions) & (instructions > 0)
    rise = stalls - typical.stalls
    is_small = (np.abs(rise) <= FLAT_STALLS * typical.stalls) | (
        np.abs(rise) <= FLAT_CYCLES * cycles
    )
    rose = None
    if times is not None:
        rose = cycles - typical.cycles >= ROSE * (times - 1) * typical.cycles
        up &= rose
    waits_for_code = flat & _is_stalled(cycles, stalls, typical.cycles, typical.stalls, rose)
    classes = np.full(cycles.shape, CLASSES.index(ExecutionClass.UNEXPLAINED), np.int8)
    classes[up & is_small] = CLASSES.index(ExecutionClass.SPINNING)
    if data_stalls is not None:
        waits = flat & _is_stalled(cycles, data_stalls, typical.cycles, typical.data_stalls, rose)
        waits_for_data = waits & ~waits_for_code & (is_small | (rise < 0))
        waits_for_code &= ~waits
        classes[waits_for_data] = CLASSES.index(ExecutionClass.DATA_SIDE)
    classes[waits_for_code] = CLASSES.index(ExecutionClass.INSTRUCTION_SIDE)
    return classes


def _is_stalled(
    cycles: Floats, stalls: Floats, usual_cycles: float, usual_stalls: float, rose: Bools | None
) -> Bools:
    """Return whether stalls are most of the cycles, bool, shape (n,).

    rose: whether cycles have; then stalls are most of that rise as well. None: it is not asked.
    """
    # A stall that takes more cycles than there are was counted otherwise: no evidence.
    stalled: Bools = (stalls > MOST_CYCLES * cycles) & (stalls <= cycles)
    if rose is None:
        return stalled
    return stalled & rose & (stalls - usual_stalls > ROSE * (cycles - usual_cycles))


def classify_sampled_executions(
    cycles: Floats,
    instructions: Floats,
    stalls: Floats | None,
    typical: Typical,
    times: Floats,
    samples: NDArray[np.int64],
    spins: NDArray[np.int64],
    data_stalls: Floats | None = None,
) -> NDArray[np.int8]:
    """Return the class of each execution, int8, shape (n,): its place in SAMPLED_CLASSES.

    samples, spins: how often each was seen in its own code, and of that in a function that waits by
    spinning, int64, shape (n,). stalls: None where they were not counted. The others are as in
    classify_executions(); the rule is in the module's text.
    """
    classes = np.full(cycles.shape, SAMPLED_CLASSES.index(ExecutionClass.UNEXPLAINED), np.int8)
    if stalls is not None:
        by_counters = classify_executions(cycles, instructions, stalls, typical, times, data_stalls)
        for side in (ExecutionClass.INSTRUCTION_SIDE, ExecutionClass.DATA_SIDE):
            classes[by_counters == CLASSES.index(side)] = SAMPLED_CLASSES.index(side)
    more_cycles = cycles - typical.cycles
    more_instructions = instructions - typical.instructions
    rose = more_cycles >= ROSE * (times - 1) * typical.cycles
    up = (instructions >= UP_INSTRUCTIONS * typical.instructions) & (instructions > 0)
    # Compared as products: the typical execution may have none.
    in_proportion = more_instructions * typical.cycles >= ROSE * more_cycles * typical.instructions
    seen = (samples > 0) & rose & (more_cycles > 0)
    spun = seen & (2 * spins >= samples)
    classes[spun] = SAMPLED_CLASSES.index(ExecutionClass.SPINNING)
    works = seen & (spins == 0) & (samples >= LEAST_SAMPLES)
    classes[works & up & in_proportion] = SAMPLED_CLASSES.index(ExecutionClass.MORE_WORK)
    return classes
