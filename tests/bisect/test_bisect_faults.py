"""Bisections meet faults: boards that hang, a disk that is full.

A full disk is a small tmpfs. A board that hangs is this machine, which
in every third hybrid does not come up: its console has what a kernel printed last.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

import starts
from bisect_roots import write_root
from small_disk import small_disk
from two_variants import VALUES, bisect, plan_of, write_plan
from whylate.bisect.settings.journal import read_bisection
from whylate.bisect.settings.plan import bisect_plan
from whylate.bisect.settings.provision import KnobProvisioner
from whylate.boards.board import Finished, Notify
from whylate.boards.errors import BoardBusyError, BoardError
from whylate.boards.local import LocalBoard
from whylate.stats.search.model import Culprits
from whylate.study.plan_file import read_plan_file, resolve_plan
from whylate.study.restore.undo import read_notes

pytestmark = pytest.mark.machine

CULPRIT = 3
PANIC = "Kernel panic - not syncing: VFS: Unable to mount root fs"


class Console:
    """A console of which only the log is used."""

    def __init__(self, log: Path) -> None:
        self.log = log


class HangingBoard(LocalBoard):
    """This machine, which does not come up with some hybrids."""

    def __init__(self, log: Path, *, hangs: bool) -> None:
        self._hangs = hangs
        self.console = Console(log)  # type: ignore[assignment]

    def boot(self, notify: Notify) -> None:
        """Come up, or not."""
        del notify
        self.console.log.write_text(PANIC if self._hangs else "login:")  # type: ignore[attr-defined]
        if self._hangs:
            raise BoardError("board7 did not come up within 4 s")


def test_hybrids_in_which_the_board_hangs_are_untestable_with_their_console(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("whylate.bisect.sets.carry_out.PAUSE_S", 0.0)
    plan = plan_of(tmp_path, ["board7"], [CULPRIT])
    hybrids: list[bytes] = []
    hung = False
    provision = KnobProvisioner.provision

    def every_third(self: KnobProvisioner, hybrid):  # type: ignore[no-untyped-def]
        nonlocal hung
        chosen = hybrid.in_force.tobytes()
        mixed = 0 < hybrid.in_force.sum() < VALUES
        if mixed and chosen not in hybrids:
            hybrids.append(chosen)
        # With the same values it hangs again.
        hung = mixed and hybrids.index(chosen) % 3 == 2
        return provision(self, hybrid)

    monkeypatch.setattr(KnobProvisioner, "provision", every_third)
    result, runs = bisect(
        tmp_path / "b", plan, lambda *_: HangingBoard(tmp_path / "console", hangs=hung)
    )
    assert isinstance(result.answer, Culprits), result
    assert [effect.item for effect in result.answer.effects] == [CULPRIT]
    untestable = [made for made in runs if made.value is None]
    assert len(untestable) >= 3
    for made in untestable:
        assert made.untestable == "board7 did not come up within 4 s"
        assert (tmp_path / "b" / made.log).read_text() == PANIC
    assert not result.lost


def test_a_board_that_somebody_takes_is_given_up_and_says_nothing_of_the_hybrid(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("whylate.bisect.sets.carry_out.PAUSE_S", 0.0)
    plan = plan_of(tmp_path, ["board7"], [CULPRIT])
    opened = 0

    class Taken(LocalBoard):
        def hold(self, notify: Notify) -> None:
            del notify
            raise BoardBusyError("board7 is in use by another whylate (process 7)")

    def open_board(*_: object) -> LocalBoard:
        nonlocal opened
        opened += 1
        return LocalBoard() if opened <= 25 else Taken()

    result, runs = bisect(tmp_path / "b", plan, open_board)
    assert result.answer is None
    assert result.lost == {"board7": "board7 is in use by another whylate (process 7)"}
    assert len(runs) >= 20
    assert not [made for made in runs if made.value is None]


def test_a_run_whose_setting_cannot_be_put_back_is_kept_and_the_setting_put_back_later(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("whylate.bisect.sets.carry_out.PAUSE_S", 0.0)
    file = tmp_path / "mode"
    file.write_text("as found")
    path = write_plan(tmp_path, ["board7"], [CULPRIT])
    text = path.read_text()
    for variant in "ab":
        before = f"'env:V0' = '{variant}'"
        text = text.replace(before, f"'command:mode' = '{variant}'\n{before}")
    write = 'printf %s \\"$1\\" >\\"$2\\"'
    text += f"""
