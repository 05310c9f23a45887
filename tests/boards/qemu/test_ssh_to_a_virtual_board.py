"""A virtual board that is reached over SSH: dropbear, busybox, nothing of ours but a file."""

from __future__ import annotations

import socket
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from whylate.boards.board import Board, notify_nobody
from whylate.boards.errors import BoardError
from whylate.boards.open import open_board
from whylate.boards.options import BoardOptions
from whylate.boards.ready import ready
from whylate.boards.ssh import SshBoard
from whylate.recording.plan import RunPlan
from whylate.recording.workloads.wakeup import Wakeup
from whylate.run.measure import measure
from whylate.run.progress import Quiet

pytestmark = pytest.mark.qemu
ACTIVATIONS = 20_000


def free_port() -> int:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        port: int = listener.getsockname()[1]
        return port


@contextmanager
def with_ssh(name: str, directory: Path) -> Iterator[tuple[Board, SshBoard]]:
    """Yield a virtual board that is up, and the same board as SSH reaches it."""
    key = directory / "key"
    subprocess.run(
        ["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(key)], check=True, timeout=30
    )
    port = free_port()
    options = BoardOptions(ssh_port=port, ssh_key=key.with_suffix(".pub"))
    with ready(open_board(name, options), notify_nobody) as virtual:
        known = ("-oStrictHostKeyChecking=no", f"-oUserKnownHostsFile={directory / 'known'}")
        yield virtual, SshBoard(f"ssh://root@127.0.0.1:{port}", options=("-i", str(key), *known))


def test_ten_kilohertz_over_ssh_lose_no_sample_and_nothing_stays_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("WHYLATE_RUN", str(tmp_path / "b"))
    request = RunPlan(workload=Wakeup(duration_ns=2_000_000_000, interval_ns=100_000))
    with with_ssh("virt-arm64", tmp_path) as (virtual, over):
        with ready(over, notify_nobody) as board:
            manifest = measure(board, request, tmp_path / "r", Quiet())
        for cpu in manifest.cpus:
            assert (cpu.expected, cpu.dropped) == (ACTIVATIONS, 0)
            assert cpu.seen + cpu.overrun == ACTIVATIONS
        left = virtual.run(["sh", "-c", "ls -d /run/whylate* /tmp/whylate*; ps"]).output
        assert b"whylate-probe" not in left


def test_riscv64_is_measured_over_its_port_and_over_ssh(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With a network its port is the same device, and Debian 13 has its loader elsewhere."""
    monkeypatch.setenv("WHYLATE_RUN", str(tmp_path / "b"))
    request = RunPlan(workload=Wakeup(duration_ns=200_000_000, interval_ns=1_000_000))
    with with_ssh("virt-riscv64", tmp_path) as (virtual, over):
        assert measure(virtual, request, tmp_path / "port", Quiet()).state == "complete"
        with ready(over, notify_nobody) as board:
            assert board.run(["uname", "-m"]).output == b"riscv64\n"
            assert measure(board, request, tmp_path / "ssh", Quiet()).state == "complete"


def test_a_key_that_is_none_is_refused(tmp_path: Path) -> None:
    binary = tmp_path / "key"
    binary.write_bytes(bytes(range(256)))
    with pytest.raises(BoardError, match="public key"):
        open_board("virt-arm64", BoardOptions(ssh_port=2222, ssh_key=binary))
