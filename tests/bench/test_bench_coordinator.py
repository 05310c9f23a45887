"""Places of a coordinator: listed, acquired, refused, released, and lost in the middle of a run."""

from __future__ import annotations

import asyncio
import contextlib
import os
import shutil
import signal
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from bench_boards import free_port, shell_board
from bench_coordinator import Coordinator, coordinator
from bench_files import POWER, SERIAL, environment, power_port, serial_port, ssh_service, target
from bench_line import SerialLine
from bench_requests import Watcher, request
from bench_supplies import Strip, strip

from waiting import came_true
from whylate.boards.board import notify_nobody
from whylate.boards.errors import BoardBusyError, BoardError
from whylate.boards.labgrid import coordinator as coordinator_module
from whylate.boards.labgrid import supply
from whylate.boards.labgrid.board import BenchOptions, LabgridBoard
from whylate.boards.labgrid.environment import list_targets
from whylate.boards.labgrid.open import labgrid_board
from whylate.boards.labgrid.places import list_places
from whylate.boards.ready import ready
from whylate.boards.waiting import Waiting
from whylate.run.measure import measure

pytestmark = [
    pytest.mark.skipif(
        os.geteuid() != 0 or shutil.which("ser2net") is None,
        reason="needs root and Debian's ser2net, with which labgrid exports serial ports",
    ),
    # pyserial's, when it connects over RFC 2217.
    pytest.mark.filterwarnings("ignore:set(Daemon|Name):DeprecationWarning"),
]

OPTIONS = BenchOptions(boot_s=30.0)


@dataclass(frozen=True)
class Lab:
    """A coordinator with the places `board7` and `broken`, and the strip that board7 hangs on."""

    coordinator: Coordinator
    power: Strip

    def owner(self, place: str) -> str | None:
        return self.coordinator.owner(place)


@contextmanager
def new_lab(directory: Path) -> Iterator[Lab]:
    line = SerialLine()
    try:
        with (
            strip(shell_board(line)) as power,
            coordinator(directory, [power_port(power), serial_port(line.path)]) as made,
        ):
            made.create("board7", "bench/board7/*")
            made.create("broken", "gone/board9/*")
            yield Lab(made, power)
    finally:
        line.close()


@pytest.fixture(scope="module")
def standing(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Lab]:
    with new_lab(tmp_path_factory.mktemp("lab")) as made:
        yield made


@pytest.fixture(autouse=True)
def _state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WHYLATE_RUN", str(tmp_path / "run"))
    monkeypatch.setattr(supply, "DIE_S", 1.0)
    monkeypatch.setattr(supply, "ECHO_S", 0.3)
    monkeypatch.delenv("LG_ENV", raising=False)


@pytest.fixture
def lab(standing: Lab, monkeypatch: pytest.MonkeyPatch) -> Iterator[Lab]:
    monkeypatch.setenv("LG_COORDINATOR", standing.coordinator.address)
    yield standing
    standing.coordinator.free("board7")
    standing.power.outlets[1].switch(False)


def board7() -> LabgridBoard:
    return labgrid_board("board7", options=OPTIONS)


def test_a_place_is_acquired_used_over_the_network_and_released(
    lab: Lab,
) -> None:
    shown: list[str] = []
    with ready(board7(), shown.append) as board:
        assert lab.owner("board7") not in (None, "None")
        assert lab.power.outlets[1].state
        assert board.run(["echo", "far away"]).output == b"far away\n"
    assert lab.owner("board7") == "None"
    assert not lab.power.outlets[1].state
    assert "acquiring board7" in shown


def test_a_fork_meanwhile_starts_no_threads_of_the_coordinators(
    lab: Lab, capfd: pytest.CaptureFixture[str]
) -> None:
    """gRPC's handlers of a fork abort its child now and then, and complain of each before that."""
    with ready(board7(), notify_nobody):
        for _ in range(3):
            # With this, a child is forked indeed.
            subprocess.run(["true"], check=True, preexec_fn=lambda: None)
        assert lab.owner("board7") not in (None, "None")
    assert "fork" not in capfd.readouterr().err


def test_a_place_that_somebody_has_is_refused_with_their_name(lab: Lab) -> None:
    lab.coordinator.client("-p", "board7", "acquire", user="zoe", host="desk2")
    with pytest.raises(BoardBusyError, match="board7 is taken: zoe on desk2 has it"):
        board7().hold(notify_nobody)
    assert lab.owner("board7") == "desk2/zoe"


