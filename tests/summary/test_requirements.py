import pytest
from hypothesis import given
from hypothesis import strategies as st

from whylate.quantities import format_exact_ns, format_seconds_down, format_short_ns, parse_ns
from whylate.summary.requirements import (
    LatencyLimit,
    RateLimit,
    RequirementError,
    parse_requirement,
)


@pytest.mark.parametrize(
    ("text", "statistic", "limit_ns", "inclusive"),
    [
        ("p99.9<100us", "p99.9", 100_000, False),
        ("p50 <= 1.5 ms", "p50", 1_500_000, True),
        ("p99.99≤80µs", "p99.99", 80_000, True),
        ("p90<80μs", "p90", 80_000, False),
        ("max<2s", "max", 2_000_000_000, False),
        (" p99<800ns ", "p99", 800, False),
    ],
)
def test_limits_of_latency_are_read(
    text: str, statistic: str, limit_ns: int, inclusive: bool
) -> None:
    assert parse_requirement(text) == LatencyLimit(text.strip(), statistic, limit_ns, inclusive)


@pytest.mark.parametrize(
    ("text", "limit_ns", "every_ns"),
    [
        ("over(100us)<1/10s", 100_000, 10 * 10**9),
        ("over( 1 ms ) < 1 / 2 min", 1_000_000, 120 * 10**9),
        ("over(100µs)<1/1h", 100_000, 3_600 * 10**9),
    ],
)
def test_limits_of_rate_are_read(text: str, limit_ns: int, every_ns: int) -> None:
    assert parse_requirement(text) == RateLimit(text.strip(), limit_ns, every_ns, False)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("", "not understood"),
        ("p99", "not understood"),
        ("p99>100us", "not understood"),
        ("p98<100us", "'p98' is not one of"),
        ("p99<100", "'100' is no latency"),
        ("p99<1min", "'1min' is no latency"),
        ("p99<0us", "no latency above zero"),
        ("p99<-5us", "no latency above zero"),
        ("p99<0.5ns", "whole nanoseconds"),
        ("p99<1e3us", "no latency"),
        ("p99<٣us", "no latency"),
        ("over(100us)<1/0s", "no duration above zero"),
        ("over(100us)<2/10s", "not understood"),
        ("over(10)<1/10s", "'10' is no latency"),
        ("over(100us)<100us", "not understood"),
        ("p99<" + "9" * 500 + "s", "too long"),
        ("p99<1us\nmax<2us", "not understood"),
    ],
)
def test_what_can_not_be_read_is_told_in_one_line(text: str, says: str) -> None:
    with pytest.raises(RequirementError) as caught:
        parse_requirement(text)
    assert says in str(caught.value)
    assert "\n" not in str(caught.value)


@given(st.text(max_size=100))
def test_any_text_is_read_or_refused_in_one_printable_line(text: str) -> None:
    refusal = None
    try:
        parse_requirement(text)
    except RequirementError as error:
        refusal = str(error)
    assert refusal is None or refusal.isprintable()


@given(st.integers(1, 10**17))
def test_an_exact_duration_is_read_back(ns: int) -> None:
    assert parse_ns(format_exact_ns(ns), latency=False) == ns


def test_numbers_are_written_for_people() -> None:
    assert [format_short_ns(ns) for ns in (-950, 95_310, 1_234_567, 2 * 10**9)] == [
        "−950 ns",
        "95.31 µs",
        "1.235 ms",
        "2 s",
    ]
    written = [format_seconds_down(s) for s in (0.0123, 3.39, 119, 121, 7_300, 10**6)]
    assert written == ["12 ms", "3.3 s", "119 s", "2.0 min", "2.0 h", "11 days"]
