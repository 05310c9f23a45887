"""One cycle of a soak: flash, power on, boot, measure, power off; every failure has a kind."""

from __future__ import annotations

import contextlib
import math
import os
import shutil
import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from whylate.boards.board import Board, Console, Notify, Power, StartedProbe
from whylate.boards.errors import BoardError
from whylate.boards.notes import forget_run
from whylate.probe.errors import ProbeError, ProbeRefusedError
from whylate.recording.console.crashes import Crash, find_crashes
from whylate.recording.manifest import Manifest
from whylate.run.measure import measure
from whylate.run.progress import Observer, Progress, Step
from whylate.soak.boot_stages import boot_stages
from whylate.soak.card import SoakCard
from whylate.soak.causes import crash_causes, job_causes, worst
from whylate.soak.console import ConsoleTail, TailedConsole, begins_with_the_boot, holds_a_boot
from whylate.soak.failure_kinds import CRASHES, FailureKind
from whylate.soak.guard import HANG_UP_S, Guard
from whylate.soak.journal import CONSOLE, RECORDING
from whylate.soak.kernel_log import (
    KernelLog,
    logged_before,
    read_kernel_log,
    show_program_crashes,
)
from whylate.soak.line import CycleLine
from whylate.soak.model import BootStage, Cause, ConsoleCheck, Cycle, CycleFlash, Outcome, SoakPlan
from whylate.soak.own_stages import stages_of
from whylate.soak.reboot import check_means, reboot
from whylate.soak.run_result import RunResult, read_result

#: The time beyond its plan after which a run loses power. It covers copying the probe over a slow
#: line; the limits of the run itself are shorter.
RUN_MORE_S = 240.0
#: What a run whose length is not planned may take.
UNPLANNED_S = 3600.0
#: Reading the kernel's log, over a slow line, or asking the kernel to log more.
LOG_S = 60.0
#: After these the board still answers, and its kernel's log is read.
_ANSWERED: tuple[FailureKind, ...] = ("run-failed", "job-failed", "timed-out")
#: A run that is asked to end has so long for it.
LEAVE_S = 10.0
#: The last words of a probe whose kernel panicked have arrived after this.
PANICKED_S = 2.0
#: A board that was up answers within this.
ANSWER_S = 20.0
#: A call that waits for a board that reboots may take so much longer than it should.
_CALL_S = 5.0
#: A mark that was printed on the board is in the console's log after this.
MARK_S = 5.0
#: A run is made again so often where a thread came too late for its first deadline, as on a virtual
#: board with a busy host. Each time is counted: on real hardware that is a stall by itself.
MOST_LATE_STARTS = 3
MAX_WHY = 400


class CycleFailedError(Exception):
    """The cycle failed."""

    def __init__(self, kind: FailureKind, why: str) -> None:
        super().__init__(why)
        self.kind = kind


class _LeftError(Exception):
    """The user ended the soak."""


@dataclass(frozen=True)
class _CycleBoard:
    """What a run needs of a board; its console's log is that of one cycle."""

    name: str
    console: Console | None
    start_probe: Callable[[Notify], StartedProbe]


