from __future__ import annotations

import pytest

from whylate.quantities import (
    format_amount,
    format_count,
    format_interval_ns,
    format_ns,
    format_percent,
    format_rate,
    format_seconds,
    format_span_ns,
)


@pytest.mark.parametrize(
    ("ns", "text"),
    [
        (0, "0 ns"),
        (7, "7 ns"),
        (812, "812 ns"),
        (1_000, "1.00 µs"),
        (12_345, "12.3 µs"),
        (412_345, "412 µs"),
        (999_400, "999 µs"),
        (999_600, "1.00 ms"),
        (9_996, "10.0 µs"),
        (30_412_000, "30.4 ms"),
        (2_500_000_000, "2.50 s"),
        (1_234_567_890_000, "1,235 s"),
        (-1_204, "−1.20 µs"),
        (-3, "−3 ns"),
    ],
)
def test_a_latency_has_three_digits_and_the_unit_a_person_would_choose(ns: int, text: str) -> None:
    assert format_ns(ns) == text


@pytest.mark.parametrize("ns", [float("nan"), float("inf")])
def test_what_is_no_time_is_not_written_as_one(ns: float) -> None:
    with pytest.raises(ValueError, match="finite"):
        format_ns(ns)


@pytest.mark.parametrize(
    ("low", "high", "text"),
    [
        (11_900, 12_800, "11.9–12.8"),
        (9_970, 10_100, "9.97–10.1"),
        (11_900, None, "11.9–∞"),
        (None, 12_800, "≤ 12.8"),
        (None, None, ""),
        (-3_100, -2_900, "−3.10 to −2.90"),
        (850_000, 1_400_000, "850–1,400"),
    ],
)
def test_an_interval_is_written_in_the_unit_of_its_value(
    low: int | None, high: int | None, text: str
) -> None:
    assert format_interval_ns(low, high, 12_300) == text


@pytest.mark.parametrize(
    ("ns", "text"),
    [
        (250_000, "250 µs"),
        (1_000_000, "1 ms"),
        (1_500_000, "1.5 ms"),
        (60_000_000_000, "60 s"),
        (120_000_000_000, "2 min"),
        (5_400_000_000_000, "1 h 30 min"),
        (90_000_000_000_000, "1 d 1 h"),
    ],
)
def test_a_planned_time_is_exact_and_has_no_idle_zeros(ns: int, text: str) -> None:
    assert format_span_ns(ns) == text


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(0.0123, "12 ms"), (34.2, "34 s"), (412, "6.9 min"), (8_640, "2.4 h"), (400_000, "4.6 days")],
)
def test_an_estimated_time_has_two_digits(seconds: float, text: str) -> None:
    assert format_seconds(seconds) == text


def test_counts_and_rates_are_written_for_people() -> None:
    assert format_count(120_000) == "120,000"
    assert format_rate(1.182e9, "bytes") == "1.18 GB/s"
    assert format_rate(187_200.0, "switches") == "187 k switches/s"
    assert format_rate(12, "forks") == "12 forks/s"
    assert format_amount(999_600, "B") == "1.00 MB"


def test_a_rate_that_was_not_measured_is_no_number() -> None:
    assert format_rate(None, "bytes") == "–"
    assert format_rate(float("nan"), "bytes") == "–"


@pytest.mark.parametrize(
    ("share", "decimals", "text"),
    [
        (0.958, 0, "96 %"),
        (0.958, 1, "95.8 %"),
        (-0.002, 1, "−0.2 %"),
        (-0.0004, 1, "0.0 %"),
        (-0.004, 0, "0 %"),
        (1, 0, "100 %"),
    ],
)
def test_a_share_is_a_percentage_without_the_sign_of_a_zero(
    share: float, decimals: int, text: str
) -> None:
    assert format_percent(share, decimals) == text


def test_a_change_in_percent_has_its_sign() -> None:
    assert format_percent(0.12, signed=True) == "+12 %"
    assert format_percent(-0.12, signed=True) == "−12 %"
    assert format_percent(0.0, signed=True) == "0 %"
