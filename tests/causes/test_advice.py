"""Every cause has its file in the catalogue, and every file its cause."""

from __future__ import annotations

from importlib import resources

import pytest

from whylate.causes.advice import load_advice
from whylate.causes.window.piece import Cause


@pytest.mark.parametrize("cause", list(Cause))
def test_every_cause_has_words(cause: Cause) -> None:
    words = load_advice(cause)
    assert min(len(words.what), len(words.check), len(words.helps)) > 20


def test_every_file_is_of_a_cause() -> None:
    folder = resources.files("whylate.causes").joinpath("catalogue")
    names = {file.name.removesuffix(".toml") for file in folder.iterdir()}
    assert names == {cause.value.lower().replace(" ", "_") for cause in Cause}
