"""What bench/section_peers.py makes of the output of the tools that it compares."""

from __future__ import annotations

import numpy as np
import pytest

from ratios import paired_difference
from section_peers import COST, LENGTHS, added_ns, same_bins, show_cost, show_lengths
from section_turns import NOTHING, Done, Log, Numbers, Seen, Turn, bins_of, read_printed

FUNCLATENCY = b"""\

Tracing srcu_notifier_call_chain.  Hit Ctrl-C to exit

     nsec                : count    distribution
         0 -> 1          : 0        |                                        |
      8192 -> 16383      : 0        |                                        |
     16384 -> 32767      : 50       |*************                           |
     32768 -> 65535      : 100      |**************************              |
Exiting trace of srcu_notifier_call_chain
"""
PERF = b"""\
#   DURATION     |      COUNT | GRAPH                                          |
     0 - 1    ns |          0 |                                                |
   512 - 1024 ns |          3 |                                                |
     8 - 16   us |         50 | #######                                        |
     1 - ...  ms |          7 | #                                              |
"""


def log_of(duration_ns: Numbers, call_ns: int = 0) -> Log:
    begin_ns = np.arange(duration_ns.size) * 100_000
    return Log(duration_ns + call_ns, begin_ns, begin_ns + duration_ns, 1)


def done(tool: str, calls: tuple[int, int, int, int], log: Log, bins: dict[int, int]) -> Done:
    seen = None if tool == NOTHING else Seen(sum(bins.values()), bins, bins)
    return Done(Turn(tool, calls), log, seen)


def test_the_histogram_of_funclatency_is_read() -> None:
    seen = read_printed(FUNCLATENCY)
    assert {low: count for low, count in seen.bins.items() if count} == {16384: 50, 32768: 100}
    assert seen.count == 150
    assert seen.printed == seen.bins


def test_the_bins_of_perf_are_what_it_counted_and_not_what_it_prints() -> None:
    seen = read_printed(PERF)
    assert {low: n for low, n in seen.printed.items() if n} == {512: 3, 8192: 50, 1 << 20: 7}
    assert {low: n for low, n in seen.bins.items() if n} == {1024: 3, 16384: 50, 1 << 21: 7}
    assert seen.count == 60


def test_a_pair_has_run_as_often_as_the_rarer_of_its_programs() -> None:
    assert read_printed(b"attached\nruns 100 97\n").count == 97


def test_output_without_a_histogram_is_refused() -> None:
    with pytest.raises(ValueError, match="no histogram"):
        read_printed(b"unable to attach\n")


def test_a_histogram_gives_what_was_added_to_durations() -> None:
    duration_ns = np.arange(300, 32_300, 4)
    turn = done("funclatency", LENGTHS, log_of(duration_ns), bins_of(duration_ns + 1841))
    more = added_ns(turn)
    # At 4,096, 8,192, 16,384 and 32,768: from 2,048 on it has all of them.
    assert more.size == 4
    assert ((more > 1841 - 4) & (more <= 1841)).all()


def test_the_share_in_the_same_bins_is_of_those_that_were_counted() -> None:
    duration_ns = np.array([1000, 1000, 3000, 5000])
    assert same_bins({512: 2, 2048: 1}, duration_ns) == 1
    assert same_bins({512: 1, 1024: 1, 4096: 2}, duration_ns) == 0.5


def test_a_tool_that_did_not_count_every_call_has_no_figure(
    capsys: pytest.CaptureFixture[str],
) -> None:
    log = log_of(np.full(1000, 100), 348)
    turns = [done(NOTHING, COST, log, {})] * 10
    turns += [done("perf", COST, log_of(np.full(1000, 100), 1348), {1024: 1000})] * 10
    turns += [done("funclatency", COST, log, {1024: 1000})] * 9
    turns += [done("funclatency", COST, log, {1024: 999})]
    show_cost(turns)
    lines = {line.split()[0]: line for line in capsys.readouterr().out.splitlines() if line}
    assert "no figure" in lines["funclatency"]
    assert "1,000.0 [1,000.0, 1,000.0]" in lines["perf"]
    assert "whylate-fentry" not in lines


def test_lengths_that_were_not_all_counted_have_no_figure(
    capsys: pytest.CaptureFixture[str],
) -> None:
    duration_ns = np.arange(300, 32_300, 4)
    bins = bins_of(duration_ns + 1841)
    whole = done("perf", LENGTHS, log_of(duration_ns), bins)
    short = done("funclatency", LENGTHS, log_of(duration_ns[1:]), bins_of(duration_ns[1:]))
    assert list(show_lengths([whole, short])) == ["perf"]
    assert "no figure: it counted 7,999" in capsys.readouterr().out


def test_the_interval_of_six_differences_is_from_the_least_to_the_largest() -> None:
    found = paired_difference([10, 11, 12, 13, 14, 20], [1, 1, 1, 1, 1, 1])
    assert (found.value, found.low, found.high) == (11.5, 9, 19)
    with pytest.raises(ValueError, match="at least 6"):
        paired_difference([1, 2, 3, 4, 5], [0, 0, 0, 0, 0])
