"""Wrong use of `whylate section irqs-off` is answered before anything is measured."""

from __future__ import annotations

import pytest
from click.testing import CliRunner

from whylate.cli import whylate
from whylate.cli.section import command
from whylate.cli.section_off import OF_EXECUTIONS
from whylate.run.errors import RequestError


def refusal(*arguments: str) -> str:
    result = CliRunner().invoke(whylate, ["section", *arguments])
    assert isinstance(result.exception, RequestError)
    return str(result.exception)


@pytest.mark.parametrize(
    "option",
    [["--locks"], ["--paths"], ["--comm", "a"], ["--pid", "1"],
     ["--one-in", "2"], ["--keep-above", "1ms"], ["--threshold", "1ms"], ["--recorder", "bpf"],
     ["--require", "max<1ms"], ["--spool"], ["--list"], ["--samples"],
     ["--experiment", "cold"]],
    ids=" ".join,
)  # fmt: skip
def test_options_of_executions_are_refused(option: list[str]) -> None:
    assert refusal("preempt-off", *option).startswith(f"{option[0]} is for executions")


def test_hooks_are_of_what_they_can_show() -> None:
    assert "takes --hook best, samples, tracepoints" in refusal("irqs-off", "--hook", "kprobe")
    for hook in ("samples", "tracepoints"):
        assert "for irqs-off and preempt-off" in refusal("kmem_cache_alloc", "--hook", hook)


def test_the_options_of_executions_are_options_of_the_verb() -> None:
    assert set(OF_EXECUTIONS) < {parameter.name for parameter in command.params}


def test_a_period_is_for_what_is_sampled_and_has_limits() -> None:
    assert "--every is for irqs-off" in refusal("kmem_cache_alloc", "--every", "50us")
    assert "between 10us and 10ms" in refusal("irqs-off", "--every", "9us")
    assert "between 10us and 10ms" in refusal("irqs-off", "--every", "11ms")


def test_a_run_has_enough_samples_for_an_interval() -> None:
    assert "--for must lie between 53 ms" in refusal("irqs-off", "--for", "50ms")
