"""Environment files: what is in them, and what is wrong with them, in one line."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from bench_files import POWER, SERIAL, environment, ssh_service, target
from bench_supplies import strip

from whylate.boards.board import notify_nobody
from whylate.boards.errors import BoardError
from whylate.boards.labgrid.environment import EnvironmentSource, list_targets, target_lock
from whylate.boards.labgrid.open import labgrid_board

PORT = "NetworkPowerPort: {model: rest, host: 'http://127.0.0.1:9/{index}', index: 1}"
LINE = "RawSerialPort: {port: /dev/null, speed: 115200}"


@pytest.fixture(autouse=True)
def _state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WHYLATE_RUN", str(tmp_path / "run"))
    monkeypatch.delenv("LG_ENV", raising=False)
    monkeypatch.delenv("LG_COORDINATOR", raising=False)


def test_targets_are_listed_with_their_parts_and_whoever_has_them(tmp_path: Path) -> None:
    path = environment(
        tmp_path,
        board7=target(resources=[PORT, LINE], drivers=[POWER, SERIAL]),
        board8=target(resources=[ssh_service(22)], drivers=["SSHDriver: {}"]),
        board9=target(resources=[PORT], drivers=[POWER, "USBSDMuxDriver: {}"]),
    )
    with target_lock(path, "board8"):
        seven, eight, nine = list_targets(path)
    assert (seven.name, seven.parts, seven.owner, seven.state) == (
        "board7", ("power", "console"), None, "free",
    )  # fmt: skip
    assert (eight.parts, eight.state) == (("ssh",), "taken")
    assert eight.owner is not None
    assert "process" in eight.owner
    assert nine.parts == ("power", "card")


ACQUIRING = """
import sys, time
from pathlib import Path
from whylate.boards.errors import BoardBusyError
from whylate.boards.state import BoardLock
[directory] = Path(sys.argv[1]).iterdir()
lock = BoardLock(directory, "board7")
refused, end = 0, time.monotonic() + 3
print("begins", flush=True)
while time.monotonic() < end:
    try:
        lock.acquire()
    except BoardBusyError:
        refused += 1
    lock.release()
