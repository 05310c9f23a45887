"""Which variants of a study must have hits, and which parts of the environment it changes."""

from __future__ import annotations

from pathlib import Path

import pytest

from whylate.compare.environment import CLOCK, COMMAND_LINE, KERNEL, TEMPERATURE
from whylate.compare.hits import HitDemand
from whylate.run.errors import RequestError
from whylate.study.model import StudyPlan
from whylate.study.plan_file import read_plan_file, resolve_plan
from whylate.study.studied import studied_by

BOTH = "[variants.base]\n[variants.tuned]\nthp = 'never'\n"
BOARD = "boards = ['pc']\nvirtual_time = true\n"


def plan(tmp_path: Path, text: str) -> StudyPlan:
    (tmp_path / "plan.toml").write_text(text)
    return resolve_plan(read_plan_file(tmp_path / "plan.toml"))


def test_a_plan_names_hits_and_the_variants_that_must_have_them(tmp_path: Path) -> None:
    study = plan(
        tmp_path,
        "hits = ['do_nanosleep', 'sched:sched_switch in tuned', "
        "'facts:kernel_release contains 6.1 only in base']\n" + BOTH,
    )
    assert study.hits == [
        HitDemand("do_nanosleep"),
        HitDemand("sched:sched_switch", ["tuned"]),
        HitDemand("facts:kernel_release contains 6.1", ["base"], only=True),
    ]
    assert study.request.hits == [demand.name for demand in study.hits]


@pytest.mark.parametrize(
    ("hits", "why"),
    [
        ("['f in other']", "the variants are base and tuned"),
        ("['a b c']", "write a function"),
        ("['f', 'f in tuned']", "twice"),
        ("['']", "write NAME"),
    ],
)
def test_hits_that_cannot_be_checked_are_refused(tmp_path: Path, hits: str, why: str) -> None:
    with pytest.raises(RequestError, match=why):
        plan(tmp_path, f"hits = {hits}\n{BOTH}")


@pytest.mark.parametrize(
    ("knobs", "studied"),
    [
        ("thp = 'never'", set()),
        ("governor = 'performance'", {CLOCK, TEMPERATURE}),
        ("'/sys/devices/system/cpu/intel_pstate/no_turbo' = 1", {CLOCK, TEMPERATURE}),
        ("kernel = 'rt'", {KERNEL, COMMAND_LINE}),
        ("'cmdline:nosmt' = true", {COMMAND_LINE}),
    ],
)
def test_what_a_knob_changes_is_what_is_studied(
    tmp_path: Path, knobs: str, studied: set[str]
) -> None:
    study = plan(tmp_path, f"{BOARD}[variants.base]\n[variants.tuned]\n{knobs}\n")
    assert studied_by(study, ("base", "tuned")) == studied
    assert studied_by(study, ("base",)) == set()