def test_a_place_that_somebody_has_is_waited_for(lab: Lab) -> None:
    lab.coordinator.client("-p", "board7", "acquire", user="zoe", host="desk2")
    shown: list[str] = []
    options = BenchOptions(boot_s=30.0, waiting=Waiting(60.0))
    leave = threading.Timer(3.0, lab.coordinator.free, ["board7"])
    leave.start()
    board = labgrid_board("board7", options=options)
    board.hold(shown.append)
    try:
        leave.join()
        assert lab.owner("board7") not in (None, "None", "desk2/zoe")
    finally:
        board.close()
    assert [line.split(":")[0] for line in shown[:2]] == [
        "acquiring board7",
        "waiting at most 60.0 s for board7",
    ]
    assert "zoe on desk2 has it" in shown[1]
    assert shown[2].startswith("board7 is ours after ")
    assert len(shown) == 3


def test_a_place_that_is_reserved_for_somebody_is_taken(lab: Lab) -> None:
    lab.coordinator.client("-p", "board7", "set-tags", "kind=seven")
    lab.coordinator.client("reserve", "kind=seven", user="zoe", host="desk2")
    try:
        with pytest.raises(BoardBusyError, match="the place board7 is reserved: "):
            board7().hold(notify_nobody)
    finally:
        for word in lab.coordinator.client("reservations").split():
            if word.endswith(":"):
                with contextlib.suppress(subprocess.CalledProcessError):
                    lab.coordinator.client("cancel-reservation", word[:-1].strip("'"))


def test_a_place_that_we_have_acquired_by_hand_is_not_taken_from_under_us(lab: Lab) -> None:
    lab.coordinator.client("-p", "board7", "acquire")
    owner = lab.owner("board7")
    with pytest.raises(BoardBusyError, match="board7 is taken"):
        board7().hold(notify_nobody)
    assert lab.owner("board7") == owner


def test_places_are_listed_with_who_has_them_and_what_they_lack(lab: Lab) -> None:
    lab.coordinator.client("-p", "board7", "set-comment", "i.MX6Q", "sabrelite")
    free, broken = list_places()
    assert (free.name, free.owner, free.state) == ("board7", None, "free")
    assert free.parts == ("power", "console")
    assert free.comment == "i.MX6Q sabrelite"
    assert broken.state.startswith("lacks ")
    lab.coordinator.client("-p", "board7", "acquire", user="zoe", host="desk2")
    assert next(place.owner for place in list_places() if place.state == "taken") == "desk2/zoe"


@pytest.mark.usefixtures("lab")
def test_a_place_whose_exporter_is_not_there_is_refused() -> None:
    with pytest.raises(BoardError, match=r"broken lacks .* its exporter does not run"):
        labgrid_board("broken").hold(notify_nobody)


@pytest.mark.usefixtures("lab")
def test_a_place_that_is_not_there_is_said_with_those_that_are() -> None:
    with pytest.raises(BoardError, match="has no place 'boad7': it has board7"):
        labgrid_board("boad7").hold(notify_nobody)


def test_a_target_made_of_a_place_acquires_it(lab: Lab, tmp_path: Path) -> None:
    path = environment(
        tmp_path,
        main=target(resources=["RemotePlace: {name: board7}"], drivers=[POWER, SERIAL]),
    )
    with ready(labgrid_board("main", path, options=OPTIONS), notify_nobody) as board:
        assert lab.owner("board7") not in (None, "None")
        assert board.run(["echo", "both"]).output == b"both\n"
        assert [target.state for target in list_targets(path)] == ["taken"]
    assert lab.owner("board7") == "None"
    assert not lab.power.outlets[1].state


