"""Kprobe events of probes that are gone: they are removed, and no others."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from c_programs import compile_c

pytestmark = pytest.mark.machine


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    sources = ["tracefs/kprobes.c", "tracefs/fields.c", "small_file.c"]
    return compile_c("cc", "kprobes_sweep", sources, tmp_path_factory.mktemp("kprobes"), [])


def sweep(program: Path, folder: Path, *lines: str) -> str:
    """Return what the file of events begins with once those of no instance were removed."""
    (folder / "instances" / "whylate-5").mkdir(parents=True)
    (folder / "instances" / "whylate-6.2").mkdir()
    events = folder / "kprobe_events"
    events.write_text("".join(f"{line}\n" for line in lines))
    subprocess.run([program, folder], check=True)
    # The kernel takes each write as a command; here it replaces the beginning of the file.
    return events.read_text()


LIVE = (
    "r4096:whylate_5/whylate_5_return do_it",
    "p:whylate_6_2/whylate_6_2_entry do_it place=%sp",
)
OTHERS = ("p:kprobes/p_do_it_0 do_it", "p:whylates/x do_it", "r:synthetic/whylate_7 do_it")


def test_events_of_instances_that_exist_and_of_others_stay(program: Path, tmp_path: Path) -> None:
    text = sweep(program, tmp_path, *LIVE, *OTHERS)
    assert text == "".join(f"{line}\n" for line in (*LIVE, *OTHERS))


@pytest.mark.parametrize("group", ["whylate_6", "whylate_7", "whylate_5_1"])
def test_events_of_an_instance_that_is_gone_are_removed(
    program: Path, tmp_path: Path, group: str
) -> None:
    text = sweep(program, tmp_path, *LIVE, *OTHERS, f"r64:{group}/{group}_return do_it place=%sp")
    assert text.startswith(f"-:{group}/{group}_return")
