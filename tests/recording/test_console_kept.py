"""The console's log as a part of a recording."""

from __future__ import annotations

from pathlib import Path

from whylate.recording.console import CUT, NAME, ConsoleWriter, read_console


def test_what_is_appended_is_copied_once(tmp_path: Path) -> None:
    log = tmp_path / "log"
    with ConsoleWriter(tmp_path) as writer:
        writer.copy(log)
        log.write_bytes(b"boot\n")
        writer.copy(log)
        writer.copy(log)
        log.write_bytes(b"boot\nmore\n")
        writer.copy(log)
    assert read_console(tmp_path) == b"boot\nmore\n"


def test_a_board_that_was_switched_off_and_on_again_is_kept_twice(tmp_path: Path) -> None:
    log = tmp_path / "log"
    with ConsoleWriter(tmp_path) as writer:
        log.write_bytes(b"a first boot\n")
        writer.copy(log)
        log.write_bytes(b"again\n")
        writer.copy(log)
    assert read_console(tmp_path) == b"a first boot\nagain\n"


def test_a_console_that_babbles_is_cut_and_the_cut_is_marked(tmp_path: Path) -> None:
    log = tmp_path / "log"
    log.write_bytes(b"x" * 1000)
    with ConsoleWriter(tmp_path, limit=300) as writer:
        writer.copy(log)
        log.write_bytes(b"x" * 2000)
        writer.copy(log)
    assert read_console(tmp_path) == b"x" * 300 + CUT


def test_what_is_no_text_of_the_board_s_is_sifted_out(tmp_path: Path) -> None:
    log = tmp_path / "log"
    log.write_bytes(b"a1b2")
    with ConsoleWriter(tmp_path, lambda data: data.translate(None, b"0123456789")) as writer:
        writer.copy(log)
    assert read_console(tmp_path) == b"ab"


def test_a_link_is_not_followed(tmp_path: Path) -> None:
    secret = tmp_path / "secret"
    secret.write_bytes(b"secret")
    (tmp_path / NAME).symlink_to(secret)
    assert read_console(tmp_path) is None
