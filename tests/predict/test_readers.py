"""Who calls a function: samples of perf, of a program whose share is known.

data/readers.txt.gz: `perf script --ns` of two threads that spin for 200 turns in read_device() and
for 800 in think(), by turns; three of four calls are update()'s, the others log_line()'s.
"""

from __future__ import annotations

import gzip
import io
import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner, Result

from whylate.cli import whylate
from whylate.predict import readers
from whylate.predict.readers import NOT_A_LOSS, Readers, predict_readers
from whylate.recording.errors import RecordingError
from whylate.recording.traces import cpu_samples
from whylate.recording.traces.cpu_samples import CpuSamples, read_cpu_samples
from whylate.stats.closed_network import throughput
from whylate.stats.sampled_share import SampledShare

TEXT = gzip.decompress((Path(__file__).parent / "data" / "readers.txt.gz").read_bytes())


def read(text: bytes = TEXT, function: str = "read_device", comm: str | None = None) -> CpuSamples:
    return read_cpu_samples(io.BytesIO(text), "samples", function, comm)


def predict(samples: CpuSamples, *cpus: int, service_ns: int | None = None) -> Readers:
    return predict_readers("s", "read_device", samples, cpus, service_ns)


def test_the_share_of_a_function_is_found_with_its_callers() -> None:
    answer = predict(read(comm="readers"))
    assert answer.share.low < 0.2 < answer.share.high
    assert answer.share.high - answer.share.low < 0.1
    by_caller = {caller.names[0]: caller.samples for caller in answer.paths}
    assert by_caller["update"] / by_caller["log_line"] == pytest.approx(3, rel=0.4)
    assert [caller.names for caller in answer.threads] == [["readers"]]
    # Of the time of all threads it is less.
    assert predict(read()).share.share < answer.share.share


def test_a_function_that_others_call_has_their_samples_too() -> None:
    samples = read(function="think", comm="readers")
    assert samples.inside.mean() == pytest.approx(0.78, abs=0.05)
    assert sum(samples.by_path.values()) == samples.inside.sum()
    assert read(function="spin", comm="readers").inside.mean() > 0.9
    assert not read(function="rea").inside.any()


def test_the_network_has_this_share_at_this_number_of_cpus() -> None:
    samples = read(comm="readers")
    answer = predict(samples, 2, 4, 72, service_ns=1_000)
    think = answer.think_per_service
    assert think is not None
    # What is not thought is the share.
    assert 1 - throughput(2, think, 1.0) * think / 2 == pytest.approx(answer.share.share)
    two, four, many = answer.predicted
    assert two.kept == pytest.approx(1 - answer.share.share)
    assert two.low < two.kept < two.high
    # More CPUs lose far more than that share.
    assert 1 - four.kept > answer.share.share
    assert 1 - many.kept > 0.9
    assert many.throughput == pytest.approx(1.0, rel=0.01)
    assert answer.notes == [NOT_A_LOSS]
    assert NOT_A_LOSS not in answer.supposes


def test_without_any_sample_in_it_there_is_no_model() -> None:
    answer = predict(read(function="no_such", comm="readers"), 72)
    assert answer.predicted == []
    assert answer.no_model == "no sample is in read_device"


@pytest.mark.parametrize(("low", "high"), [(0.0, 0.9), (1e-15, 0.9), (0.1, 1.0), (0.0, 1.0)])
def test_a_limit_that_no_think_time_gives_leaves_the_rest_of_the_answer(
    monkeypatch: pytest.MonkeyPatch, low: float, high: float
) -> None:
    share = SampledShare(0.2, low, high, 1.0)
    monkeypatch.setattr(readers, "estimate_share", lambda *_: share)
    answer = predict(read(comm="readers"), 4)
    assert answer.no_model == ""
    assert answer.think_per_service is not None
    assert (answer.think_low is None) == (high == 1.0)
    assert (answer.think_high is None) == (low < 0.1)
    (four,) = answer.predicted
    assert (four.low == 0.0) == (high == 1.0)
    assert (four.high == 1.0) == (low < 0.1)
    assert four.low < four.kept < four.high


def test_a_function_that_all_samples_are_in_leaves_no_think_time() -> None:
    samples = read(comm="readers")
    answer = predict(replace(samples, inside=np.ones_like(samples.inside)), 4)
    assert answer.no_model == "all samples are in read_device: none is left between two calls"
    assert (answer.predicted, answer.think_low, answer.think_high) == ([], None, None)


@pytest.mark.parametrize(
    ("event", "name"),
    [
        (b"     250000 cycles:P: ", "cycles:P"),
        (b"1 cpu/cycles/P: ", "cpu/cycles/P"),
        (b"sched:sched_switch: prev_comm=a", "sched:sched_switch"),
        (b"cpu-clock:u: ", "cpu-clock:u"),
        (b"cpu-clock-other: ", "cpu-clock-other"),
        (b"", "an unnamed event"),
    ],
)
def test_samples_that_do_not_come_at_equal_times_are_refused(event: bytes, name: str) -> None:
    text = b"a 1 [000] 1.000001: " + event + b"\n\t  7f read_device (x)\n"
    with pytest.raises(RecordingError, match=f"samples has samples of {name}, .*-e cpu-clock"):
        read(text)


@pytest.mark.parametrize(
    "event", [b"cpu-clock: ", b"1003009 cpu-clock:ppp: ", b"1 cpu-clock:pppH: 7f main+0x1 (a)"]
)
def test_samples_of_the_clock_of_each_cpu_count(event: bytes) -> None:
    text = b"a 1 [000] 1.000001: " + event + b"\n\t  7f read_device (x)\n"
    assert read(text).inside.tolist() == [True]


def test_damaged_text_is_refused_or_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(RecordingError, match="no samples"):
        read(b"hello\n")
    with pytest.raises(RecordingError, match="no samples of a thread 'x'"):
        read(comm="x")
    head = b"a 1 [000] 1.000001: cpu-clock: \n"
    samples = read(head + b"\t  7f [unknown] ([unknown])\n\n" + head + b"what is this\n\n" + head)
    assert (len(samples.cpu), samples.without_path, samples.unread) == (3, 2, 1)
    # A time that no clock has.
    assert read(head + head.replace(b" 1.0", b" 9999999999.0")).unread == 1
    monkeypatch.setattr(cpu_samples, "MOST_SAMPLES", 1)
    with pytest.raises(RecordingError, match="shorter part"):
        read(head + b"\n" + head)


def test_the_verb_prints_the_share_and_that_it_is_no_loss(tmp_path: Path) -> None:
    (tmp_path / "s").write_bytes(TEXT)

    def run(*arguments: str) -> Result:
        return CliRunner().invoke(whylate, ["predict", "readers", str(tmp_path / "s"), *arguments])

    done = run("--function", "read_device", "--comm", "readers", "--cpus", "72")
    assert done.exit_code == 0, done.output
    for part in ("of the time of 2 CPUs", "update ← work", "is not the loss", "72 CPUs keep"):
        assert part in " ".join(done.output.split())
    document = json.loads(run("--function", "read_device", "--json").stdout)
    assert document["format"] == "whylate-readers"
    assert run("--function", "no_such").exit_code == 3
