"""Effects of several knobs: their sizes, and how often nothing is taken for something."""

from __future__ import annotations

import numpy as np
import pytest

from whylate.stats.comparison import factorial as module
from whylate.stats.comparison.factorial import combinations_of, fit_effects, holm

WEIGHTS = np.array([1.0, 1.0])


def runs(
    rng: np.random.Generator, rounds: int, knobs: int, sd: float, **effects: float
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return values, settings and rounds; effects: by the names of their knobs."""
    settings = np.array(combinations_of(knobs) * rounds)
    number = np.repeat(np.arange(rounds), 2**knobs)
    values = sd * rng.standard_normal((len(settings), 2))
    values += rng.standard_normal((rounds, 2))[number]
    signs = 2 * settings - 1
    for name, size in effects.items():
        columns = ["abcd".index(letter) for letter in name]
        values[:, 0] += size / 2 * signs[:, columns].prod(axis=1)
    return values, settings, number


def test_effects_are_estimated_with_their_intervals() -> None:
    rng = np.random.default_rng(1)
    found = fit_effects(*runs(rng, 12, 2, 0.05, a=0.4, ab=-0.2), WEIGHTS, rng)
    assert found.names == ((0,), (1,), (0, 1))
    np.testing.assert_allclose(found.estimate[:, 0], [0.4, 0.0, -0.2], atol=0.06)
    assert found.degrees == 48 - 3 - 12
    assert (found.low < found.estimate).all()
    assert found.adjusted[0] <= 0.01
    assert found.adjusted[2] <= 0.01
    assert found.adjusted[1] > 0.05


def test_intervals_hold_the_effect_as_often_as_they_say() -> None:
    rng = np.random.default_rng(2)
    held = 0
    for _ in range(300):
        values, settings, number = runs(rng, 5, 2, 0.3, b=0.5)
        fit = factorial_without_tests(values, settings, number, rng)
        held += int(fit.low[1, 0] <= 0.5 <= fit.high[1, 0])
    assert held >= 0.92 * 300


def factorial_without_tests(
    values: np.ndarray, settings: np.ndarray, number: np.ndarray, rng: np.random.Generator
) -> module.Effects:
    before, module.PERMUTATIONS = module.PERMUTATIONS, 2
    try:
        return fit_effects(values, settings, number, WEIGHTS, rng)
    finally:
        module.PERMUTATIONS = before


def test_nothing_is_seldom_taken_for_an_effect(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "PERMUTATIONS", 200)
    rng = np.random.default_rng(3)
    wrong = 0
    repetitions = 200
    for _ in range(repetitions):
        # One real main effect, beside which the others are to stay silent.
        found = fit_effects(*runs(rng, 4, 2, 0.2, a=0.8), WEIGHTS, rng)
        wrong += int((found.adjusted[1:] <= 0.05).any())
    assert wrong <= 0.09 * repetitions


def test_holm_is_bonferroni_step_by_step() -> None:
    np.testing.assert_allclose(holm(np.array([0.01, 0.04, 0.03])), [0.03, 0.06, 0.06])
    np.testing.assert_allclose(holm(np.array([0.5, 0.9])), [1.0, 1.0])


def test_what_cannot_be_told_apart_is_refused() -> None:
    rng = np.random.default_rng(4)
    values, settings, number = runs(rng, 4, 2, 0.1)
    confounded = np.column_stack([settings[:, 0], settings[:, 0]])
    with pytest.raises(ValueError, match="not every combination"):
        fit_effects(values, confounded, number, WEIGHTS, rng)
    with pytest.raises(ValueError, match="more rounds"):
        fit_effects(values[:4], settings[:4], number[:4], WEIGHTS, rng)
    with pytest.raises(ValueError, match="1 to 4 knobs"):
        fit_effects(values, np.zeros((16, 5), int), number, WEIGHTS, rng)