def test_a_coordinator_that_is_not_there_is_an_error_in_bounded_time(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("LG_COORDINATOR", f"127.0.0.1:{free_port()}")
    with pytest.raises(BoardError, match="does not answer: is it running"):
        list_places()


@pytest.mark.realtime
def test_a_coordinator_that_goes_away_ends_the_run_with_what_was_measured(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with new_lab(tmp_path) as lab:
        monkeypatch.setenv("LG_COORDINATOR", lab.coordinator.address)
        lose_the_coordinator(lab, tmp_path)


def lose_the_coordinator(lab: Lab, tmp_path: Path) -> None:
    watcher = Watcher(lab.coordinator.die)
    board = board7()
    board.hold(notify_nobody)
    try:
        board.boot(notify_nobody)
        manifest = measure(board, request(120), tmp_path / "recording", watcher)
        watcher.join()
        with pytest.raises(BoardError, match=r"the coordinator .* went away"):
            board.run(["true"])
    finally:
        with pytest.raises(BoardError, match=r"left switched on: the coordinator .* went away"):
            board.close()
    assert manifest.state == "cut"
    assert [problem.fatal for problem in manifest.problems] == [True]
    assert sum(cpu.seen for cpu in manifest.cpus) > 200


def test_a_place_that_is_taken_away_is_noticed(lab: Lab) -> None:
    with ready(board7(), notify_nobody) as board:
        assert board.run(["true"]).status == 0
        lab.coordinator.client("-p", "board7", "release", "--kick", user="zoe", host="desk2")
        lab.coordinator.client("-p", "board7", "acquire", user="zoe", host="desk2")
        with pytest.raises(BoardError, match="board7 was taken by desk2/zoe"):
            board.run(["true"])
        with pytest.raises(BoardError, match="left switched on"):
            board.close()
    assert lab.owner("board7") == "desk2/zoe"


def interrupted() -> None:
    """Ctrl-C, as the main thread gets it."""
    main = threading.main_thread().ident
    assert main is not None
    signal.pthread_kill(main, signal.SIGINT)


@pytest.mark.parametrize("in_a_target", [False, True], ids=["a place", "in a target"])
@pytest.mark.parametrize("how", ["timeout", "Ctrl-C"])
def test_a_place_whose_acquiring_is_broken_off_is_given_back(
    lab: Lab, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, how: str, in_a_target: bool
) -> None:
    from labgrid.remote.client import ClientSession

    monkeypatch.setattr(coordinator_module, "ANSWER_S", 2.0 if how == "timeout" else 15.0)
    sync = ClientSession.sync_with_coordinator
    synced: list[str | None] = []

    async def hangs_once(client: ClientSession) -> object:
        synced.append(None)
        # The first one is that of connecting.
        if len(synced) != 2:
            return await sync(client)
        assert await sync(client)
        synced[-1] = client.places["board7"].acquired
        if how == "Ctrl-C":
            interrupted()
        await asyncio.sleep(60)
        return None

    monkeypatch.setattr(ClientSession, "sync_with_coordinator", hangs_once)
    board = board7()
    if in_a_target:
        path = environment(
            tmp_path,
            main=target(resources=["RemotePlace: {name: board7}"], drivers=[POWER, SERIAL]),
        )
        board = labgrid_board("main", path, options=OPTIONS)
    if how == "Ctrl-C":
        with pytest.raises(KeyboardInterrupt):
            board.hold(notify_nobody)
    else:
        with pytest.raises(BoardError, match=r"^the coordinator \S+ did not answer within 2 s$"):
            board.hold(notify_nobody)
    assert synced[1], "it was ours"
    assert lab.owner("board7") == "None"


def test_a_place_whose_acquiring_is_not_answered_is_given_back(
    lab: Lab, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(coordinator_module, "ANSWER_S", 2.0)
    join = coordinator_module._join

    class Unanswered:
        """A stub whose AcquirePlace arrives, and whose answer does not."""

        def __init__(self, stub: Any) -> None:
            self._stub = stub

        def __getattr__(self, name: str) -> Any:
            return self._acquire if name == "AcquirePlace" else getattr(self._stub, name)

        async def _acquire(self, message: Any) -> None:
            await self._stub.AcquirePlace(message)
            await asyncio.sleep(60)

    def joined(address: str) -> coordinator_module.Session:
        session = join(address)
        session.client.stub = Unanswered(session.client.stub)
        return session

    monkeypatch.setattr(coordinator_module, "_join", joined)
    with pytest.raises(BoardError, match="did not answer within 2 s"):
        board7().hold(notify_nobody)
    assert lab.owner("board7") == "None"


@contextmanager
def hung_exporter(lab: Lab) -> Iterator[None]:
    """The coordinator waits for an exporter that hangs: for ten seconds it serves nobody."""
    from labgrid.remote.generated import labgrid_coordinator_pb2 as messages

    async def acquire(client: Any) -> None:
        await client.stub.AcquirePlace(messages.AcquirePlaceRequest(placename="board8"))

    exporter = lab.coordinator.export("hung", "board8", [ssh_service(free_port())])
    lab.coordinator.create("board8", "hung/board8/*")
    # The coordinator knows a process by its connection.
    session = coordinator_module._join(lab.coordinator.address)
    try:
        exporter.send_signal(signal.SIGSTOP)
        waiting = asyncio.run_coroutine_threadsafe(acquire(session.client), session.loop)
        time.sleep(0.5)
        yield
        with pytest.raises(Exception, match="Failed to acquire resources"):
            waiting.result(30)
    finally:
        coordinator_module._leave(session)
        exporter.kill()
        lab.coordinator.client("-p", "board8", "delete")


@pytest.mark.parametrize("other", [False, True], ids=["ours", "another run's"])
def test_a_place_that_was_not_released_is_ours_the_next_time(
    lab: Lab, monkeypatch: pytest.MonkeyPatch, *, other: bool
) -> None:
    board = board7()
    board.hold(notify_nobody)
    with hung_exporter(lab), monkeypatch.context() as patch:
        patch.setattr(coordinator_module, "ANSWER_S", 2.0)
        with pytest.raises(BoardError, match="did not answer within 2 s"):
            board.close()
    assert lab.owner("board7") != "None"
    if other:
        lab.coordinator.client("-p", "board7", "release")
        lab.coordinator.client("-p", "board7", "acquire")
        with pytest.raises(BoardBusyError, match="board7 is taken"):
            board.hold(notify_nobody)
        return
    shown: list[str] = []
    board.hold(shown.append)
    assert "releasing board7: the coordinator did not answer to that before" in shown
    board.close()
    assert lab.owner("board7") == "None"


def before_acquiring(act: Callable[[], object], monkeypatch: pytest.MonkeyPatch) -> None:
    """Do something between our look at a place and our request for it."""
    join = coordinator_module._join

    def overtaken(address: str) -> coordinator_module.Session:
        session = join(address)
        ask = session.ask

        def late(request: Any) -> Any:
            if request.__name__ == "_acquire":
                act()
            return ask(request)

        monkeypatch.setattr(session, "ask", late)
        return session

    monkeypatch.setattr(coordinator_module, "_join", overtaken)


def test_a_place_that_we_are_refused_stays_with_the_other_one_of_ours(
    lab: Lab, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of two runs of one user that ask at the same time one is refused, and must not release."""
    before_acquiring(lambda: lab.coordinator.client("-p", "board7", "acquire"), monkeypatch)
    with pytest.raises(BoardError, match="already acquired"):
        board7().hold(notify_nobody)
    assert lab.owner("board7") not in (None, "None")


@pytest.fixture
def end_exporter(lab: Lab) -> Iterator[Callable[[], None]]:
    """Offer the place board9, and return what ends its exporter."""
    exporter = lab.coordinator.export("other", "board9", [ssh_service(free_port())])
    lab.coordinator.create("board9", "other/board9/*")

    def end() -> None:
        exporter.kill()
        assert came_true(lambda: "other/board9" not in lab.coordinator.client("resources"))

    yield end
    lab.coordinator.free("board9")
    lab.coordinator.client("-p", "board9", "delete")


def test_a_place_whose_exporter_ended_while_we_were_connected_is_refused_with_that(
    lab: Lab, end_exporter: Callable[[], None]
) -> None:
    # As another board of a study is: labgrid's client keeps what the exporter had, without a class.
    session = coordinator_module._join(lab.coordinator.address)
    try:
        end_exporter()
        with pytest.raises(
            BoardError, match=r"^the place board9 lacks .*: its exporter does not run$"
        ):
            labgrid_board("board9").hold(notify_nobody)
    finally:
        coordinator_module._leave(session)


def test_a_place_whose_exporter_ends_while_it_is_acquired_is_refused_and_given_back(
    lab: Lab, end_exporter: Callable[[], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    before_acquiring(end_exporter, monkeypatch)
    with pytest.raises(
        BoardError, match=r"the place board9 lacks .*: its exporter does not answer"
    ):
        labgrid_board("board9").hold(notify_nobody)
    assert lab.owner("board9") == "None"
