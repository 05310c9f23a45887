"""Boot entries around runs: set for one boot, read back, and put back whatever happens."""

from __future__ import annotations

import platform
from collections.abc import Callable
from pathlib import Path
from typing import cast

import pytest

from boot_boards import OWN, TreeBoard
from whylate.boards.board import Board, notify_nobody
from whylate.boards.boot import restart
from whylate.boards.errors import BoardError
from whylate.boards.ready import boot as boot_own
from whylate.recording.plan import RunPlan
from whylate.recording.workloads.wakeup import Wakeup
from whylate.run.errors import RequestError
from whylate.run.knobs.apply import apply_knobs
from whylate.study.model import LoadSet, Stop, StudyPlan, Variant
from whylate.study.restore.boots import Boots
from whylate.study.restore.cards import hash_images

KINDS = ["grub", "extlinux", "u-boot-env", "kexec"]
OTHER = {"cmdline:skew_tick": "1", "cmdline:quiet": "no"}
WORKLOAD = Wakeup(duration_ns=10**8, interval_ns=10**6)


def study(*knobs: dict[str, str]) -> StudyPlan:
    variants = [Variant(f"v{number}", item) for number, item in enumerate(knobs)]
    return StudyPlan(
        workload=WORKLOAD,
        boards=["board7"],
        variants=variants,
        loads=[LoadSet("idle", [])],
        stop=Stop("runs", [6]),
        image_sha256=hash_images(variants, ["board7"]),
    )


class Studied:
    """A board and a study of it."""

    def __init__(self, directory: Path, board: TreeBoard, *knobs: dict[str, str]) -> None:
        self.directory = directory / "study"
        self.directory.mkdir(exist_ok=True)
        self.board, self.knobs = board, knobs
        self.lines: list[str] = []
        self.restart()

    def restart(self) -> None:
        """As after the host was killed: only what is on its disk is left."""
        self.boots = Boots(self.directory, study(*self.knobs))

    def run(self, number: int) -> None:
        """Boot for a run of a variant; the board is off again then, if it has a supply."""
        applied = apply_knobs(RunPlan(workload=WORKLOAD), self.knobs[number])
        try:
            self.boots.boot("board7", applied, boot_own)(cast(Board, self.board), self.lines.append)
        finally:
            self.running = self.words()
            self.board.close()

    def put_back(self, *, over: bool) -> str:
        return self.boots.put_back(
            "board7", lambda _: cast(Board, self.board), self.lines.append, over=over
        )

    def words(self) -> list[str]:
        added = ("whylate.entry=", "BOOT_IMAGE=")
        return [word for word in self.board.words_now() if not word.startswith(added)]


Make = Callable[..., Studied]


