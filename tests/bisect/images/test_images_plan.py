"""Plans of bisections of images, and what a board says of a hybrid."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hybrid_roots import item_named, roots_of

from bisect_roots import write_root
from whylate.bisect.images.effect import items_in_force, items_reported
from whylate.bisect.images.model import NOUNS, ImagesPlan
from whylate.bisect.images.plan import images_plan, study_of
from whylate.bisect.outcome import NoOutcomeError
from whylate.bisect.sets.history import chosen_items, chosen_keys
from whylate.bisect.sets.model import Item, Sets
from whylate.bisect.sides.read import read_side
from whylate.recording.errors import RecordingError
from whylate.recording.manifest import Fact
from whylate.run.errors import RequestError
from whylate.study.plan_file import read_plan_file


def plan_of(tmp_path: Path, text: str, apply: list[str] | None = None) -> ImagesPlan:
    path = tmp_path / "plan.toml"
    path.write_text(text)
    sides = []
    for name in ("fast", "slow"):
        write_root(tmp_path / name, {"a": name})
        sides.append(read_side(str(tmp_path / name), lambda _: None))
    study = study_of(read_plan_file(path), path, [side.name for side in sides])
    patterns: dict[str, list[str]] = {"exclude": [], "keep": [], "pin": []}
    return images_plan(study, (sides[0], sides[1]), patterns, apply or [], None, 100, 0.3)


def test_the_sides_are_called_as_their_files(tmp_path: Path) -> None:
    plan = plan_of(tmp_path, "boards = ['pc']")
    assert [variant.name for variant in plan.study.variants] == ["fast", "slow"]
    file = read_plan_file(tmp_path / "plan.toml")
    study = study_of(file, tmp_path, ["a/root.tar.gz", "b/root.tar"])
    assert [variant.name for variant in study.variants] == ["image-1", "image-2"]


@pytest.mark.parametrize(
    ("text", "apply", "message"),
    [
        ("boards = ['local']", [], "local is no virtual board"),
        ("boards = ['pc']\nvirtual_time = true", ["x"], "in virtual time"),
        ("[variants.a]\n[variants.b]\nthp = 'never'", [], "compares images alone"),
        ("loads = { a = [], b = ['timer:1'] }", [], "one set of loads"),
    ],
)
def test_what_cannot_be_bisected_is_said(
    tmp_path: Path, text: str, apply: list[str], message: str
) -> None:
    with pytest.raises(RequestError, match=message):
        plan_of(tmp_path, text, apply)


def test_a_root_is_known_by_all_that_is_in_it(tmp_path: Path) -> None:
    plan = plan_of(tmp_path, "boards = ['pc']")
    (tmp_path / "fast" / "a").chmod(0o600)
    again = plan_of(tmp_path, "boards = ['pc']")
    assert again.sums == plan.sums  # write_root() has set the mode again
    write_root(tmp_path / "fast", {"b": "more"})
    assert plan_of(tmp_path, "boards = ['pc']").sums[0] != plan.sums[0]


def test_many_items_are_ranges_in_the_journal(tmp_path: Path) -> None:
    items = tuple(Item(str(number), "x", None, None) for number in range(1000))
    sets = Sets(plan_of(tmp_path, "boards = ['pc']"), items, NOUNS)
    rng = np.random.default_rng(1)
    for chosen in (np.ones(1000, bool), np.zeros(1000, bool), rng.random(1000) < 0.5):
        keys = chosen_keys(sets, chosen)
        assert (chosen_items(sets, keys) == chosen).all()
    assert chosen_keys(sets, np.ones(1000, bool)) == ["0-999"]
    with pytest.raises(RecordingError, match="the plan has not"):
        chosen_items(sets, ["5-1000"])


def facts(release: str, words: list[str]) -> list[Fact]:
    """Return what a board reports."""
    return [
        Fact("kernel_release", release, "uname"),
        Fact("kernel_command_line", words, "/proc/cmdline"),
    ]


def test_what_a_board_reports_is_in_force(tmp_path: Path) -> None:
    for side, line in (("first", "x=1 quiet\n"), ("second", "x=2\n")):
        write_root(tmp_path / side, {"boot/vmlinuz-6.1": "kernel", "boot/cmdline.txt": line})
    with roots_of(tmp_path / "first", tmp_path / "second", tmp_path) as roots:
        chosen = np.zeros(2, bool)
        chosen[item_named(roots, "quiet")] = True
        hybrid = roots.hybrid(chosen, second_base=False)
        reported = facts("6.1", ["x=1", "rw"])
        assert (items_in_force(roots, hybrid, chosen, reported) == chosen).all()
        # The board has its own "quiet": it is as in the first root, whatever was chosen.
        in_force = items_in_force(roots, hybrid, chosen, facts("6.1", ["x=1", "quiet"]))
        assert not in_force.any()
        with pytest.raises(NoOutcomeError, match=r"runs kernel 6\.12"):
            items_in_force(roots, hybrid, chosen, facts("6.12", ["x=1"]))
        with pytest.raises(NoOutcomeError, match="x=1 of the hybrid is not on"):
            items_in_force(roots, hybrid, chosen, facts("6.1", ["x=2"]))


def test_a_board_overrules_what_a_command_has_printed(tmp_path: Path) -> None:
    for side, release, line in (("first", "6.1", "x=1\n"), ("second", "6.12", "x=2 quiet\n")):
        files = {f"boot/vmlinuz-{release}": release, "boot/cmdline.txt": line}
        write_root(tmp_path / side, files | {f"lib/modules/{release}/m": release, "etc/a": side})
    with roots_of(tmp_path / "first", tmp_path / "second", tmp_path) as roots:
        names = ["boot/vmlinuz", "etc/a:1", "quiet", "x"]
        places = [item_named(roots, name) for name in names]
        all_taken = np.ones(len(roots.items), bool)
        reported = items_reported(roots.items, all_taken, facts("6.1", ["x=1", "rw"]))
        assert reported[places].tolist() == [False, True, False, False]
        reported = items_reported(roots.items, ~all_taken, facts("6.12", ["x=2", "quiet"]))
        assert reported[places].tolist() == [True, False, True, True]
        # Where the report is of neither side, what was printed counts.
        reported = items_reported(roots.items, all_taken, facts("5.4", ["x=3", "quiet"]))
        assert reported[places].tolist() == [True, True, True, True]
