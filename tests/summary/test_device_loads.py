"""Loads that drive a device: what is asked, and when a run beside one has no verdict."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from whylate.cli import whylate
from whylate.recording.device_loads import device_report
from whylate.run.errors import RequestError
from whylate.run.loads import load_text, parse_load
from whylate.wire.messages import LoadDevice

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
