"""Secrets on a kernel command line never reach a recording."""

from __future__ import annotations

import msgspec
import pytest
from captured import GUEST, before, changed

from whylate.boards.facts import facts
from whylate.boards.facts.cmdline import REDACTED, parameters, value_of


@pytest.mark.parametrize(
    "text",
    [
        "password=HUSH",
        "cifsroot=//host/share,username=u,password=HUSH",
        "rootflags=user=x,pass=HUSH,vers=3",
        "rd.luks.key=HUSH",
        "wifi_psk=HUSH",
        "API_KEY=HUSH",
        "apikey:HUSH",
        "systemd.setenv=DB_PASSWORD=HUSH",
        "systemd.set_credential=id:HUSH",
        "my.secret=HUSH,HUSH",
        'token="HUSH HUSH"',
        '"token=HUSH HUSH"',
        "ds=nocloud;s=http://user:HUSH@host/path",
        "netboot=https://HUSH@host",
        "netboot=https://user:HU@SH:HUSH@host",
        "url=http://host/?access_token=HUSH",
        "-- --token HUSH",
        "-- --auth-key=HUSH",
        "pass\u200bword=HUSH",
    ],
)
def test_a_secret_is_not_recorded(text: str) -> None:
    items = facts(changed(before(), {"/proc/cmdline": f"quiet {text} ro\n"}), GUEST)
    encoded = msgspec.json.encode(items)
    assert b"HUSH" not in encoded
    assert REDACTED.encode() in encoded


@pytest.mark.parametrize(
    "text",
    [
        "iommu.passthrough=1",
        "rd.vconsole.keymap=us",
        "isolcpus=domain,managed_irq,2-3",
        "nmi_watchdog=0",
        "root=UUID=1234-5678",
        "bypass=1",
        'dyndbg="file drivers/usb/* +p"',
        "console=ttyS0,115200n8",
    ],
)
def test_what_is_no_secret_is_kept_whole(text: str) -> None:
    assert parameters(f"quiet {text} ro") == ["quiet", text, "ro"]


def test_a_parameter_is_found_under_either_spelling_and_the_last_one_counts() -> None:
    line = parameters("rcu-nocbs=1 rcu_nocbs=2 threadirqs -- preempt=full")
    assert value_of(line, "rcu_nocbs") == "2"
    assert value_of(line, "threadirqs") == ""
    assert value_of(line, "preempt") is None
