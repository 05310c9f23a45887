"""Whatever a log says, nothing raises, everything stays bounded, and secrets stay out."""

from __future__ import annotations

import re
import time
import unicodedata

import msgspec
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from test_bootlog import decoded, lines_of

from whylate.boards.facts.bootlog import bootlog_facts
from whylate.boards.facts.bootlog.log import LENGTH_LIMIT, LINE_LIMIT, parse
from whylate.recording.manifest import Fact

LINES = [line for name in ("virt-arm64", "sabrelite", "pc") for line in lines_of(name)]
#: Beginnings that the decoder looks for, to be followed by anything.
PREFIXES = sorted(
    {
        match.group()
        for line in LINES
        if (match := re.match(r"(?:<\d>)?\[[ .\d]+\] [A-Za-z0-9_.-]+:? [A-Za-z]*", line))
    }
)
WORDS = st.one_of(
    st.text(max_size=60),
    st.sampled_from(["0x76c70001", "9" * 400, "-1", "1.5", "(((", "\x1b[31m", "\u202e", "\ud800"]),
)
ANY_LINES = st.lists(
    st.one_of(
        st.text(max_size=200),
        st.sampled_from(LINES),
        st.builds(lambda prefix, words: prefix + "".join(words), st.sampled_from(PREFIXES),
                  st.lists(WORDS, max_size=4)),
        st.builds(lambda line, at, word: line[:at] + word + line[at + 1 :],
                  st.sampled_from(LINES), st.integers(0, 200), WORDS),
    ),
    max_size=60,
)  # fmt: skip


def check(facts: list[Fact]) -> None:
    msgspec.json.encode(facts)
    assert len({fact.name for fact in facts}) == len(facts)
    for fact in facts:
        texts = [fact.source]
        if isinstance(fact.value, list):
            assert len(fact.value) <= 256
            texts += fact.value
        elif isinstance(fact.value, str):
            texts.append(fact.value)
        elif isinstance(fact.value, int):
            assert -(2**63) <= fact.value < 2**63
        for text in texts:
            assert len(text) <= 400
            assert not any(unicodedata.category(c) in {"Cc", "Cf", "Cs", "Zl", "Zp"} for c in text)


@settings(max_examples=300, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(ANY_LINES, st.text(max_size=30))
def test_no_line_makes_it_raise_and_all_it_returns_is_bounded_and_printable(
    lines: list[str], source: str
) -> None:
    check(bootlog_facts(lines, source))


@pytest.mark.parametrize(
    "line",
    [
        "x" * 1_000_000,
        "[" * 100_000 + " 0.0] Linux version 6",
        " " * 500_000 + "Linux version 6.1",
        "Linux version 6.1.0 (" + "gcc-" * 100_000,
        "Linux version 6.1.0 #" + "1" * 100_000 + " PREEMPT" * 10_000,
        "clocksource: tsc: mask: 0xff " + "max_idle_ns: " * 50_000,
        "Kernel command line: " + '"' * 100_000 + "a=b " * 50_000,
        "L2C-310 errata" + " 752271" * 100_000 + " enabled",
    ],
)
def test_a_very_long_line_is_cut_and_costs_no_more_than_a_long_one(line: str) -> None:
    assert all(len(parsed.text) <= LENGTH_LIMIT for parsed in parse([line], "x").lines)
    began = time.process_time()
    check(bootlog_facts([line] * 20, "kernel log"))
    whole_s = time.process_time() - began
    began = time.process_time()
    check(bootlog_facts([line[:LENGTH_LIMIT]] * 20, "kernel log"))
    assert whole_s < 10 * (time.process_time() - began) + 0.5


def test_time_grows_with_the_number_of_lines_and_not_faster() -> None:
    def cost_s(count: int) -> float:
        began = time.process_time()
        check(bootlog_facts((LINES * (count // len(LINES) + 1))[:count], "kernel log"))
        return time.process_time() - began

    cost_s(1000)
    short_s, long_s = min(cost_s(1500) for _ in range(3)), min(cost_s(12_000) for _ in range(2))
    assert long_s < 8 * 4 * short_s + 0.2


def test_a_log_that_never_ends_is_cut() -> None:
    lines = [f"clocksource: c{i}: mask: 0xff" for i in range(100_000)]
    assert len(parse(lines, "x").lines) == LINE_LIMIT
    facts = decoded(lines)
    listed = facts["clock_sources_registered"].value
    assert isinstance(listed, list)
    assert len(listed) == 64
    assert listed[-1].endswith("more")


SECRETS = [
    "Kernel command line: quiet token=HUSH ro",
    "Command line: quiet password=HUSH",
    "[    0.000000] Kernel command line: rd.luks.key=HUSH -- --token HUSH",
]


@pytest.mark.parametrize("line", SECRETS)
def test_a_secret_on_the_command_line_is_in_no_fact_and_in_no_source(line: str) -> None:
    facts = decoded([line])
    assert b"HUSH" not in msgspec.json.encode(list(facts.values()))
    value = facts["boot_command_line"].value
    assert isinstance(value, list)
    assert any("<redacted>" in word for word in value)


def test_a_command_line_that_the_kernel_broke_into_pieces_is_whole_again() -> None:
    facts = decoded(
        [
            "[    0.0] Kernel command line: console=ttyS0 --token \\",
            "[    0.0] Kernel command line: HUSH isolcpus=2-3 \\",
            "[    0.0] Kernel command line: quiet",
        ]
    )
    assert facts["boot_command_line"].value == [
        "console=ttyS0",
        "--token",
        "<redacted>",
        "isolcpus=2-3",
        "quiet",
    ]


def test_a_secret_in_lines_that_repeat_the_command_line_is_not_recorded() -> None:
    log = [
        "[    0.0] Linux version 6.1.0 (a@b) (gcc 12) #1 SMP PREEMPT_RT x",
        "[    0.0] Kernel command line: token=HUSH",
        '[    0.0] Unknown kernel command line parameters "token=HUSH", will be passed to user',
        "[    1.0] Run /init as init process",
        "[    1.0]   with environment:",
        "[    1.0]     token=HUSH",
    ]
    assert b"HUSH" not in msgspec.json.encode(list(decoded(log).values()))
