"""A plan that contradicts itself cannot be written down."""

from __future__ import annotations

import pytest

from whylate.recording.workloads.clock import Clock, ClockPoint
from whylate.recording.workloads.command import Command, CommandPoint


def test_a_command_has_one_repetition_a_turn() -> None:
    points = [CommandPoint(("true",))]
    assert Command(points=points).repetitions == 1
    with pytest.raises(ValueError, match="one repetition"):
        Command(points=points, repetitions=2)


def test_a_benchmark_has_points() -> None:
    with pytest.raises(ValueError, match="without points"):
        Clock(points=[])


def test_a_turn_is_of_a_point_of_the_plan() -> None:
    with pytest.raises(ValueError, match="unknown point"):
        Clock(points=[ClockPoint("monotonic", 1)], order=[0, 1])
