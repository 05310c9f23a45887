"""The directory of a soak: its plan, a line for each cycle, and what each cycle left.

soak.json      the plan, which every cycle shares
begun.json     whether the board was on
cycles.jsonl   a line for each cycle, on disk before the next cycle begins
cycles/000001  console.log from power-on to power-off, and the recording of the run
"""

from __future__ import annotations

import shutil
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import msgspec

from whylate import __version__
from whylate.boards.console.sieve import FrameSieve
from whylate.files import read_end
from whylate.recording.console.crashes import find_crashes
from whylate.recording.errors import DiskError
from whylate.recording.store.lines import Layout, LineDirectory, read_plan, write_plan
from whylate.run.console import NO_END
from whylate.run.errors import RequestError
from whylate.run.workloads.wakeup import plan_wakeups
from whylate.soak.causes import crash_causes, worst
from whylate.soak.model import SCHEMA_VERSION, Begun, Cause, Cycle, SoakPlan
from whylate.soak.own_stages import stages_of

PLAN = "soak.json"
BEGUN = "begun.json"
JOURNAL = "cycles.jsonl"
CYCLES = "cycles"
CONSOLE = "console.log"
#: Bytes of the end of a console log that are searched for a crash.
MOST_CONSOLE = 64 << 20
RECORDING = "recording"


def _from_former(content: dict[str, Any]) -> dict[str, Any]:
    """Return a plan of schema 1, which measured wakeups alone, as one of schema 2."""
    wakeups = plan_wakeups(content.pop("run_for_ns"), content.pop("interval_ns"))
    run = {"workload": msgspec.to_builtins(wakeups), "loads": content.pop("loads")}
    return {**content, "schema_version": SCHEMA_VERSION, "run": run}


LAYOUT = Layout(
    what="soak",
    plan=PLAN,
    plan_type=SoakPlan,
    schema_version=SCHEMA_VERSION,
    lines=JOURNAL,
    line_type=Cycle,
    folder=CYCLES,
    convert=_from_former,
)


def read_soak(directory: Path) -> tuple[SoakPlan, list[Cycle]]:
    """Return the plan of a soak and its cycles so far; raises RecordingError."""
    return LAYOUT.read(directory)


class SoakJournal(LineDirectory[SoakPlan, Cycle]):
    """The open directory of a soak, locked for this process; it writes the line of each cycle.

    Raises RecordingError for a directory with other contents, RequestError for a soak of another
    plan, and DiskError.
    """

    def __init__(self, directory: Path, plan: SoakPlan) -> None:
        #: Whether a killed host left a cycle unfinished.
        self.recovered = False
        super().__init__(directory, LAYOUT, plan)
        #: Counts the starts of the soak, from 1.
        self.session = max((cycle.session for cycle in self.cycles), default=0) + 1

    @property
    def cycles(self) -> list[Cycle]:
        """The cycles so far."""
        return self.lines

    def record_initial_power(self, on: bool | None) -> bool | None:
        """Return whether the board was on when the soak began: `on`, if it begins now."""
        path = self.directory / BEGUN
        if path.exists():
            return read_plan(path, Begun, f"{self.directory} is damaged").found_on
        now = datetime.now(UTC).isoformat(timespec="seconds")
        write_plan(path, Begun(now, __version__, on))
        return on

    def begin(self) -> tuple[int, Path]:
        """Return the next cycle's number, and its directory, which is new."""
        number = self.cycles[-1].cycle + 1 if self.cycles else 1
        place = cycle_directory(self.directory, number)
        try:
            # A directory without a line is what a failed start left.
            shutil.rmtree(place, ignore_errors=True)
            place.mkdir(parents=True)
        except OSError as error:
            raise DiskError(f"{place} cannot be made: {error.strerror}") from None
        return number, place

    def must_be_same(self, held: SoakPlan) -> None:
        """Raise RequestError for a soak of another plan."""
        must_be_same(self.directory, held, self.plan)

    def recover(self) -> None:
        """Record a cycle that a killed host left unfinished."""
        number = self.cycles[-1].cycle + 1 if self.cycles else 1
        place = cycle_directory(self.directory, number)
        if not place.is_dir():
            return
        self.recovered = True
        began = datetime.fromtimestamp(place.stat().st_mtime, UTC)
        # A crash in the console log so far is the board's.
        causes = _crashes(place / CONSOLE)
        outcome, why = worst(("interrupted", "whylate was killed"), causes)
        self.append(
            Cycle(
                cycle=number,
                session=max((cycle.session for cycle in self.cycles), default=1),
                started=began.isoformat(timespec="seconds"),
                outcome=outcome,
                stage="unknown",
                why=why,
                causes=causes,
            )
        )


def must_be_same(directory: Path, held: SoakPlan, plan: SoakPlan) -> None:
    """Raise RequestError where the soak in a directory is of another plan."""
    stages = stages_of(held), stages_of(plan)
    if (stage := _other_stage(*stages)) is not None:
        former_words, our_words = (_format(of_plan.get(stage)) for of_plan in stages)
        raise RequestError(
            f"{directory} is a soak with other boot stages ({stage}: {former_words}, not "
            f"{our_words}): give the same command again to resume it, or choose another name "
            "with -o"
        )
    former, ours = _settings(held), _settings(plan)
    for name in {**former, **ours}:
        if former.get(name) != ours.get(name):
            raise RequestError(
                f"{directory} is a soak with {_option(name)} "
                f"{_format(former.get(name))}, not {_format(ours.get(name))}: give the same "
                "command again to resume it, or choose another name with -o"
            )


def _other_stage(
    held: Mapping[str, Sequence[str]], ours: Mapping[str, Sequence[str]]
) -> str | None:
    """Return the first stage that is not looked for by the same patterns."""
    return next(
        (name for name in {**held, **ours} if list(held.get(name, ())) != list(ours.get(name, ()))),
        None,
    )


def cycle_directory(directory: Path, number: int) -> Path:
    """Return where a cycle's console log and recording are."""
    return directory / CYCLES / f"{number:06d}"


def _crashes(console: Path) -> list[Cause]:
    """Return the crashes in a console's log."""
    try:
        log = read_end(console, MOST_CONSOLE)
    except OSError:
        return []
    # Frames of the probe may be mixed with the text.
    sieve = FrameSieve(NO_END)
    text = sieve.feed(log)[1] + sieve.finish()[1]
    return crash_causes(find_crashes(text), ())


def _settings(plan: SoakPlan) -> Mapping[str, object]:
    """Return what must be the same in all cycles, by name, those of the workload first."""
    asdict = msgspec.structs.asdict
    run = asdict(plan.run)
    workload = run.pop("workload")
    soak = asdict(plan)
    # The patterns of stages are compared one by one.
    del soak["run"], soak["boot_stages"]
    return {"workload": workload.kind, **soak, **run, **asdict(workload)}


def _option(field: str) -> str:
    """Return the name of a field for users."""
    return field.removesuffix("_ns").removesuffix("_s").replace("_", "-")


def _format(value: object) -> str:
    """Return the value of a field for users."""
    if isinstance(value, (list, tuple)):
        words = [str(getattr(item, "kind", getattr(item, "name", item))) for item in value]
        return ", ".join(words)[:200] or "none"
    if value is None:
        return "none"
    if isinstance(value, int) and value >= 1_000_000:
        return f"{value / 1e9:g} s"
    if isinstance(value, float):
        return f"{value:g} s"
    return str(value)
