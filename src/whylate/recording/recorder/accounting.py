"""What the flight recorder reports: its engine, its sources, its symbols, its cost."""

from __future__ import annotations

from whylate.recording.manifest import (
    BuildId,
    DetachedReport,
    HookReport,
    MaximumReport,
    RecorderReport,
    SourceReport,
    SymbolsReport,
)
from whylate.recording.recorder.raw_events import SOFTIRQS, VECTORS, numbered_name
from whylate.text import shown
from whylate.wire.codec import WireError
from whylate.wire.constants import MOST_DETACHED, MaximumKind
from whylate.wire.messages import BuildId as BuildIdMessage
from whylate.wire.messages import (
    Hook,
    Message,
    Note,
    RecorderCost,
    RecorderDetached,
    RecorderMaximum,
    RecorderResult,
    RecorderSource,
    RecorderStarted,
    Symbols,
)

#: More tracepoints than any engine has, more modules than the probe tells of.
MOST_SOURCES = 200
MOST_BUILD_IDS = 100
#: As many functions as the probe tells of (probe/src/recorder/hooks.h).
MOST_HOOKS = 16
#: More than the probe has places for on a hundred CPUs' devices.
MOST_MAXIMA = 1000
#: Bytes; SHA-1 takes 20.
LONGEST_BUILD_ID = 64


class RecorderAccounting:
    """Collects the recorder's reports for the manifest."""

    def __init__(self) -> None:
        self._sources: list[SourceReport] = []
        self._build_ids: list[BuildId] = []
        self._started: RecorderStarted | None = None
        self._symbols: Symbols | None = None
        self._cost: RecorderCost | None = None
        self._detached: list[DetachedReport] = []
        self._hooks: list[HookReport] = []
        self._shows_hooks: bool | None = None
        self._maxima: list[MaximumReport] = []
        self._result: RecorderResult | None = None
        self._declined: str | None = None
        #: Why none was started; None: one was, or the reason is not known.
        self.refused: str | None = None

    @property
    def has_begun(self) -> bool:
        """Whether events were recorded."""
        return self._started is not None

    def add(self, message: Message) -> bool:
        """Add a message; return whether it was about the recorder. Raises WireError."""
        match message:
            case RecorderStarted():
                self._started = message
            case RecorderSource():
                if len(self._sources) < MOST_SOURCES:
                    self._sources.append(SourceReport(shown(message.name, 80), message.error))
            case RecorderCost():
                self._cost = message
            case RecorderResult():
                self._result = message
            case Note(code="no-recorder"):
                self.refuse(message.text)
            case Note(code="recorder-declined"):
                self._declined = shown(message.text, 400)
            case _:
                return self._add_report(message)
        return True

    def _add_report(self, message: Message) -> bool:
        """Add a message of what else the recorder reports; return whether it was one."""
        match message:
            case Symbols():
                self._add_symbols(message)
            case BuildIdMessage():
                self._add_build_id(message)
            case RecorderDetached():
                self._add_detached(message)
            case RecorderMaximum():
                self._add_maximum(message)
            case Hook(at=""):
                self._shows_hooks = bool(message.known)
            case Hook():
                if len(self._hooks) < MOST_HOOKS:
                    at, name = shown(message.at, 64), shown(message.name, 160)
                    self._hooks.append(HookReport(at, name, bool(message.timed)))
            case _:
                return False
        return True

    def refuse(self, text: str) -> None:
        """Add why there is none."""
        if self._started is None:
            self.refused = shown(text, 400)

    def _add_symbols(self, message: Symbols) -> None:
        if message.named > message.addresses:
            raise WireError("more symbols than addresses")
        self._symbols = message

    def _add_build_id(self, message: BuildIdMessage) -> None:
        if not 0 < len(message.id) <= LONGEST_BUILD_ID:
            raise WireError("a build id of an impossible length")
        if len(self._build_ids) < MOST_BUILD_IDS:
            module = shown(message.module, 64)
            self._build_ids.append(BuildId(module or None, message.id.hex()))

    def _add_detached(self, message: RecorderDetached) -> None:
        counted = bool(message.counted)
        try:
            stretch = DetachedReport(
                message.begin_ns,
                message.from_ns,
                message.to_ns,
                message.until_ns,
                message.before if counted else None,
                message.after if counted else None,
                message.error,
            )
        except ValueError as error:
            raise WireError(str(error)) from None
        if self._detached and stretch.begin_ns < self._detached[-1].until_ns:
            raise WireError("a recorder that was detached while it was detached")
        if len(self._detached) < MOST_DETACHED:
            self._detached.append(stretch)

    def _add_maximum(self, message: RecorderMaximum) -> None:
        """Add the maxima of an interrupt or softirq, by the name that events have."""
        number = message.number
        match MaximumKind(message.kind):
            case MaximumKind.SOFTIRQ:
                cause, name = "softirq", numbered_name("softirq", SOFTIRQS, number)
            case MaximumKind.VECTOR:
                cause, name = "interrupt", numbered_name("vector", VECTORS, number)
            case MaximumKind.DEVICE:
                cause, name = "interrupt", shown(message.name, 160) or f"irq {number}"
            case _:
                cause, name = "interrupt", "others"
        try:
            report = MaximumReport(
                cause,
                name,
                message.cpu,
                message.arrivals,
                message.longest_ns,
                message.longest_at_ns,
                list(message.spans_ns),
                list(message.totals_ns),
            )
        except ValueError as error:
            raise WireError(str(error)) from None
        if len(self._maxima) < MOST_MAXIMA:
            self._maxima.append(report)

    @property
    def attach_error(self) -> int:
        """The errno for which a source was not attached again; 0."""
        return next((stretch.error for stretch in self._detached if stretch.error), 0)

    def report(self, windows: int) -> RecorderReport:
        """Return what the recorder did; windows: how many came."""
        started, result, cost = self._started, self._result, self._cost
        return RecorderReport(
            engine=shown(started.engine, 40) if started is not None else None,
            refused=self.refused,
            ring_events=started.ring_events if started is not None else 0,
            sources=self._sources,
            windows=windows,
            rate_limited=result.rate_limited if result is not None else 0,
            events=result.events if result is not None else 0,
            missed=result.missed if result is not None else 0,
            runs=result.runs if result is not None and result.runs else None,
            run_ns=result.run_ns if result is not None and result.run_ns else None,
            sampled_runs=cost.sampled_runs if cost is not None and cost.sampled_runs else None,
            sampled_ns=cost.sampled_ns if cost is not None and cost.sampled_runs else None,
            gather_ns=cost.gather_ns if cost is not None else None,
            declined=self._declined if started is not None else None,
            symbols=self._symbols_report(),
            detached=self._detached,
            hooks=self._hooks,
            shows_hooks=self._shows_hooks,
            maxima=self._maxima or None,
        )

    def _symbols_report(self) -> SymbolsReport | None:
        symbols = self._symbols
        if symbols is None:
            return None
        return SymbolsReport(
            shown=bool(symbols.shown),
            kptr_restrict=symbols.kptr_restrict if symbols.kptr_restrict >= 0 else None,
            lowered=bool(symbols.lowered),
            addresses=symbols.addresses,
            named=symbols.named,
            build_ids=self._build_ids,
        )
