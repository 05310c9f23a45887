"""Replaced words are counted where they are."""

from __future__ import annotations

from pathlib import Path

from words import WORDS, count_words


def test_words_are_counted_in_each_file(tmp_path: Path) -> None:
    (tmp_path / "src").mkdir()
    (tmp_path / "src/a.py").write_text("for one in runs:\n    found = one\nfor one in cpus: ...\n")
    (tmp_path / "README.md").write_text("The samples of a lane.\n")
    counts = count_words(tmp_path)
    assert set(counts) == set(WORDS)
    assert counts["loop variable one"] == {"src/a.py": 2}
    assert counts["result variable found"] == {"src/a.py": 1}
    assert counts["lane"] == {"README.md": 1}
    assert counts["trial"] == {}
