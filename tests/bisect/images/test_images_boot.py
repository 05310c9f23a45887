"""`whylate bisect images` on a virtual board: each hybrid is booted, in virtual time.

Two small roots with a kernel of the lab differ in some files. One line of rc.local sets transparent
huge pages, and so how many page faults a copy takes; that is what is measured, in instructions.
"""

from __future__ import annotations

import json
import platform
import sys
from pathlib import Path

import pytest

import starts
from own_roots import tiny_root, write_tarball

THP = "/sys/kernel/mm/transparent_hugepage/enabled"
PLAN = """\
boards = ["virt-arm64"]
virtual_time = true
warm_up = "none"
[cmd]
command = "dd if=/dev/zero of=/dev/null bs=32M count=1"
rounds = 1
"""
#: Files that differ and say nothing.
INERT = 4


@pytest.mark.qemu
@pytest.mark.skipif(platform.machine() != "x86_64", reason="it would take long")
def test_a_line_is_found_by_boots_and_confirmed_both_ways(tmp_path: Path) -> None:
    common, sides = tiny_root(), []
    for name, pages in (("vendor", "always"), ("ours", "never")):
        files = common | {
            "etc/rc.local": f"#!/bin/sh\n# of {name}\necho {pages} >{THP}\nexit 0\n".encode(),
            "etc/sysctl.d/10.conf": f"vm.swappiness = {30 + len(name)}\n".encode(),
            **{f"usr/share/{n}": f"{name} {n}\n".encode() for n in range(INERT)},
        }
        sides.append(write_tarball(tmp_path / f"{name}.tar", files))
    plan = tmp_path / "plan.toml"
    plan.write_text(PLAN)
    done = starts.run(
        [sys.executable, "-m", "whylate", "bisect", "images", *map(str, sides), str(plan),
         "--statistic", "wall time", "--json", "-o", str(tmp_path / "b")],
        capture_output=True, text=True, timeout=1500, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    document = json.loads(done.stdout)
    (culprit,) = document["culprits"]
    assert culprit["difference"] == "etc/rc.local:3"
    assert len(document["differences"]) > INERT
    assert document["answer"] == "culprits"
    for way in ("first_with_second", "second_with_first"):
        assert document["confirmation"][way]["low"] > 0.7