@pytest.fixture
def make(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Make:
    monkeypatch.setattr(restart, "_POLL_S", 0.0)
    monkeypatch.setattr(restart, "RESTART_S", 3.0)

    def made(kind: str, *knobs: dict[str, str], supply: bool = True) -> Studied:
        board = TreeBoard(tmp_path / "board", kind, supply=supply)
        board.boot(notify_nobody)
        board.close()
        return Studied(tmp_path, board, *(knobs or ({}, OTHER)))

    return made


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("supply", [True, False])
def test_a_run_boots_its_words_once_and_nothing_is_left(
    make: Make, kind: str, *, supply: bool
) -> None:
    studied = make(kind, supply=supply)
    before = studied.board.state()
    studied.run(1)
    assert studied.running == ["console=ttyS0", "skew_tick=1"]
    after = studied.board.state()
    assert {name for name in after if name not in before} <= {
        "boot/whylate", "boot/whylate/whylate.conf"
    }  # fmt: skip
    assert {name: after[name] for name in before} == before, "while the board runs the entry"
    studied.run(0)
    assert studied.running == OWN
    assert studied.put_back(over=True) == ""
    assert studied.board.state() == before
    assert not (studied.directory / "boots").exists()
    studied.board.cut_power()
    studied.board.boot(notify_nobody)
    assert studied.words() == OWN


@pytest.mark.parametrize("kind", KINDS)
def test_a_board_that_is_always_on_runs_its_own_again_when_the_study_is_over(
    make: Make, kind: str
) -> None:
    studied = make(kind, supply=False)
    studied.run(1)
    assert studied.put_back(over=True) == ""
    assert studied.board.up
    assert studied.words() == OWN


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("after", [True, False])
def test_a_connection_that_breaks_anywhere_leaves_nothing(
    make: Make, kind: str, *, after: bool
) -> None:
    studied = make(kind)
    before = studied.board.state()
    for number in range(100):
        studied.board.cut_at, studied.board.after = number, after
        try:
            studied.run(1)
        except BoardError:
            studied.board.cut_at = None
            studied.restart()
            assert studied.put_back(over=True) == "", number
            assert studied.board.state() == before, number
            studied.board.cut_power()
            studied.board.boot(notify_nobody)
            assert studied.words() == OWN, number
            studied.board.cut_power()
            continue
        studied.board.cut_at = None
        break
    assert number > 10, "it broke at each command"
    assert studied.running == ["console=ttyS0", "skew_tick=1"]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("supply", [True, False])
def test_a_host_that_is_killed_between_arming_and_booting_puts_everything_back(
    make: Make, kind: str, monkeypatch: pytest.MonkeyPatch, *, supply: bool
) -> None:
    studied = make(kind, supply=supply)
    studied.board.boot(notify_nobody)
    before = studied.board.state()

    class KilledError(BaseException):
        pass

    def killed(*_: object, **__: object) -> None:
        raise KilledError

    with monkeypatch.context() as patch:
        patch.setattr(f"whylate.boards.boot.{MODULES[kind]}.start", killed)
        with pytest.raises(KilledError):
            studied.run(1)
    # The board sees a power cut and boots, whatever it was armed for; then the host comes back.
    studied.restart()
    assert studied.put_back(over=False) == ""
    assert {k: v for k, v in studied.board.state().items() if "whylate" not in k} == {
        k: v for k, v in before.items() if "whylate" not in k
    }
    assert studied.put_back(over=True) == ""
    assert studied.board.state() == before


MODULES = {
    "grub": "grub.Grub",
    "extlinux": "extlinux.Extlinux",
    "u-boot-env": "u_boot_env.UBootEnv",
    "kexec": "kexec.Kexec",
}


@pytest.mark.parametrize("kind", KINDS)
def test_a_board_that_hangs_is_cycled_and_boots_its_own(make: Make, kind: str) -> None:
    studied = make(kind, {}, {"cmdline:hang": "yes"})
    before = studied.board.state()
    with pytest.raises(BoardError, match="it has its own entry again"):
        studied.run(1)
    assert studied.running == OWN
    assert {k: v for k, v in studied.board.state().items() if "whylate" not in k} == before
    studied.run(0)
    assert studied.running == OWN


@pytest.mark.parametrize("kind", KINDS)
def test_a_board_that_hangs_and_has_no_supply_says_what_to_do(make: Make, kind: str) -> None:
    studied = make(kind, {}, {"cmdline:hang": "yes"}, supply=False)
    with pytest.raises(BoardError, match="switch it off and on: it then boots its own entry"):
        studied.run(1)
    assert "how it boots was not put back" in studied.put_back(over=True)
    studied.board.cut_power()
    studied.board.boot(notify_nobody)
    assert studied.words() == OWN
    assert studied.put_back(over=True) == ""


@pytest.mark.parametrize("kind", ["grub", "extlinux", "u-boot-env"])
def test_a_disk_that_is_full_fails_the_run_and_changes_nothing(make: Make, kind: str) -> None:
    studied = make(kind)
    before = studied.board.state()
    studied.board.full = True
    with pytest.raises(BoardError, match="No space left on device; nothing was booted"):
        studied.run(1)
    assert studied.put_back(over=True) == ""
    assert studied.board.state() == before


def test_an_entry_that_was_not_booted_fails_the_run(
    make: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    studied = make("grub")
    monkeypatch.setattr(TreeBoard, "_next", lambda _: ["BOOT_IMAGE=/vmlinuz", *OWN])
    with pytest.raises(BoardError, match="booted its own entry instead"):
        studied.run(1)


def test_a_word_that_the_boot_loader_drops_ends_the_study(
    make: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    studied = make("extlinux")
    real = TreeBoard._next
    monkeypatch.setattr(
        TreeBoard, "_next", lambda board: [w for w in real(board) if w != "skew_tick=1"]
    )
    with pytest.raises(RequestError, match="skew_tick=1 is not on the kernel's command line"):
        studied.run(1)


def test_files_of_the_host_and_of_the_board_are_booted(make: Make, tmp_path: Path) -> None:
    kernel = tmp_path / "Image-board7"
    kernel.write_bytes(b"\0" * 0x400)
    knobs = {"kernel": f"{tmp_path}/Image-{{board}}", "dtb": "board:/boot/vmlinuz"}
    studied = make("extlinux", {}, knobs)
    studied.run(1)
    kernel.write_bytes(b"another")
    with pytest.raises(RequestError, match="is not what it was when the study began"):
        studied.run(1)
    studied.knobs = ({}, {"initrd": "board:/boot/none"})
    studied.restart()
    with pytest.raises(RequestError, match="knob initrd: board7 has no file /boot/none"):
        studied.run(1)


@pytest.mark.parametrize(
    ("kind", "wrong", "message"),
    [
        ("extlinux", "ldlinux.sys", "cannot boot a label once"),
        ("extlinux", "extlinux.conf", "there is no /boot/extlinux/extlinux.conf"),
        ("grub", "grub.cfg", "there is no /boot/grub/grub.cfg"),
    ],
)
def test_a_board_without_what_its_method_needs_is_refused(
    make: Make, kind: str, wrong: str, message: str
) -> None:
    studied = make(kind)
    for path in (studied.board.root / "boot").rglob(wrong):
        path.unlink()
    with pytest.raises(RequestError, match=message):
        studied.run(1)


def test_a_board_that_declares_nothing_boots_by_what_it_has(make: Make) -> None:
    studied = make("grub")
    studied.board.declared = {}
    studied.run(1)
    assert studied.running == ["console=ttyS0", "skew_tick=1"]
    assert any("boots by grub, as it has it" in line for line in studied.lines)


def test_variants_without_such_knobs_boot_as_the_board_does(make: Make) -> None:
    studied = make("grub", {}, {"thp": "never"})
    studied.run(1)
    assert studied.board.boots[-1] == ["BOOT_IMAGE=/vmlinuz", *OWN]
    assert not any("whylate" in name for name in studied.board.state())


def test_a_kernel_without_its_modules_is_said_once(make: Make, tmp_path: Path) -> None:
    kernel = tmp_path / "Image"
    kernel.write_bytes(b"another kernel")
    studied = make("extlinux", {}, {"kernel": str(kernel)})
    modules = studied.board.root / "lib/modules"

    def warnings() -> list[str]:
        return [line for line in studied.lines if "modules" in line]

    studied.run(1)
    # A board without any has kernels that need none.
    assert warnings() == []
    (modules / "5.10").mkdir(parents=True)
    studied.restart()
    for number in (0, 1, 1):
        studied.run(number)
    (warning,) = warnings()
    # The board's commands are those of this machine.
    release = platform.release()
    assert f"the kernel {release} runs without modules, since there is no /lib/modules/" in warning
    (modules / release).mkdir()
    studied.restart()
    studied.run(1)
    assert len(warnings()) == 1
