from __future__ import annotations

import unicodedata

from hypothesis import given
from hypothesis import strategies as st

from whylate.text import is_number, plain, plain_lines


@given(st.text(alphabet=st.characters(), max_size=60))
def test_nothing_that_acts_gets_through(text: str) -> None:
    for character in plain(text):
        assert unicodedata.category(character) not in {"Cc", "Cf", "Cs", "Co", "Zl", "Zp"}


def test_a_control_character_is_shown_not_swallowed() -> None:
    assert plain("a\x1b[2Jb\x07") == "a\\x1b[2Jb\\x07"
    assert plain("\u202egnp") == "\\u202egnp"


def test_ordinary_text_of_any_language_stays_as_it_is() -> None:
    assert plain("Cortex-A72 µs ≥ 測試 é") == "Cortex-A72 µs ≥ 測試 é"


def test_long_text_is_cut_and_says_so() -> None:
    assert plain("x" * 500, 10) == "x" * 10 + "…"


def test_line_breaks_stay_only_where_a_block_is_shown() -> None:
    assert plain("a\nb") == "a b"
    assert plain_lines("a\nb\x1b") == "a\nb\\x1b"


def test_a_number_is_one_that_int_takes_and_no_longer_than_asked_for() -> None:
    texts = ["0", "007", "²", "٣", "", "-1", " 1", "1" * 19]
    assert [text for text in texts if is_number(text)] == ["0", "007"]
    assert is_number("99", 2)
    assert not is_number("100", 2)
