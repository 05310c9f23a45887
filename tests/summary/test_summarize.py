import json
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from summary_examples import account, cpu, latencies, manifest

from whylate.recording.manifest import Fact
from whylate.recording.samples import CpuSamples
from whylate.summary.as_json import to_json
from whylate.summary.model import Requirement, Summary, Trust
from whylate.summary.requirements import RequirementError
from whylate.summary.summarize import summarize
from whylate.summary.verdicts import overall

KEYS = ["p50", "p90", "p99", "p99.9", "p99.99", "max"]


def _summary(*samples: CpuSamples, require: Sequence[str] = (), **parts: Any) -> Summary:
    return summarize(samples, manifest(samples, **parts), "run-1", require)


def _verdict(text: str, *samples: CpuSamples, **parts: Any) -> Requirement:
    return _summary(*samples, require=[text], **parts).requirements[0]


def test_every_quantile_of_every_cpu_is_given_or_refused_with_a_reason() -> None:
    found = _summary(cpu(1, latencies(20_000, 1)), cpu(0, latencies(20_000, 2)))
    assert [one.cpu for one in found.per_cpu] == [0, 1]
    for figures in (found.together, *found.per_cpu):
        assert list(figures.latency_ns) == KEYS
        for name, one in figures.latency_ns.items():
            assert (one.value is None) == (one.reason is not None), name
    assert found.together.latency_ns["p99.99"].reason == (
        "p99.99 needs 10 activations beyond it, that is 100,000 activations (50 s); "
        "there are 40,000"
    )
    # 5 us and an exponential of 10 us: its p99 is 51.05 us.
    assert found.together.latency_ns["p99"].value == pytest.approx(51_050, rel=0.02)


def test_together_is_all_cpus_and_their_accounts() -> None:
    found = _summary(cpu(0, [1, 2, 3]), cpu(1, [7, 9]))
    together = found.together
    assert (together.expected, together.seen, together.min_ns) == (5, 5, 1)
    assert together.latency_ns["max"].value == 9


@pytest.mark.parametrize("values", [[], [7_000]])
def test_a_run_of_none_or_one_is_summarised_and_refuses(values: Any) -> None:
    found = _summary(cpu(0, values), require=["p50<1ms", "max<1ms", "over(1ms)<1/1s"])
    assert found.together.latency_ns["p50"].value is None
    assert found.exceedance.once_in_s is None
    assert found.exceedance.reason
    assert "pass" not in {one.verdict for one in found.requirements}


def test_no_cpu_at_all_is_summarised() -> None:
    found = summarize([], manifest([]), "empty")
    assert found.per_cpu == []
    assert found.trust.verdict == "no verdict"


def test_only_overruns_give_lower_bounds() -> None:
    found = _summary(cpu(0, np.arange(1_000), overrun=range(1_000)))
    p50 = found.together.latency_ns["p50"]
    assert (p50.value, p50.high, p50.at_least) == (499, None, True)
    assert "overruns are known only by a lower bound" in (p50.reason or "")
    assert found.together.latency_ns["max"].at_least is True
    assert "overrun" in (found.exceedance.reason or "")


def test_a_cpu_with_a_gap_of_dropped_activations_has_no_verdict_and_all_figures() -> None:
    values = latencies(20_000)
    numbers = np.r_[0:10_000, 15_000:25_000]
    gap = CpuSamples(0, 0, 10**6, numbers, values, np.zeros(20_000, dtype=bool))
    found = _summary(gap, accounts=[account(gap, expected=25_000, dropped=5_000)])
    assert found.trust.verdict == "no verdict"
    assert found.together.dropped == 5_000
    assert found.together.latency_ns["p99"].value is not None


def test_negative_latencies_reach_the_figures() -> None:
    found = _summary(cpu(0, np.arange(-500, 500)))
    assert found.together.min_ns == -500
    assert found.together.latency_ns["p50"].value == -1


def test_facts_are_named() -> None:
    facts = [Fact("kernel_release", "6.12.0-rt", "uname"), Fact("cpu_model", "A57", "x")]
    found = _summary(cpu(0, [1, 2]), facts=facts)
    assert (found.kernel, found.cpu_model) == ("6.12.0-rt", "A57")


def test_a_quantile_passes_fails_or_stays_open_by_its_interval() -> None:
    cpu_series = cpu(0, latencies(50_000))
    assert _verdict("p99<60us", cpu_series).verdict == "pass"
    assert _verdict("p99<40us", cpu_series).verdict == "fail"
    near = _verdict("p99<51.1us", cpu_series)
    assert near.verdict == "inconclusive"
    assert "between" in near.why


def test_at_most_and_below_differ_at_the_limit() -> None:
    cpu_series = cpu(0, np.full(50_000, 5_000))
    assert _verdict("p99<5us", cpu_series).verdict == "fail"
    assert _verdict("p99<=5us", cpu_series).verdict == "pass"
    assert _verdict("max<5us", cpu_series).verdict == "fail"
    assert _verdict("max<=5us", cpu_series).verdict == "inconclusive"


