"""Where facts come from: a source names the files to request and makes facts of the answers."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Protocol

from whylate.boards.facts.reading import CPUS, Files, by_value, make_fact
from whylate.boards.facts.snapshot import FileRequest, ProbeFacts
from whylate.recording.manifest import Fact, FactValue

#: Makes facts of all that was read.
MakeFacts = Callable[[Files], Iterable[Fact]]


class Source(Protocol):
    """One row of a theme's table."""

    @property
    def requests(self) -> tuple[FileRequest, ...]:
        """The files to request of the board."""

    def facts(self, files: Files) -> Iterable[Fact]:
        """Return the facts, [] where the board does not have the thing."""


@dataclass(frozen=True)
class FromFile:
    """The fact that one file holds, its text passed through `parse` (None: not understood)."""

    name: str
    path: str
    limit: int
    parse: Callable[[str], FactValue] = str

    @property
    def requests(self) -> tuple[FileRequest, ...]:
        """The file."""
        return (FileRequest(self.path, self.limit),)

    def facts(self, files: Files) -> list[Fact]:
        """Return the fact; the module `reading` has the rule for what is absent or closed."""
        content = files.content(self.path)
        if content is None:
            return []
        if content.error is not None:
            return [make_fact(self.name, None, f"{self.path}: not readable ({content.error})")]
        value = self.parse(files.text(self.path, 4096) or "")
        source = self.path if value is not None else f"{self.path}: not understood"
        return [make_fact(self.name, value, source)]


@dataclass(frozen=True)
class FromCpus:
    """The fact that a file of every CPU holds, grouped by value."""

    name: str
    file: str
    limit: int

    @property
    def requests(self) -> tuple[FileRequest, ...]:
        """The file of each CPU."""
        return (FileRequest(f"{CPUS}/cpu[0-9]*/{self.file}", self.limit),)

    def facts(self, files: Files) -> list[Fact]:
        """Return the fact; where no CPU's file is readable, the reason of the first."""
        source = f"{CPUS}/cpu*/{self.file}"
        if values := files.by_cpu(self.file):
            return [make_fact(self.name, by_value(values), source)]
        for _, path in files.match(source):
            return [make_fact(self.name, None, f"{path}: not readable ({files.closed(path)})")]
        return []


@dataclass(frozen=True)
class FromProbe:
    """A fact that the probe knows by a system call or a measurement; None gives no fact."""

    name: str
    value: Callable[[ProbeFacts], FactValue]
    source: str
    requests: tuple[FileRequest, ...] = ()

    def facts(self, files: Files) -> list[Fact]:
        """Return the fact."""
        value = self.value(files.probe)
        return [] if value is None else [make_fact(self.name, value, self.source)]


@dataclass(frozen=True)
class Derived:
    """Facts that a function makes of several files."""

    facts: MakeFacts
    requests: tuple[FileRequest, ...] = ()
