"""`whylate facts --log`: a boot log that somebody pasted, without its board."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from whylate.cli import whylate

#: As a mailing list quotes it.
QUOTED = """\
>>> [    0.000000] Booting Linux on physical CPU 0x0
>>> [    0.000000] Linux version 4.1.18 (u@h) (gcc version 4.9.2) #1 SMP PREEMPT
>>> [    0.000000] L2C-310 errata 752271 769419 enabled
>>> [    0.000000] L2C-310 cache controller enabled, 16 ways, 1024 kB
>>> [    0.000000] L2C-310: CACHE_ID 0x410000c7, AUX_CTRL 0x76c70001
"""


def decoded(*words: str, text: str = "") -> dict[str, object]:
    result = CliRunner().invoke(whylate, ["facts", "--json", *words], input=text)
    assert result.exit_code == 0, result.output
    return {fact["name"]: fact["value"] for fact in json.loads(result.stdout)["facts"]}


def test_a_log_is_decoded_without_a_board(tmp_path: Path) -> None:
    (tmp_path / "log").write_text(QUOTED.replace(">>> ", ""))
    facts = decoded("--log", str(tmp_path / "log"))
    assert facts["boot_kernel"] == "4.1.18"
    assert facts["l2_range_ops_locked"] is False


def test_a_quoted_log_comes_through_a_pipe() -> None:
    facts = decoded("--log", "-", text=QUOTED)
    assert facts["boot_log"] == "from the boot on"
    assert facts["l2_errata"] == ["752271", "769419"]


def test_what_is_no_log_gives_no_facts() -> None:
    assert set(decoded("--log", "-", text="\x00\xff{}\n" * 3)) == {"boot_log"}


def test_a_log_and_a_board_are_not_read_at_once() -> None:
    result = CliRunner().invoke(whylate, ["facts", "local", "--log", "-"], input="")
    assert result.exit_code == 2
    assert "no board" in result.output


@pytest.mark.parametrize("line", ["Linux version 5.10", "[    1.5] L2C-310 errata 1 enabled"])
def test_one_line_is_enough(line: str) -> None:
    assert decoded("--log", "-", text=line)