def test_a_refused_quantile_is_inconclusive() -> None:
    assert _verdict("p99.99<1s", cpu(0, latencies(20_000))).verdict == "inconclusive"


def test_a_maximum_never_passes_and_the_sentence_names_a_rate_that_does() -> None:
    cpu_series = cpu(0, latencies(100_000))
    found = _verdict("max<500us", cpu_series)
    assert found.verdict == "inconclusive"
    form = found.why.rsplit("; ", 1)[1].removesuffix(" would pass.")
    assert form.startswith("over(500us)<1/")
    assert _verdict(form, cpu_series).verdict == "pass"


def test_one_activation_at_the_limit_fails_a_maximum() -> None:
    values = latencies(10_000)
    values[77] = 500_000
    assert _verdict("max<500us", cpu(0, values)).verdict == "fail"
    assert "at least" in _verdict("max<400us", cpu(0, values, overrun=[77])).why


def test_a_rate_passes_fails_or_stays_open() -> None:
    # One in 1000 at 1 kHz: once a second for 200 s.
    cpu_series = cpu(0, latencies(200_000))
    limit = f"over({5_000 + round(10_000 * np.log(1000))}ns)"
    assert _verdict(f"{limit}<1/500ms", cpu_series).verdict == "pass"
    assert _verdict(f"{limit}<1/2s", cpu_series).verdict == "fail"
    assert _verdict(f"{limit}<1/1s", cpu_series).verdict == "inconclusive"


def test_what_can_not_be_trusted_never_passes_but_a_maximum_that_was_exceeded_still_fails() -> None:
    cpu_series = cpu(0, latencies(50_000))
    lost = [account(cpu_series, expected=50_001, dropped=1)]
    require = ["p99<60us", "p99<40us", "over(1ms)<1/1s", "max<1ms", "max<50us"]
    found = _summary(cpu_series, require=require, accounts=lost)
    verdicts = [one.verdict for one in found.requirements]
    assert verdicts == ["no verdict", "no verdict", "no verdict", "no verdict", "fail"]
    assert overall(found.requirements, found.trust) == "fail"
    ordinary = [account(cpu_series, policy="other")]
    assert _verdict("max<50us", cpu_series, accounts=ordinary).verdict == "no verdict"


def test_a_requirement_that_can_not_be_read_is_refused() -> None:
    with pytest.raises(RequirementError):
        _summary(cpu(0, [1]), require=["p99 is fine"])


@pytest.mark.parametrize(
    ("verdicts", "trust", "joined"),
    [
        ([], "ok", "pass"),
        (["pass", "pass"], "ok", "pass"),
        (["pass", "inconclusive"], "ok", "inconclusive"),
        (["inconclusive", "fail"], "ok", "fail"),
        ([], "no verdict", "no verdict"),
        (["pass"], "no verdict", "no verdict"),
        (["fail", "no verdict"], "no verdict", "fail"),
        (["no verdict", "pass"], "ok", "no verdict"),
    ],
)
def test_the_worst_decides_over_all(verdicts: Any, trust: Any, joined: Any) -> None:
    requirements = [Requirement("x", verdict, "") for verdict in verdicts]
    assert overall(requirements, Trust(trust, [])) == joined


def test_the_json_object_is_plain_and_its_latencies_are_integers() -> None:
    found = _summary(cpu(0, latencies(20_000), overrun=[3]), require=["p99<60us"])
    plain = json.loads(json.dumps(to_json(found), allow_nan=False))
    assert plain["expected"] == plain["seen"] + plain["overrun"] + plain["dropped"] == 20_000
    assert plain["trust"] == "ok"
    assert plain["trust_reasons"] == []
    assert plain["verdict"] == "pass"
    assert list(plain["latency_ns"]) == KEYS
    for one in plain["latency_ns"].values():
        assert {"value", "low", "high"} <= set(one)
        assert all(isinstance(one[key], int | None) for key in ("value", "low", "high"))
    assert plain["latency_ns"]["max"]["at_least"] is True
    assert "reason" in plain["latency_ns"]["p99.99"]
    assert plain["per_cpu"][0]["cpu"] == 0
    assert plain["exceedance"]["above_ns"] == plain["latency_ns"]["max"]["value"]
    assert {"loads", "warnings", "requirements"} <= set(plain)


def test_drift_within_the_run_becomes_a_warning() -> None:
    rising = (latencies(50_000) * np.linspace(1, 1.5, 50_000)).astype(np.int64)
    assert "drift" in {one.code for one in _summary(cpu(0, rising)).warnings}
    assert "drift" not in {one.code for one in _summary(cpu(0, latencies(50_000))).warnings}