[knobs.mode]
read = "cat {file}"
write = "sh -c '{write}' sh {{value}} {file}"
"""
    path.write_text(text)
    plan = bisect_plan(resolve_plan(read_plan_file(path)), "CPU time", 200, 0.3)
    opened = 0
    is_cut = True

    class CutBoard(LocalBoard):
        """This machine, which is gone when the knob is put back after the fifth run."""

        def run(
            self, argv: Sequence[str], *, data: bytes = b"", timeout_s: float = 60.0
        ) -> Finished:
            if is_cut and opened >= 5 and "as found" in argv:
                raise BoardError("board7 does not answer")
            return super().run(argv, data=data, timeout_s=timeout_s)

    def open_board(*_: object) -> CutBoard:
        nonlocal opened
        opened += 1
        return CutBoard()

    result, runs = bisect(tmp_path / "b", plan, open_board)
    assert "could not be put back to 'as found'" in result.lost["board7"]
    # The fifth run was over, and counts.
    assert [made.number for made in runs] == [1, 2, 3, 4, 5]
    assert all(made.value is not None for made in runs)
    assert file.read_text() in ("a", "b")

    is_cut = False
    result, all_runs = bisect(tmp_path / "b", plan, open_board)
    assert isinstance(result.answer, Culprits), result
    # The command's knob is the first item.
    assert [effect.item for effect in result.answer.effects] == [CULPRIT + 1]
    assert all_runs[:5] == runs
    assert file.read_text() == "as found"
    assert not read_notes(tmp_path / "b", ["board7"])


def whylate(*words: str) -> subprocess.CompletedProcess[str]:
    return starts.run(
        [sys.executable, "-m", "whylate", *words],
        capture_output=True, text=True, timeout=300, check=False,
    )  # fmt: skip


@pytest.mark.skipif(os.geteuid() != 0, reason="only root may mount")
def test_a_full_disk_is_a_line_and_the_bisection_is_resumed_with_more_room(tmp_path: Path) -> None:
    plan = write_plan(tmp_path, ["local"], [CULPRIT])
    with small_disk(tmp_path / "small", 300 << 10) as small:
        output = small / "b"
        words = ("bisect", "settings", str(plan), "--statistic", "CPU time", "-o", str(output))
        done = whylate(*words)
        assert done.returncode == 3, done.stderr
        last = done.stderr.replace("\n", " ")
        assert "No space left on device" in last or "the disk is full" in last
        assert f"the same command with -o {output} resumes the bisection" in last
        assert "Traceback" not in last
        kept = read_bisection(output)[1]
        assert len(kept) >= 2
        subprocess.run(["mount", "-o", "remount,size=64m", small], check=True)
        done = whylate(*words)
        assert done.returncode == 0, done.stderr
        assert f"env:V{CULPRIT}: a -> b" in done.stdout
        assert read_bisection(output)[1][: len(kept)] == kept
        # The answer is printed although there is no room for its page.
        (output / "report.html").unlink()
        fill(small)
        done = whylate(*words)
        assert done.returncode == 3
        assert f"env:V{CULPRIT}: a -> b" in done.stdout
        assert "report.html cannot be written: No space left on device" in done.stderr


@pytest.mark.skipif(os.geteuid() != 0, reason="only root may mount")
def test_hybrids_for_which_there_is_no_room_are_a_line(tmp_path: Path) -> None:
    sides = [
        write_root(tmp_path / name, {"etc/rc.local": f"{name}\n"}) for name in ("vendor", "ours")
    ]
    plan = tmp_path / "plan.toml"
    plan.write_text("[cmd]\ncommand = ['true']\nrounds = 1\n")
    with small_disk(tmp_path / "small", 8 << 20) as small:
        output = str(small / "b")
        done = whylate(
            "bisect", "images", *map(str, sides), str(plan), "-o", output, "--apply", "true",
            "--statistic", "CPU time",
        )  # fmt: skip
        assert done.returncode == 3
        assert "left, and a hybrid takes" in done.stderr
        assert "resumes the bisection" in done.stderr
        assert not (small / "b/hybrids").exists()


def fill(directory: Path) -> None:
    """Leave no room."""
    with (directory / "fill").open("wb", buffering=0) as file:
        try:
            while file.write(bytes(4096)):
                pass
        except OSError:
            return