class CycleRunner:
    """Carries out one cycle on a board that is held and off; for one use.

    off_first: switch off before, since the former cycle failed. mark_seen: whether the console
    showed a mark that was printed on the board before; None: not tried yet. leave_crashed: a board
    on which the kernel or a program crashed, or that hangs, is left on as it is. card: the one to
    which the image is written first. reboot: the board is up, and is rebooted by the plan's means
    in place of its power.
    """

    def __init__(
        self,
        board: Board,
        plan: SoakPlan,
        place: Path,
        observer: Observer,
        stopped: Callable[[], bool],
        *,
        off_first: bool,
        mark_seen: bool | None,
        leave_crashed: bool = False,
        card: SoakCard | None = None,
        reboot: bool = False,
    ) -> None:
        assert board.power is not None  # noqa: S101 - soak() refuses such boards
        self._board = board
        self._power: Power = board.power
        self._plan = plan
        self._place = place
        self._observer = observer
        self._stopped = stopped
        self._off_first = off_first
        self._mark_seen = mark_seen
        self._leave_crashed = leave_crashed
        #: Whether the line to the probe of a kernel that panicked is about to end.
        self._ends_line = False
        self._card = card
        self._reboots = reboot
        self._reboot_s: float | None = None
        console = board.console
        self._tail = ConsoleTail(console, place / CONSOLE) if console is not None else None
        self._guard = Guard(self._power, self._tail, stopped)
        tailed = TailedConsole(console, self._tail) if console and self._tail else None
        self._line = CycleLine()
        self._seen = _CycleBoard(board.name, tailed, self._start_probe)
        self._number = 0
        self._stage = "power"
        self._flash: CycleFlash | None = None
        #: When the order to switch on was given, and how much was printed until the board was up.
        self._switched_on: float | None = None
        self._booted_bytes: int | None = None
        self._boot_s: float | None = None
        self._measuring_s: float | None = None
        self._run_s: float | None = None
        self._late_starts = 0
        self._result = RunResult()
        self._logged = KernelLog()
        self._causes: list[Cause] = []
        self._ends: bool | None = None

    def carry_out(self, number: int, session: int) -> Cycle:
        """Return the result of the cycle; the board is off again, unless its supply failed.

        Or unless it crashed, and is left as it is.

        Raises RequestError for a workload that no board could do, and DiskError.
        """
        started = datetime.now(UTC).isoformat(timespec="seconds")
        self._number = number
        begun = self._begun = time.monotonic()
        failure: tuple[Outcome, str] | None = None
        try:
            with self._guard:
                try:
                    self._write_card()
                    if self._reboots:
                        self._reboot()
                    else:
                        self._boot()
                    # A prompt of its console may come later than it takes commands.
                    self._guard.booting = False
                    self._run()
                    self._mark()
                except _LeftError:
                    failure = "interrupted", "ended by the user"
                except CycleFailedError as error:
                    failure = error.kind, str(error)
                finally:
                    self._guard.over()
                    printed = len(self._tail.read()) if self._tail is not None else 0
                    printed = self._guard.living(printed)
                    self._causes = self._find_causes(printed)
                    stages = self._find_stages(printed)
                    left_on = self._is_left(failure)
                    off = None if left_on or self._stays_up(failure) else self._off()
            if off is not None and failure is None:
                self._stage = "off"
                failure = off
            console = self._console_check()
            outcome, why = self._judge(failure, console)
            if outcome == "crashed" and self._stage == "power":
                # A board that crashed had power, even if its boot was not seen.
                self._stage = "boot"
        finally:
            if self._tail is not None:
                self._tail.close()
        if self._plan.keep == "failures" and outcome == "ok":
            shutil.rmtree(self._place / RECORDING, ignore_errors=True)
            forget_run(self._board.name, self._place / RECORDING)
        return Cycle(
            cycle=number,
            session=session,
            started=started,
            outcome=outcome,
            stage="done" if outcome == "ok" else self._stage,
            why=short_why(why),
            boot_s=_rounded(self._boot_s),
            reboot_s=_rounded(self._reboot_s),
            measuring_s=_rounded(self._measuring_s),
            total_s=round(time.monotonic() - begun, 3),
            run_s=_rounded(self._run_s),
            late_starts=self._late_starts,
            flash=self._flash,
            console=console,
            boot_stages=stages,
            kernel_log_unread=short_why(self._logged.unread),
            latency=self._result.latency,
            figures=list(self._result.figures),
            causes=self._causes,
            left_on=left_on,
            host_rss_bytes=rss_bytes(),
        )

    # The stages.

    def _write_card(self) -> None:
        """Write the image to the card, where the soak has one; what it takes is no time to boot."""
        if self._card is None:
            return
        if (failure := self._off()) is not None:
            raise CycleFailedError("no-power", failure[1])
        self._stage = "flash"
        began = time.monotonic()
        try:
            self._flash = self._card.write(self._show_unless_left)
        except BoardError as error:
            self._flash = self._card.written(began, verified=False)
            raise CycleFailedError("flash-failed", str(error)) from None
        self._stage = "power"
        self._begun = time.monotonic()

    def _show_unless_left(self, text: str) -> None:
        if self._stopped():
            raise _LeftError
        self._observer.log(text)

    def _boot(self) -> None:
        if self._off_first and (failure := self._off()) is not None:
            raise CycleFailedError("no-power", failure[1])
        if self._stopped():
            raise _LeftError
        self._guard.stage(self._plan.boot_timeout_s, 0.0)
        started = self._switched_on = time.monotonic()
        try:
            self._board.boot(self._observer.log)
        except BoardError as error:
            self._unless_left()
            if self._guard.cut == "late":
                self._stage = "boot"
                raise CycleFailedError(
                    "no-boot",
                    f"it did not come up within {self._plan.boot_timeout_s:g} s"
                    f"{self._last_words()}",
                ) from None
            if not self._has_power():
                raise CycleFailedError("no-power", str(error)) from None
            self._stage = "boot"
            raise CycleFailedError("no-boot", str(error)) from None
        self._boot_s = time.monotonic() - started
        self._has_booted()
        if self._plan.reboot:
            check_means(self._board, self._plan.reboot)

    def _has_booted(self) -> None:
        if self._tail is not None:
            self._tail.copy()
            self._booted_bytes = self._tail.bytes
        self._unless_left()

    def _reboot(self) -> None:
        """Reboot the board by the plan's means; one that does not come back loses its power."""
        self._stage = "reboot"
        if self._stopped():
            raise _LeftError
        limit_s = self._plan.boot_timeout_s
        # The wait ends by itself, and has the better reason, unless a call blocks.
        self._guard.stage(limit_s + _CALL_S, 0.0)
        started = self._switched_on = time.monotonic()
        self._observer.log(f"rebooting {self._board.name}")
        why = ""
        try:
            reboot(self._board, self._plan.reboot, limit_s, lambda: self._guard.cut is not None)
        except BoardError as error:
            why = str(error)
        self._unless_left()
        if self._guard.cut == "late":
            why = f"it did not come back within {limit_s:g} s"
        if why:
            raise CycleFailedError("reboot-failed", f"{why}{self._last_words()}")
        self._reboot_s = time.monotonic() - started
        self._has_booted()

    def _has_power(self) -> bool:
        """Whether anything shows that a board that did not boot has power."""
        with contextlib.suppress(BoardError):
            if self._power.is_on() is not False:
                return True
        if self._tail is None:
            return False
        self._tail.copy()
        return self._tail.bytes > 0

    def _run(self) -> None:
        """Measure, and read what the kernel logged meanwhile."""
        failed: CycleFailedError | None = None
        self._guard.stage(self._limit_s(LOG_S), LEAVE_S)
        up_s = show_program_crashes(self._board)
        before_s = logged_before(up_s, time.monotonic() - self._begun)
        self._unless_left()
        try:
            self._measure()
        except CycleFailedError as error:
            if error.kind not in _ANSWERED:
                raise
            failed = error
        self._guard.stage(self._limit_s(LOG_S), LEAVE_S)
        self._logged = read_kernel_log(self._board, self._place, before_s)
        self._unless_left()
        if failed is not None:
            raise failed

    def _measure(self) -> None:
        place = self._place / RECORDING
        manifest = self._attempt(place)
        while manifest.late_start and self._late_starts < MOST_LATE_STARTS:
            if self._ends_early():
                break
            self._observer.log(f"{manifest.late_start}: the run is made again")
            self._late_starts += 1
            shutil.rmtree(place, ignore_errors=True)
            manifest = self._attempt(place)
        self._result = read_result(place, manifest)
        self._unless_left()
        if self._has_panicked():
            # It does not answer, and need not be asked: what it printed is the reason.
            self._fail("hung", "its kernel panicked")
        if manifest.state == "interrupted":
            raise _LeftError
        self._check(manifest)

    def _attempt(self, place: Path) -> Manifest:
        """Measure once."""
        self._stage = "probe"
        self._guard.stage(
            run_limit_s(self._plan), LEAVE_S, self._line.end, self._limit_s(HANG_UP_S)
        )
        try:
            manifest = measure(self._seen, self._plan.run, place, self, self._ends_early)
        except ProbeRefusedError as error:
            self._stage = "run"
            self._fail("run-failed", str(error))
        except (BoardError, ProbeError) as error:
            self._fail("no-probe", str(error))
        self._stage = "run"
        if self._measuring_s is not None:
            self._run_s = time.monotonic() - self._begun - self._measuring_s
        return manifest

    def _start_probe(self, notify: Notify) -> StartedProbe:
        return self._line.over(self._board.start_probe(notify))

    def _limit_s(self, seconds: float) -> float:
        """Return after which time the power is cut in a stage that has limits of its own.

        A board that hangs may have to stay as it is: those limits then end the stage.
        """
        return math.inf if self._leave_crashed else seconds

    def _ends_early(self) -> bool:
        """Whether the run is to end: the user wants it, or the kernel is dead."""
        if not self._has_panicked():
            return self._stopped()
        if not self._ends_line:
            # The run would wait a minute for its answer.
            self._ends_line = True
            self._guard.stage(PANICKED_S, LEAVE_S, self._line.end, self._limit_s(HANG_UP_S))
        return True

    def _has_panicked(self) -> bool:
        return self._tail is not None and self._tail.has_panicked()

    def _check(self, manifest: Manifest) -> None:
        """Raise CycleFailedError where the run failed: a job of its own kind."""
        reasons = list(self._result.reasons)
        if manifest.state != "complete":
            reasons.append(f"the run was {manifest.state}")
        job = job_causes(self._result.job)
        if not reasons and not job:
            return
        kind: FailureKind = "job-failed" if job else "run-failed"
        why = job[0].why if job else reasons[0]
        if not self._guard.hung_up and not self._answers():
            self._fail("hung", f"it stopped answering; {why}")
        self._fail(kind, why)

    def _mark(self) -> None:
        """Check that the board still answers, and that its console still works."""
        if not self._answers():
            self._fail("hung", "the board did not answer after the run")
        if self._tail is None:
            return
        self._guard.over()
        # /dev/console of a board may be elsewhere; then the mark never comes.
        deadline = time.monotonic() + (MARK_S if self._mark_seen is not False else 0.0)
        while not (came := _mark_of(self._number).encode() in self._tail.read()[-(1 << 16) :]):
            if time.monotonic() > deadline or self._stopped():
                break
            time.sleep(0.05)
        self._ends = True if came else (False if self._mark_seen else None)

    def _answers(self) -> bool:
        """Whether a command still runs on the board; it prints the mark on the console."""
        # The shell waits longer for slow lines, which is too long here.
        self._guard.stage(self._limit_s(ANSWER_S), LEAVE_S)
        # The board joins the parts of the mark, since the console echoes the command.
        script = 'echo "$1-$2" >/dev/console; :'
        first, _, last = _mark_of(self._number).rpartition("-")
        try:
            done = self._board.run(["sh", "-c", script, "whylate", first, last], timeout_s=ANSWER_S)
        except BoardError:
            return False
        return done.status == 0

    def _off(self) -> tuple[Outcome, str] | None:
        """Cut the power; return the failure, or None."""
        self._observer.log(f"switching {self._board.name} off")
        try:
            self._power.off()
            if self._power.is_on():
                return "no-power", "the supply was switched off and reports that it is still on"
        except BoardError as error:
            return "no-power", str(error)
        return None

    def _stays_up(self, failure: tuple[Outcome, str] | None) -> bool:
        """Whether the board is left on for the next cycle, which reboots it."""
        if not self._plan.reboot or self._guard.cut is not None:
            return False
        return worst(failure, self._causes)[0] == "ok"

    def _is_left(self, failure: tuple[Outcome, str] | None) -> bool:
        """Whether the board is left on: it crashed or hangs, and still has its power."""
        if not self._leave_crashed or self._guard.cut is not None:
            return False
        if worst(failure, self._causes)[0] not in CRASHES:
            return False
        # A kernel may reset the board after a panic.
        with contextlib.suppress(BoardError):
            return self._power.is_on() is not False
        return True

    # The outcome.

    def _fail(self, kind: FailureKind, why: str) -> None:
        """Raise CycleFailedError; a run that was late hung where the board does not answer."""
        self._unless_left()
        if kind != "hung" and (self._guard.hung_up or self._guard.cut == "late"):
            why = f"it exceeded its time limit: {why}"
            dead = self._has_panicked() or self._guard.cut is not None
            kind = "timed-out" if not dead and self._answers() else "hung"
            self._unless_left()
        raise CycleFailedError(kind, why) from None

    def _unless_left(self) -> None:
        if self._guard.cut == "left":
            raise _LeftError

    def _console_check(self) -> ConsoleCheck | None:
        if self._tail is None:
            return None
        log = self._tail.read()
        return ConsoleCheck(
            bytes=self._tail.bytes,
            begins=(holds_a_boot if self._reboots else begins_with_the_boot)(log),
            ends=self._ends,
            cut=self._tail.cut,
        )

    def _find_causes(self, printed: int) -> list[Cause]:
        """Return the crashes on the console and in the kernel's log, and how a job failed.

        printed: bytes of the console from before the power was cut: what a board prints while it
        loses power is no crash.
        """
        shown: list[Crash] = []
        if self._tail is not None:
            shown = list(find_crashes(self._tail.text(printed)))
        return [*crash_causes(shown, self._logged.crashes), *job_causes(self._result.job)]

    def _find_stages(self, printed: int) -> list[BootStage] | None:
        """Return the stages of the boot that its console shows; None without a console."""
        if self._tail is None or self._switched_on is None:
            return None
        if self._tail.framed and self._booted_bytes is not None:
            # What follows may be frames of the probe.
            printed = min(printed, self._booted_bytes)
        return boot_stages(
            self._tail.read()[:printed],
            self._tail.stamps,
            self._switched_on,
            stages_of(self._plan),
            self._booted_bytes,
        )

    def _judge(
        self, failure: tuple[Outcome, str] | None, console: ConsoleCheck | None
    ) -> tuple[Outcome, str]:
        """Return the worst outcome; an incomplete log counts where nothing else does.

        A crash also counts if the user ended the cycle, perhaps because of it.
        """
        if failure is None and console is not None and console.whole is False:
            failure = "console-cut", _what_is_cut(console)
        return worst(failure, self._causes)

    def _last_words(self) -> str:
        if self._tail is None:
            return ""
        lines = self._tail.read()[-400:].decode(errors="replace").split("\n")
        words = " | ".join(line.strip() for line in lines[-4:] if line.strip())
        return f"; the console ends with: {words or 'nothing'}"

    # The observer of the run.

    def log(self, text: str) -> None:
        """Pass it on."""
        self._observer.log(text)

    def step(self, step: Step) -> None:
        """Note that the measurement begins, and pass the step on."""
        if step is Step.MEASURE:
            self._stage = "run"
            self._measuring_s = time.monotonic() - self._begun
        self._observer.step(step)

    def progress(self, progress: Progress) -> None:
        """Pass it on."""
        self._observer.progress(progress)


def run_limit_s(plan: SoakPlan) -> float:
    """Return how long a run may take: as planned and a little, an hour where no time is planned."""
    if plan.run_timeout_s is not None:
        return plan.run_timeout_s
    activations = plan.run.activations
    planned_s = UNPLANNED_S if activations is None else activations.duration_ns / 1e9
    return planned_s + RUN_MORE_S


def short_why(why: str) -> str:
    """Return a reason as a cycle has it: one line that is not too long."""
    return " ".join(why.split())[:MAX_WHY]


def rss_bytes() -> int:
    """Return the memory of this process that is resident (proc(5), statm)."""
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE")


def _mark_of(number: int) -> str:
    return f"whylate: end of cycle-{number}"


def _what_is_cut(console: ConsoleCheck) -> str:
    if console.cut:
        return "the console printed more than is kept"
    if console.begins is False:
        return "the console's log does not begin with the boot"
    return "what was printed after the run is not in the console's log"


def _rounded(seconds: float | None) -> float | None:
    return None if seconds is None else round(seconds, 3)