print(refused)
"""


def test_listing_targets_refuses_nobody_who_takes_one(tmp_path: Path) -> None:
    path = environment(tmp_path, board7=target(resources=[PORT], drivers=[POWER]))
    list_targets(path)
    with subprocess.Popen(
        [sys.executable, "-c", ACQUIRING, tmp_path / "run"], stdout=subprocess.PIPE, text=True
    ) as taking:
        assert taking.stdout is not None
        assert taking.stdout.readline() == "begins\n"
        while taking.poll() is None:
            list_targets(path)
        assert taking.stdout.read() == "0\n"


def test_the_environment_file_may_be_named_by_lg_env(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = environment(tmp_path, board7=target(resources=[PORT], drivers=[POWER]))
    monkeypatch.setenv("LG_ENV", str(path))
    assert [target.name for target in list_targets()] == ["board7"]
    assert labgrid_board("board7").name == "board7"


def test_two_files_may_have_a_target_of_the_same_name(tmp_path: Path) -> None:
    body = target(resources=[PORT], drivers=[POWER])
    (tmp_path / "a").mkdir()
    (tmp_path / "b").mkdir()
    first = environment(tmp_path / "a", main=body)
    other = environment(tmp_path / "b", main=body)
    with target_lock(first, "main"):
        assert [target.state for target in list_targets(other)] == ["free"]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "is not a labgrid environment"),
        ("targets: [", "is not a labgrid environment"),
        ("targets: 3", "it has no targets"),
        ("a: !template $LG_NOBODY_SET_THIS", "unknown variable"),
    ],
)
def test_a_file_that_is_no_environment_is_said_so(tmp_path: Path, text: str, message: str) -> None:
    (tmp_path / "env.yaml").write_text(text)
    with pytest.raises(BoardError, match=message):
        list_targets(tmp_path / "env.yaml")


def test_a_file_that_is_not_there_is_said_so(tmp_path: Path) -> None:
    with pytest.raises(BoardError, match=r"there is no such file; name .* --env or LG_ENV"):
        list_targets(tmp_path / "absent.yaml")
    with pytest.raises(BoardError, match="it is no regular file; name"):
        list_targets(tmp_path)


def test_a_target_that_is_not_there_is_said_with_those_that_are(tmp_path: Path) -> None:
    path = environment(tmp_path, board7=target(resources=[PORT], drivers=[POWER]))
    with pytest.raises(BoardError, match="has no target 'board8': it has board7"):
        labgrid_board("board8", path)


def test_a_name_that_nobody_knows_is_said_with_where_to_look() -> None:
    with pytest.raises(BoardError, match=r"--env or LG_ENV.*LG_COORDINATOR"):
        labgrid_board("board7")


@pytest.mark.parametrize(
    ("resources", "drivers", "message"),
    [
        ([PORT], [POWER], "takes no commands"),
        ([LINE], ["NoSuchDriver: {}"], "unknown driver class NoSuchDriver"),
        ([], [SERIAL], "no supplier matching"),
        (
            ["RawSerialPort: {port: /dev/whylate-absent, speed: 115200}"],
            [SERIAL],
            "opening its console failed: Could not open serial port",
        ),
        (
            [],
            ["QEMUDriver: {qemu_bin: qemu, machine: virt, cpu: max, memory: 64M, extra_args: ''}"],
            "QEMUDriver",
        ),
    ],
)
def test_a_target_that_cannot_be_used_is_an_error_of_one_line_and_is_let_go(
    tmp_path: Path, resources: list[str], drivers: list[str], message: str
) -> None:
    path = environment(tmp_path, board7=target(resources=resources, drivers=drivers))
    path.write_text(path.read_text().replace("usbsdmux:", "qemu: /bin/true, usbsdmux:"))
    board = labgrid_board("board7", path)
    with pytest.raises(BoardError, match=message) as caught:
        board.hold(notify_nobody)
    assert "\n" not in str(caught.value)
    assert target_lock(path, "board7").owner() is None


def test_a_password_in_a_supplys_address_is_not_shown(tmp_path: Path) -> None:
    with strip() as power:
        url = power.url.replace("http://", "http://me:s3cret@")
        path = environment(
            tmp_path,
            board7=target(
                resources=[
                    f"NetworkPowerPort: {{model: rest, host: '{url}', index: 1}}",
                    ssh_service(9),
                ],
                drivers=[POWER],
            ),
        )
        board = labgrid_board("board7", path)
        board.hold(notify_nobody)
        try:
            with pytest.raises(BoardError, match=r"reading its supply .* 404") as caught:
                board.boot(notify_nobody)
            assert "s3cret" not in str(caught.value)
        finally:
            board.close()


def test_labgrid_is_not_imported_before_a_board_of_it_is_asked_for() -> None:
    script = "import sys, whylate.boards.labgrid.open; sys.exit('labgrid' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", script], check=False).returncode == 0


def test_without_labgrid_the_error_says_what_to_install(tmp_path: Path) -> None:
    (tmp_path / "labgrid.py").write_text("raise ImportError('No module named labgrid')\n")
    script = (
        "from pathlib import Path; from whylate.boards.labgrid.environment import list_targets\n"
        "list_targets(Path('x.yaml'))"
    )
    done = subprocess.run(
        [sys.executable, "-c", script],
        env={"PYTHONPATH": str(tmp_path)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert "pip install 'whylate[boards]'" in done.stderr


class Held:
    """A lease as far as giving back goes."""

    def __init__(self, error: str | None = None) -> None:
        self._error = error
        self.released = False

    def release(self) -> None:
        self.released = True
        if self._error is not None:
            raise BoardError(self._error)


@pytest.mark.parametrize("bad", [0, 1])
def test_a_place_that_cannot_be_given_back_keeps_no_other_one(tmp_path: Path, bad: int) -> None:
    path = environment(tmp_path, board7=target(resources=[PORT], drivers=[POWER]))
    source = EnvironmentSource(path, "board7")
    source._lock.acquire()
    leases = [Held(), Held()]
    leases[bad] = Held("the coordinator is stubborn")
    source._leases = list(leases)  # type: ignore[arg-type]
    with pytest.raises(BoardError, match="stubborn"):
        source.release()
    assert [lease.released for lease in leases] == [True, True]
    assert target_lock(path, "board7").owner() is None


@pytest.mark.parametrize(
    ("proxy", "address", "message"),
    [
        ("bench; id", "10.0.0.7", r"proxy 'bench; id' is not \[user@\]host\[:port\]: see LG_PROXY"),
        ("-oProxyCommand=id", "10.0.0.7", r"is not \[user@\]host"),
        ("bench", "10.0.0.7%eth1", r"board7 is at 10.0.0.7%eth1, an interface of its exporter's"),
    ],
)
def test_what_labgrids_proxy_cannot_do_is_one_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, proxy: str, address: str, message: str
) -> None:
    monkeypatch.setenv("LG_PROXY", proxy)
    service = f"NetworkService: {{address: '{address}', username: root}}"
    path = environment(tmp_path, board7=target(resources=[service], drivers=[]))
    with pytest.raises(BoardError, match=message):
        labgrid_board("board7", path).hold(notify_nobody)
