"""Commands and files over a console: what a shell behind a terminal can be made to do safely."""

from __future__ import annotations

import os
import random
import shutil
import termios
import threading
import time
from pathlib import Path

import pytest
from console_line import Line, leftovers, opened, shell_on_a_line, unchanged

from waiting import came_true
from whylate.boards.console.shell import ConsoleShell
from whylate.boards.console.transfer import posix_cksum
from whylate.boards.console.worker import END_S
from whylate.boards.errors import BoardError

PATIENCE_S = 30.0
AWKWARD = ["it's", 'a "word"', "$HOME `id`", "a\nline", "\\n", "*", "", "é", "-n", "tab\there"]


@pytest.fixture(autouse=True)
def _soon(monkeypatch: pytest.MonkeyPatch) -> None:
    """Prod a silent console at once: no test's board has a boot loader that it might stop."""
    monkeypatch.setattr("whylate.boards.console.prompt.NOTHING_SILENCE_S", 0.05)


def test_a_command_answers_as_it_would_anywhere(line: Line) -> None:
    with opened(line) as shell:
        assert shell.root == (os.geteuid() == 0)
        done = shell.run(["printf", "%s|", *AWKWARD])
        assert done.output.decode() == "".join(f"{word}|" for word in AWKWARD)
        assert (done.status, done.error) == (0, b"")
        data = bytes(range(256)) * 100
        done = shell.run(["sh", "-c", "cat; echo no >&2; exit 7"], data=data)
        assert (done.status, done.output, done.error) == (7, data, b"no\n")
        assert shell.run(["sh", "-c", "kill -9 $$"]).status == 137
        assert shell.run(["true"]).output == b""
        missing = shell.run(["no-such-program"])
        assert missing.status == 127
        assert b"not found" in missing.error


def test_a_file_arrives_whole_with_its_mode(line: Line, tmp_path: Path) -> None:
    data = random.Random(1).randbytes(70_000) + bytes(500_000)
    progress: list[tuple[int, int]] = []
    target = tmp_path / "it's a file"
    with opened(line) as shell:
        shell.put(data, str(target), 0o755, lambda done, all_of: progress.append((done, all_of)))
        assert target.read_bytes() == data
        assert target.stat().st_mode & 0o777 == 0o755
        assert progress[-1] == (len(data), len(data))
        assert progress == sorted(progress)
        shell.put(b"", str(target))
        assert target.read_bytes() == b""
        assert target.stat().st_mode & 0o777 == 0o644
    assert list(tmp_path.glob("*.part")) == []


def test_a_terminal_is_given_back_as_it_was_found(line: Line) -> None:
    shell = ConsoleShell(line.console.connect())
    assert came_true(lambda: b"board# " in line.console.log.read_bytes(), PATIENCE_S)
    shell.open(30)
    during = termios.tcgetattr(line.slave)
    assert not during[3] & termios.ECHO
    assert len(leftovers(line)) == 1
    deadline = time.monotonic() + END_S
    shell.close()
    if time.monotonic() > deadline:  # a worker that takes longer to end is not waited for
        assert came_true(lambda: not leftovers(line), PATIENCE_S)
    assert leftovers(line) == []
    # The interactive shell has its own ideas at its prompt: ask a program that it runs.
    stream = line.console.connect()
    stream.write(b"stty -a >&2; printf '%s%s' he re\n")
    deadline = time.monotonic() + PATIENCE_S
    while b"here" not in (log := line.console.log.read_bytes()):
        assert time.monotonic() < deadline
        time.sleep(0.01)
    stream.close()
    state = log[log.rindex(b"speed") :].decode().split()
    assert "echo" in state
    assert "isig" in state
    assert "icanon" in state


