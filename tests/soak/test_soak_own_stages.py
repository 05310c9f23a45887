"""A board's own boot stages: what may be written, and what a hostile console does with it."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from soak_plans import wakeup_soak
from whylate.boards.open import declared_options
from whylate.boards.options import BoardOptions
from whylate.recording.console.boot_stages import DEFAULTS, MOST_LINE, MOST_LINES, find_boot_stages
from whylate.run.errors import RequestError
from whylate.soak.journal import SoakJournal
from whylate.soak.own_stages import (
    MOST_PARTS,
    MOST_PATTERNS,
    MOST_STAGES,
    declared_stages,
    read_stages,
    with_defaults,
)

ENVIRONMENT = """\
targets:
  board7:
    resources: []
    options: {whylate: {boot-stages: {app: 'app: ready', rom: []}}}
  bare: {resources: []}
"""


def test_own_stages_are_added_replaced_and_left_out(tmp_path: Path) -> None:
    file = tmp_path / "stages.toml"
    file.write_text('app = "app: * ready"\nkernel = ["Linux version "]\ngrub = []\n')
    stages = read_stages(file)
    assert [name for name in stages if name not in DEFAULTS] == ["app"]
    assert [name for name in DEFAULTS if name not in stages] == ["grub"]
    assert stages["kernel"] == ["Linux version "]
    assert tuple(stages["u-boot"]) == DEFAULTS["u-boot"]
    [seen] = find_boot_stages(b"nothing\n[    7.500000] app: 3 of 3 ready\n", stages)
    assert (seen.name, seen.kernel_s) == ("app", 7.5)


@pytest.mark.parametrize(
    ("table", "why"),
    [
        ({}, "has no boot stages"),
        ({"up": "it is up"}, "'up' is no name"),
        ({"a\x1b[31m": "abc"}, "is no name"),
        ({7: "abc"}, "is no name"),
        ({"app": 7}, "write a text, or a list"),
        ({"app": ["ready"] * (MOST_PATTERNS + 1)}, "write a text, or a list"),
        ({"app": [7]}, "is no text"),
        ({"app": ""}, "fewer than 3 characters"),
        ({"app": "*a*b*"}, "fewer than 3 characters"),
        ({"app": "two\nlines"}, "not a part of one line"),
        ({"app": "x" * 201}, "not a part of one line"),
        ({"app": "a*" * MOST_PARTS + "b"}, "more than 8 parts"),
        ({"app": r"U-Boot \d+"}, "looks like a regular expression"),
        ({"app": "(a+)+.*b"}, "looks like a regular expression"),
        ({f"stage {number}": "abc" for number in range(MOST_STAGES)}, "1 to 32 are looked for"),
        ({name: [] for name in DEFAULTS}, "makes 0 boot stages"),
    ],
)
def test_a_wrong_table_is_refused_in_one_line(table: object, why: str) -> None:
    with pytest.raises(RequestError) as error:
        with_defaults(table, "stages.toml")
    assert str(error.value).startswith("stages.toml")
    assert why in str(error.value)
    assert str(error.value).isprintable()


@pytest.mark.parametrize("pattern", ["Starting kernel ...*", "[ OK ] Started (app) $5 ^ {a|b}"])
def test_what_consoles_print_is_no_regular_expression(pattern: str) -> None:
    assert with_defaults({"app": pattern}, "")["app"] == [pattern]


@pytest.mark.parametrize("content", [b"a = ", b"\xff", b"# " + b"x" * (1 << 16), b"a = nan"])
def test_a_file_that_is_no_table_of_texts_is_refused(tmp_path: Path, content: bytes) -> None:
    file = tmp_path / "stages.toml"
    file.write_bytes(content)
    with pytest.raises(RequestError, match=r"stages\.toml"):
        read_stages(file)


def test_a_bench_declares_the_stages_of_its_boards(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LG_ENV", str(tmp_path / "bench.yaml"))
    (tmp_path / "bench.yaml").write_text(ENVIRONMENT)
    stages = declared_stages("board7", declared_options("board7", BoardOptions()))
    assert stages is not None
    assert stages["app"] == ["app: ready"]
    assert "rom" not in stages
    for name in ("bare", "nobody", "pc", "local", "ssh://root@board7"):
        assert declared_stages(name, declared_options(name, BoardOptions())) is None
    (tmp_path / "bench.yaml").write_text(ENVIRONMENT.replace("'app: ready'", "['.*']"))
    with pytest.raises(RequestError, match=r"board7: options\.whylate\.boot-stages: app: '\.\*'"):
        declared_stages("board7", declared_options("board7", BoardOptions()))


def test_a_soak_is_resumed_with_the_same_stages_alone(tmp_path: Path) -> None:
    stages = with_defaults({"app": "app: ready"}, "")
    with SoakJournal(tmp_path / "s", wakeup_soak(boot_stages=stages)):
        pass
    with SoakJournal(tmp_path / "s", wakeup_soak(boot_stages=stages)):
        pass
    for others in (None, with_defaults({"app": "another"}, "")):
        with pytest.raises(RequestError, match=r"other boot stages \(app: app: ready, not "):
            SoakJournal(tmp_path / "s", wakeup_soak(boot_stages=others))


def test_of_a_line_and_of_a_log_a_part_is_searched() -> None:
    assert not find_boot_stages(b"\n" + b"a" * MOST_LINE + b"ready\n", {"app": ["ready"]})
    assert not find_boot_stages(b"\nready" + b"a" * MOST_LINE + b"up\n", {"app": ["ready*up"]})
    many = b"ready\n" * (MOST_LINES + 10)
    [seen] = find_boot_stages(many, {"app": ["ready"]})
    assert seen.times == MOST_LINES


@pytest.mark.parametrize(
    "log",
    [
        b"\n" * (4 << 20),
        b"aaa\n" * (1 << 20),
        b"aaab\n" * (1 << 20),
        (b"a" * 1000 + b"\n") * 4096,
        b"a" * (8 << 20),
    ],
    ids=["empty", "first words", "whole", "long", "endless"],
)
def test_no_console_keeps_the_search_long(log: bytes) -> None:
    hard = [f"aaa{'a*' * (MOST_PARTS - 1)}{number}" for number in range(MOST_PATTERNS)]
    stages = with_defaults({f"hard {n}": hard for n in range(8)} | {"easy": "aaab"}, "")
    began = time.process_time()
    find_boot_stages(log, stages)
    assert time.process_time() - began < 8
