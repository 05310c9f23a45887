"""`whylate bench`: what it refuses before any board is asked, and the former spelling."""

from __future__ import annotations

from pathlib import Path

import click
import pytest
from click.testing import CliRunner, Result

from whylate.cli import whylate
from whylate.cli.bench import VERBS, bench


def run(*words: str) -> Result:
    return CliRunner().invoke(whylate, words)


def complaint(done: Result) -> str:
    """Return the message of a command line that was refused."""
    assert done.exit_code != 0
    return f"{done.output} {done.exception}"


REFUSED = [
    (["memory", "--tasks", "2"], "No such option"),
    (["switch", "--for", "5s"], "No such option"),
    (["clock", "--require", "max<1ms"], "No such option"),
    (["memory", "--priority", "80"], "No such option"),
    (["cmd", "--cpus", "0", "--", "true"], "No such option"),
    (["cmd", "--block", "1s", "--", "true"], "No such option"),
    (["memory", "--", "true"], "board 'true'"),
    (["cmd"], "no command to run: write it behind --"),
    (["cmd", "--value", "(", "--", "true"], "invalid regular expression"),
    (["cmd", "--value", "(a)(b)", "--", "true"], "one group"),
    (["cmd", "--unit", "s", "--", "true"], "--unit has no effect without --value"),
    (["cmd", "--higher-is-better", "--", "true"], "--higher-is-better has no effect without"),
    (["switch", "--tasks", "0"], "--tasks must lie between"),
    (["switch", "--tasks", "5000"], "--tasks must lie between"),
    (["switch", "--tasks", "two"], "write it like 2,4,8"),
    (["switch", "--counters", "cycels"], "no event 'cycels'"),
    (["switch", "--block", "1ns"], "--block must lie between"),
    (["switch", "--cpus", "0", "--free"], "not with --cpus"),
    (["memory", "--sizes", "4q"], "write it like 0,4k,64M"),
    (["memory", "--sizes", "1000"], "--sizes must lie between"),
    (["memory", "--sizes", "5000"], "whole lines of 64"),
    (["memory", "--pages", "large"], "write it like small,thp,hugetlb,as-set"),
    (["memory", "--cpus", "0,1"], "name one"),
    (["memory", "--ops", "set", "--source", "zeros"], "--source has no effect: --ops set"),
    (["memory", "--ops", "latency", "--routine", "plain"], "--routine has no effect: --ops lat"),
    (["memory", "--ops", "copy", "--sizes", ",".join(f"{n}M" for n in range(1, 202))],
     "201 points are more than"),
    (["clock", "--via", "device"], "needs --service"),
    (["clock", "--service", "1ms"], "--service has no effect without --via device"),
    (["clock", "--think", "1ms"], "--think has no effect without --via device"),
    (["clock", "--via", "hpet", "--clocks", "tai"], "--clocks has no effect without --via libc"),
    (["bulk", "--chunk", "most"], "write it like 1,128,all,tuned"),
    (["bulk", "--cpus", "0,1"], "name one"),
    (["bulk", "--block", "2s"], "between 100us and 1s"),
    (["flush", "--by", "mremap"], "write it like munmap,mprotect,switch"),
    (["flush", "--by", "switch", "--tasks", "1"], "--tasks must lie between 2 and"),
    (["flush", "--pages", "5000"], "--pages must lie between"),
    (["flush", "--set-size", "2G"], "--set-size must lie between"),
    (["flush", "--every", "1s"], "--every must lie between"),
    (["flush", "--block", "2s"], "between 100us and 1s"),
    (["flush", "--cpus", "0"], "name two"),
    (["flush", "--free"], "a CPU each"),
    (["clock", "--add-rate", "10"], "--add-rate has no effect without --between-cpus"),
    (["clock", "--between-cpus", "--add-rate", "nan"], "takes a number of millionths"),
    (["clock", "--add-offset", "1us"], "--add-offset has no effect without --between-cpus"),
    (["clock", "--between-cpus", "--add-offset", "soon"], "write it like 1us or -200ns"),
    (["clock", "--between-cpus", "--add-offset", "-2s"], "--add-offset must lie between"),
    (["clock", "--between-cpus", "--threads", "2"], "has no use for --threads"),
    (["clock", "--between-cpus", "--via", "hpet"], "has no use for --via"),
    (["clock", "--between-cpus", "--clocks", "monotonic-coarse"], "compares the clocks"),
    (["clock", "--between-cpus", "--cpus", "0"], "name two or more"),
    (["clock", "--between-cpus", "--free"], "read on these CPUs"),
    (["clock", "--remedy", "strict"], "--remedy has no effect without --via device or hpet"),
    (["clock", "--via", "hpet,libc", "--remedy", "strict"], "only with --via device,hpet"),
    (["clock", "--predict", "0"], "write it like 72,240, up to 10000"),
]  # fmt: skip


@pytest.mark.parametrize(("words", "why"), REFUSED, ids=[why[:30] for _, why in REFUSED])
def test_wrong_use_of_a_benchmark_is_refused(tmp_path: Path, words: list[str], why: str) -> None:
    benchmark, *options = words
    assert why in complaint(run("bench", benchmark, "-o", str(tmp_path / "r"), *options))
    assert not (tmp_path / "r").exists()


@pytest.mark.parametrize(
    ("words", "present"),
    [
        ("--workload memory --sizes 1M", "no --workload: write whylate bench memory --sizes 1M"),
        ("pc --workload=cmd --rounds 3 -- echo --workload",
         "write whylate bench cmd pc --rounds 3 -- echo --workload"),
        ("--workload app --comm jackd", "write whylate measure --comm jackd"),
        ("--workload wakeup --for 1s", "write whylate measure --for 1s"),
        ("--workload", "write whylate measure"),
        ("--sizes 1M", "measure has no --sizes: write whylate bench memory --sizes …"),
        ("--rounds 3", "write whylate bench switch|memory|clock|bulk|flush|cmd --rounds …"),
        ("--repetitions 3", "write whylate bench switch|memory|clock|bulk|flush --repetitions …"),
    ],
)  # fmt: skip
def test_the_former_spelling_is_answered_with_the_present_one(words: str, present: str) -> None:
    assert complaint(run("measure", *words.split())).endswith(present)


def test_an_option_of_no_verb_gets_no_hint() -> None:
    done = run("measure", "--no-such-option")
    assert done.exit_code == 2
    assert "No such option '--no-such-option'" in done.output


@pytest.mark.parametrize("benchmark", VERBS)
def test_an_option_of_a_benchmark_stands_in_its_help_alone(benchmark: str) -> None:
    context = click.Context(bench)
    command = bench.get_command(context, benchmark)
    assert command is not None
    assert command.name == benchmark
    elsewhere = [bench.get_command(context, name) for name in VERBS if name != benchmark]
    own = {parameter.name for parameter in command.params}
    for other in elsewhere:
        assert other is not None
        own -= {parameter.name for parameter in other.params}
    page = run("bench", benchmark, "--help").output
    assert own
    for parameter in command.params:
        if parameter.name in own:
            assert parameter.opts[0] in page
