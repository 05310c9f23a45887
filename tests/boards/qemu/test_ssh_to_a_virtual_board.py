"""A virtual board that is reached over SSH: dropbear, busybox, nothing of ours but a file."""

from __future__ import annotations

import socket
import subprocess
from pathlib import Path

import pytest

from whylate.boards.board import BoardError, notify_nobody
from whylate.boards.open import BoardOptions, open_board
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


def test_ten_kilohertz_over_ssh_lose_no_sample_and_nothing_stays_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("WHYLATE_RUN", str(tmp_path / "b"))
    key = tmp_path / "key"
    subprocess.run(
        ["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(key)], check=True, timeout=30
    )
    port = free_port()
    options = BoardOptions(ssh_port=port, ssh_key=key.with_suffix(".pub"))
    request = RunPlan(workload=Wakeup(duration_ns=2_000_000_000, interval_ns=100_000))
    with ready(open_board("virt-arm64", options), notify_nobody) as virtual:
        known = ("-oStrictHostKeyChecking=no", f"-oUserKnownHostsFile={tmp_path / 'known'}")
        over = SshBoard(f"ssh://root@127.0.0.1:{port}", options=("-i", str(key), *known))
        with ready(over, notify_nobody) as board:
            manifest = measure(board, request, tmp_path / "r", Quiet())
        for cpu in manifest.cpus:
            assert (cpu.expected, cpu.dropped) == (ACTIVATIONS, 0)
            assert cpu.seen + cpu.overrun == ACTIVATIONS
        left = virtual.run(["sh", "-c", "ls -d /run/whylate* /tmp/whylate*; ps"]).output
        assert b"whylate-probe" not in left


def test_a_key_that_is_none_is_refused(tmp_path: Path) -> None:
    binary = tmp_path / "key"
    binary.write_bytes(bytes(range(256)))
    with pytest.raises(BoardError, match="public key"):
        open_board("virt-arm64", BoardOptions(ssh_port=2222, ssh_key=binary))
