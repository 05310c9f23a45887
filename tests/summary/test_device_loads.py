"""Loads that drive a device: what is asked, and when a run beside one has no verdict."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner
from summary_examples import manifest

from whylate.cli import whylate
from whylate.recording.device_loads import device_report
from whylate.recording.load_rates import LoadAccounting
from whylate.recording.manifest import LoadReport
from whylate.recording.plan import LoadPlan
from whylate.run.errors import RequestError
from whylate.run.loads import load_text, parse_load
from whylate.summary.cautions import load_cautions
from whylate.summary.trust import assess_benchmark
from whylate.wire.messages import LoadDevice, LoadWork

SECOND = 10**9


def counted(second: int, interrupts: int, received: int) -> LoadDevice:
    return LoadDevice(0, second * SECOND, "eth0", "virtio1", interrupts, 0, 0, 0, 0, 0, received, 0)


def test_what_is_asked_is_kept_as_it_can_be_written_again() -> None:
    text = "net:10.0.2.2,udp,rate=100000000,size=1400,direction=in"
    assert load_text(parse_load("net:10.0.2.2,rate=100M,direction=in")) == text
    assert load_text(parse_load(text)) == text
    assert load_text(parse_load("block:/dev/vda,size=64k")) == "block:/dev/vda,size=65536"
    assert load_text(parse_load("net:2")) == "net:2"


@pytest.mark.parametrize(
    "text",
    ["net:board7", "net:10.0.2.2,rate=0", "net:10.0.2.2,udp,tcp", "net:10.0.2.2,x=1",
     "block:vda", "block:/dev/vda,size=1000", "nic", "nic:10.0.2.2"],
)  # fmt: skip
def test_what_cannot_be_asked_is_refused(text: str) -> None:
    with pytest.raises(RequestError):
        parse_load(text)


def test_rates_are_from_the_last_count_before_the_run() -> None:
    before = [counted(1, 100, 0), counted(2, 150, 1000)]
    during = [counted(3, 250, 2000), counted(4, 350, 3000)]
    report = device_report(before, during, (8000, 0))
    assert report is not None
    assert (report.interrupts_before_per_s, report.interrupts_per_s) == (50, 100)
    assert report.received_per_s == 1000
    assert device_report(before[:1], [], (0, 0)) is None


def test_a_load_of_an_interface_without_interrupts_has_no_verdict(tmp_path: Path) -> None:
    """Loopback has no driver; measured on this machine."""
    words = ["measure", "--for", "2s", "--load", "net:127.0.0.1,rate=1M", "-o", str(tmp_path / "r")]
    result = CliRunner().invoke(whylate, [*words, "--json"])
    printed = json.loads(result.stdout)
    assert printed["verdict"] == "no verdict"
    assert any("lo has no interrupt on this board" in why for why in printed["trust_reasons"])
    (load,) = printed["loads"]
    assert load["device"]["name"] == "lo"
    assert load["device"]["in_count_per_s"] > 0


def report_of(mbit_s: float, lines: str = "virtio1", more: int = 100) -> LoadReport:
    """Return a load that was asked for 8 Mbit/s to the board, and what it did in one second."""
    command = "10.0.2.2,udp,rate=8000000,size=1400,direction=in"
    load = LoadAccounting(LoadPlan("nic", 1, command), "bytes")
    for second in range(3):
        received = int(second * mbit_s * 1e6 / 8)
        interrupts = 7 + second * more
        load.add(LoadWork(0, 1, second * SECOND, received, ""), measuring=second > 0)
        load.add_device(
            LoadDevice(0, second * SECOND, "eth0", lines, interrupts, 0, 0, 0, 0, 0, received, 0),
            measuring=second > 0,
        )
    return load.report()


@pytest.mark.parametrize(("mbit_s", "warned"), [(7.7, 0), (8.3, 0), (7.5, 1), (8.5, 1)])
def test_a_rate_that_is_off_by_more_than_a_twentieth_is_a_warning(
    mbit_s: float, warned: int
) -> None:
    found = list(load_cautions(manifest([], loads=[report_of(mbit_s)])))
    assert [caution.code for caution in found] == ["load-rate"] * warned
    if warned:
        assert f"{mbit_s} Mbit/s arrived to the board instead of 8" in found[0].text


def test_interrupts_that_did_not_come_give_no_verdict() -> None:
    def reasons(more: int, lines: str) -> list[str]:
        loads = [report_of(8, lines, more)]
        found = assess_benchmark(manifest([], loads=loads), 1)
        return [why for why in found if "interrupt" in why]

    assert reasons(100, "virtio1") == []
    (silent,) = reasons(0, "virtio1")
    assert silent.startswith("Load net:10.0.2.2,udp")
    assert "made no interrupt of eth0 during the run" in silent
    (none,) = reasons(0, "")
    assert "eth0 has no interrupt on this board" in none


def test_names_from_the_board_are_escaped_and_bounded() -> None:
    device = report_of(8, ",".join(["a\x1b[2J"] * 1000)).device
    assert device is not None
    assert device.lines == ["a?[2J"] * 64