def test_what_takes_too_long_is_ended_with_all_that_it_started(
    one_line: Line, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("whylate.boards.console.shell.GRACE_S", 0.3)
    mark = tmp_path / "alive"
    with opened(one_line) as shell:
        script = f"trap '' TERM; (while :; do touch {mark}; sleep 0.1; done) & sleep 100"
        with pytest.raises(BoardError, match=r"took longer than 0\.5 s"):
            shell.run(["sh", "-c", script], timeout_s=0.5)
        mark.unlink(missing_ok=True)
        assert shell.run(["sleep", "0.4"]).status == 0, "and the shell goes on"
    assert not mark.exists()


def test_more_output_than_a_console_carries_is_refused(
    one_line: Line, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("whylate.boards.console.transfer.MAX_OUTPUT", 10_000)
    with opened(one_line) as shell:
        with pytest.raises(BoardError, match="20000 bytes of output"):
            shell.run(["head", "-c", "20000", "/dev/zero"])
        assert shell.run(["echo", "on"]).output == b"on\n"


def test_a_file_that_cannot_be_written_is_an_error_with_the_boards_reason(one_line: Line) -> None:
    with opened(one_line) as shell:
        with pytest.raises(BoardError, match=r"/nowhere/file.* cannot be written"):
            shell.put(b"data", "/nowhere/file")
        with pytest.raises(BoardError, match="terminal does not transmit"):
            shell.put(b"data", "/tmp/\x03")  # noqa: S108
        assert shell.run(["echo", "on"]).output == b"on\n"


def test_a_board_so_slow_that_everything_is_asked_twice_does_it_once(
    one_line: Line, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    data = random.Random(7).randbytes(20_000)
    with opened(one_line) as shell:
        # Far shorter than the answers take; and what is asked once arrives twice as well.
        monkeypatch.setattr("whylate.boards.console.worker.SILENCE_S", 0.002)
        monkeypatch.setattr("whylate.boards.console.worker.TRIES", 12)
        one_line.channel.up = lambda line: line + line
        for index in range(3):
            count = tmp_path / f"count{index}"
            done = shell.run(["sh", "-c", f"echo x >>{count}; sleep 0.05; cat"], data=data)
            assert done.output == data
            assert count.read_text() == "x\n"
            shell.put(data, str(tmp_path / "file"))
            assert (tmp_path / "file").read_bytes() == data
        one_line.channel.up = lambda line: line


def test_lines_that_arrived_but_whose_answers_were_all_damaged_are_taken_as_arrived(
    one_line: Line, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("whylate.boards.console.transfer.SILENCE_S", 0.3)
    data = random.Random(4).randbytes(20_000)
    until = 0.0

    def deaf_for_a_while(text: bytes) -> bytes:
        nonlocal until
        if not until and b"|3|" in text:
            until = time.monotonic() + 0.25  # shorter than the silence: both lines of the window
        return b"" if time.monotonic() < until else text

    with opened(one_line) as shell:
        one_line.channel.down = deaf_for_a_while
        shell.put(data, str(tmp_path / "file"))
        one_line.channel.down = unchanged
    assert until
    assert (tmp_path / "file").read_bytes() == data


class BusyKernel:
    """A kernel that prints now and then, wherever in the output that falls."""

    def __init__(self, seed: int, rate: float, text: bytes) -> None:
        self._random = random.Random(seed)
        self._rate = rate
        self._text = text
        self.printed = 0

    def __call__(self, data: bytes) -> bytes:
        if not data or self._random.random() > self._rate:
            return data
        at = self._random.randrange(len(data) + 1)
        self.printed += 1
        return data[:at] + self._text + data[at:]


@pytest.mark.parametrize(
    ("rate", "text"),
    [
        (0.5, b"[   12.345678] usb 1-1: new device\r\n"),
        (0.2, b"[   12.345678] a lone half line|>\r\n[   12.345679] Call trace:\r\n"),
        (0.05, b"random: crng init done <without|a|stamp>\r\n"),
        (0.1, b"abcd0123\r\n"),
    ],
    ids=["stamped", "several lines", "without a time stamp", "like an answer"],
)
def test_a_kernel_that_talks_meanwhile_damages_no_answer(
    one_line: Line, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, rate: float, text: bytes
) -> None:
    monkeypatch.setattr("whylate.boards.console.worker.SILENCE_S", 0.5)
    monkeypatch.setattr("whylate.boards.console.transfer.SILENCE_S", 0.5)
    data = random.Random(2).randbytes(20_000)
    with opened(one_line) as shell:
        kernel = one_line.channel.down = BusyKernel(3, rate, text)
        for index in range(8):
            assert shell.run(["echo", f"{index}"]).output == f"{index}\n".encode()
        assert shell.run(["cat"], data=data).output == data
        shell.put(data, str(tmp_path / "file"))
        # It talks by the pieces in which the bytes come, and a busy machine reads large ones.
        for _ in range(200):
            if kernel.printed > 5:
                break
            assert shell.run(["echo", "more"]).output == b"more\n"
        one_line.channel.down = unchanged
    assert kernel.printed > 5
    assert (tmp_path / "file").read_bytes() == data


def test_an_answer_that_is_damaged_again_and_again_is_requested_until_it_is_whole(
    one_line: Line, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("whylate.boards.console.worker.SILENCE_S", 0.2)
    left = 0

    def damage(data: bytes) -> bytes:
        nonlocal left
        if left and b"|ok|" in data:
            left -= 1
            return data.replace(b"|ok|", b"|abcd0123\r\nok|")
        return data

    with opened(one_line) as shell:
        one_line.channel.down = damage
        left = 10
        assert shell.run(["echo", "on"]).output == b"on\n"
        one_line.channel.down = unchanged
    assert left == 0


def test_a_kernel_that_talks_in_every_long_answer_makes_the_answers_shorter(
    one_line: Line, monkeypatch: pytest.MonkeyPatch
) -> None:
    """However the bytes come in, one of its lines falls into every few hundred of them."""
    monkeypatch.setattr("whylate.boards.console.worker.SILENCE_S", 0.2)
    monkeypatch.setattr("whylate.boards.console.transfer.SILENCE_S", 0.2)
    data = random.Random(2).randbytes(5_000)
    passed = 0

    def talk(received: bytes) -> bytes:
        nonlocal passed
        out = bytearray()
        for byte in received:
            out.append(byte)
            passed += 1
            if passed % 1500 == 0:
                out += b"random: crng init done <without|a|stamp>\r\n"
        return bytes(out)

    with opened(one_line) as shell:
        one_line.channel.down = talk
        assert shell.run(["cat"], data=data).output == data
        one_line.channel.down = lambda received: received
    assert passed > 10_000, "some came again"


class Overrun:
    """A port that loses a few characters of what is typed, now and then."""

    def __init__(self, seed: int) -> None:
        self._random = random.Random(seed)
        self.lost = 0

    def __call__(self, data: bytes) -> bytes:
        if len(data) < 1000 or self._random.random() > 0.2:
            return data
        self.lost += 1
        at = self._random.randrange(len(data) - 16)
        return data[:at] + data[at + 16 :]


class Starved:
    """A board that reads nothing for a time, and what its terminal holds meanwhile."""

    def __init__(self, seconds: float) -> None:
        self._until = time.monotonic() + seconds
        self._held = b""
        self.lost = 0

    def __call__(self, data: bytes) -> bytes:
        if time.monotonic() < self._until:
            room = 4096 - len(self._held)
            self._held += data[:room]
            self.lost += len(data[room:])
            return b""
        held, self._held = self._held, b""
        return held + data


def test_a_board_that_others_starve_has_longer_each_time(
    one_line: Line, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As a virtual board beside one in virtual time, which has the CPUs at real-time priority."""
    monkeypatch.setattr("whylate.boards.console.transfer.SILENCE_S", 0.2)
    data = random.Random(9).randbytes(60_000)
    starved: list[Starved] = []

    def starve(done: int, of: int) -> None:
        if not starved and done > of // 2:
            starved.append(Starved(3.0))
            one_line.channel.up = starved[0]

    with opened(one_line) as shell:
        shell.put(data, str(tmp_path / "file"), 0o600, starve)
        one_line.channel.up = unchanged
    assert (tmp_path / "file").read_bytes() == data
    assert starved[0].lost > 0


def test_characters_that_the_port_loses_are_typed_again(
    one_line: Line, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("whylate.boards.console.worker.SILENCE_S", 0.2)
    monkeypatch.setattr("whylate.boards.console.transfer.SILENCE_S", 0.2)
    data = random.Random(4).randbytes(60_000)
    with opened(one_line) as shell:
        port = one_line.channel.up = Overrun(5)
        shell.put(data, str(tmp_path / "file"))
        one_line.channel.up = lambda data: data
    assert port.lost > 2
    assert (tmp_path / "file").read_bytes() == data


@pytest.mark.parametrize(
    "absent",
    [("base64",), ("xz",), ("xz", "gzip"), ("sha256sum", "md5sum"), ("setsid", "base64", "xz")],
    ids=" ".join,
)
def test_a_board_that_lacks_a_tool_is_served_with_another(
    one_line: Line, tmp_path: Path, absent: tuple[str, ...]
) -> None:
    tools = " ".join(absent)
    stub = tmp_path / "bin"
    stub.mkdir()
    have = "sh id mkdir stty rm dd cat mv chmod head tail tr wc od xz gzip base64 sha256sum md5sum"
    for name in f"{have} cksum setsid sleep".split():
        path = shutil.which(name)
        if name not in absent and path is not None:
            (stub / name).symlink_to(path)
    data = random.Random(6).randbytes(5000) + bytes(5000)
    one_line.channel.write(f"PATH={stub}\n".encode())
    with opened(one_line) as shell:
        assert not shell._worker.tools & set(absent), tools
        shell.put(data, str(tmp_path / "file"))
        assert (tmp_path / "file").read_bytes() == data
        assert shell.run(["cat"], data=data).output == data


def test_a_worker_that_a_killed_host_left_is_ended_by_the_next(one_line: Line) -> None:
    stream = one_line.console.connect()
    shell = ConsoleShell(stream)
    shell.open(30)
    assert len(leftovers(one_line)) == 1
    stream.close()  # and never says goodbye
    with opened(one_line) as again:
        assert again.run(["echo", "mine"]).output == b"mine\n"
        assert len(leftovers(one_line)) == 1


def test_a_line_that_hangs_up_leaves_nothing_on_the_board(line: Line, tmp_path: Path) -> None:
    alive = tmp_path / "alive"
    shell = opened(line)
    timer = threading.Timer(0.5, line.console.detach)
    timer.start()
    with pytest.raises(BoardError, match="line is gone"):
        shell.run(["sh", "-c", f"while :; do touch {alive}; sleep 0.05; done"])
    timer.join()
    assert alive.exists()
    assert came_true(lambda: not leftovers(line), 60)
    alive.unlink()
    time.sleep(0.3)
    assert not alive.exists(), "what it ran is gone"


def test_a_line_that_goes_is_an_error_that_says_what_came_last(one_line: Line) -> None:
    shell = opened(one_line)
    timer = threading.Timer(0.3, one_line.console.detach)
    timer.start()
    with pytest.raises(BoardError, match="line is gone; its last line is"):
        shell.run(["sleep", "100"])
    timer.join()
    shell.close()
    with pytest.raises(BoardError, match="not open"):
        shell.run(["true"])


def test_a_board_that_hangs_is_an_error_in_bounded_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("whylate.boards.console.prompt.UNKNOWN_SILENCE_S", 0.3)
    # It answers a key once: it does not begin to print before somebody listens.
    script = "echo up; read -r key; echo hello; sleep 100"
    with shell_on_a_line(["sh", "-c", script], tmp_path / "log") as line:
        assert came_true(lambda: b"up" in line.console.log.read_bytes())
        with pytest.raises(BoardError, match="no shell in time; its last line is"):
            ConsoleShell(line.console.connect()).open(2)


def test_a_boot_loader_is_left_alone(tmp_path: Path) -> None:
    keys = tmp_path / "keys"
    script = (
        "stty -echo; for i in 3 2 1; do printf '\\rHit any key to stop autoboot:  %s ' $i; "
        f"if read -r -t 0.6 k; then echo stopped >{keys}; fi; done; "
        "echo; echo 'Linux version 6.1'; stty echo; exec dash -i"
    )
    with shell_on_a_line(["bash", "-c", script], tmp_path / "log") as line:
        shell = ConsoleShell(line.console.connect())
        shell.open(30, booting=True)
        assert shell.run(["echo", "up"]).output == b"up\n"
        shell.close()
    assert not keys.exists()


def test_a_boot_loaders_prompt_is_an_error(tmp_path: Path) -> None:
    with (
        shell_on_a_line(
            ["sh", "-c", "while printf '=> '; do read -r line; done"], tmp_path / "log"
        ) as line,
        pytest.raises(BoardError, match="boot loader's prompt"),
    ):
        ConsoleShell(line.console.connect()).open(10)


def test_checksums_are_those_of_posix() -> None:
    # What cksum(1) prints.
    assert posix_cksum(b"") == 4294967295
    assert posix_cksum(b"123456789") == 930766865
    assert posix_cksum(bytes(1000)) == 2610763910
