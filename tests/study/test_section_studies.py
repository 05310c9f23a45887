"""Studies of sections: their table in a plan, and what a variant can change."""

from __future__ import annotations

from pathlib import Path

import pytest

from whylate.recording.plan import LoadPlan
from whylate.recording.workloads.section import KernelFunction, Section, TracepointPair
from whylate.run.errors import RequestError
from whylate.run.knobs.apply import apply_knobs
from whylate.study.model import StudyPlan
from whylate.study.plan_file import read_plan_file, resolve_plan

TWO = "[variants.alone]\n[variants.cold-code]\nload = 'code'\n"
TICK = "place = 'irq_vectors:local_timer_entry..irq_vectors:local_timer_exit'"


def read(tmp_path: Path, text: str) -> StudyPlan:
    file = tmp_path / "plan.toml"
    file.write_text(text)
    return resolve_plan(read_plan_file(file))


def test_a_table_says_which_section_is_timed(tmp_path: Path) -> None:
    table = f"[section]\n{TICK}\nfor = '3s'\ncomm = 'player'\none_in = 4\n"
    plan = read(tmp_path, f"same = {{ p50 = '5%' }}\n{table}{TWO}")
    section = plan.workload
    assert isinstance(section, Section)
    assert isinstance(section.place, TracepointPair)
    assert section.place.begin == "irq_vectors:local_timer_entry"
    assert (section.duration_ns, section.comm, section.one_in) == (3_000_000_000, "player", 4)
    assert plan.warm_up_ns == 2_000_000_000
    applied = apply_knobs(plan.request, plan.variants[1].knobs).plan
    assert applied.loads == [LoadPlan("code", 1)]
    assert applied.workload == section


def test_a_section_takes_20_s_and_the_best_hook(tmp_path: Path) -> None:
    section = read(tmp_path, f"[section]\nplace = 'vfs_read'\n{TWO}").workload
    assert isinstance(section, Section)
    assert section.place == KernelFunction("vfs_read")
    assert section.duration_ns == 20_000_000_000
    kprobe = read(tmp_path, f"[section]\nplace = 'vfs_read'\nhook = 'kprobe'\n{TWO}").workload
    assert isinstance(kprobe, Section)
    assert kprobe.place == KernelFunction("vfs_read", "kprobe")


@pytest.mark.parametrize(
    ("text", "why"),
    [
        (f"[section]\n{TWO}", "place"),
        (f"[section]\nplace = 'no function'\n{TWO}", "no name of a function"),
        (f"[section]\nplace = 'bpf_prog_run'\n{TWO}", "cannot be timed itself"),
        (f"[section]\n{TICK}\nfor = 'long'\n{TWO}", "invalid time"),
        (f"[section]\n{TICK}\nrows = 3\n{TWO}", "rows"),
        (f"[section]\n{TICK}\ncounters = ['nope']\n{TWO}", "no event"),
        (f"interval = '1ms'\n[section]\n{TICK}\n{TWO}", "interval is of wakeups"),
        (f"cpus = [0]\n[section]\n{TICK}\n{TWO}", "cpus"),
        (f"[section]\n{TICK}\n[variants.a]\n[variants.b]\npriority = 3\n", "priority"),
        (f"[section]\n{TICK}\n[switch]\n{TWO}", "one workload"),
    ],
)
def test_what_no_section_can_be_is_refused(tmp_path: Path, text: str, why: str) -> None:
    with pytest.raises(RequestError, match=why):
        read(tmp_path, text)
