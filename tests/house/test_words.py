"""The words that the glossary replaces stay out of code, messages and documentation."""

from __future__ import annotations

from pathlib import Path

from words import IDENTIFIERS, WORDS, count_words

ROOT = Path(__file__).parents[2]


def test_no_replaced_word_is_left() -> None:
    left = {word: files for word, files in count_words(ROOT).items() if files}
    assert left == {}


def test_words_are_counted_in_each_file(tmp_path: Path) -> None:
    (tmp_path / "src").mkdir()
    (tmp_path / "src/a.py").write_text("for one in runs:\n    found = one\n# one is said\n")
    (tmp_path / "src/b.c").write_text('/* found */ int told = 1; char *a = "said";\n')
    (tmp_path / "README.md").write_text("The samples of a lane, as one told.\n")
    counts = count_words(tmp_path)
    assert set(counts) == {*WORDS, *IDENTIFIERS}
    assert counts["one, found"] == {"src/a.py": 3}
    assert counts["told, said, says"] == {"src/b.c": 1}
    assert counts["lane"] == {"README.md": 1}
    assert counts["trial"] == {}
