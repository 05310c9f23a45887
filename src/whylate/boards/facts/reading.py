"""Reading a snapshot safely: decode, strip, bound, and never raise on what a board sends.

One rule for what is not there: a file that does not exist gives no fact; a file that exists and
could not be read or parsed gives a fact whose value is None and whose source has the reason.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Mapping, Sequence

from whylate.boards.facts.snapshot import NO_PROBE_FACTS, FileContent, ProbeFacts, Snapshot
from whylate.recording.manifest import Fact, FactValue
from whylate.text import clean

#: The directory with a subdirectory for each CPU.
CPUS = "/sys/devices/system/cpu"

VALUE_LIMIT = 400
LIST_LIMIT = 64
#: No board has more CPUs: a number above this is not a CPU's.
CPU_LIMIT = 8192
#: Signed 64-bit integers are the widest that every reader of JSON and Parquet accepts.
INTEGER_LIMIT = 2**63

#: Errors of files that the board does not have, as opposed to those that are closed to us.
ABSENT = frozenset({"ENOENT", "ENOTDIR", "ENODEV", "ENXIO"})

_INTEGER = re.compile(r"-?[0-9]{1,19}", re.ASCII)


def decode(data: bytes) -> str:
    """UTF-8 with U+FFFD for what is not UTF-8; never raises."""
    return data.decode("utf-8", "replace")


def integer(text: str) -> int | None:
    """Return a decimal integer that fits 64 bits, or None."""
    if _INTEGER.fullmatch(text) is None:
        return None
    value = int(text)
    return value if -INTEGER_LIMIT <= value < INTEGER_LIMIT else None


def cpu_number(text: str) -> int | None:
    """Return a CPU's number, or None."""
    number = integer(text)
    return number if number is not None and 0 <= number < CPU_LIMIT else None


def cpu_list(text: str) -> list[int] | None:
    """Return the CPUs of a kernel list such as "0-3,8"; [] for an empty one, None if invalid."""
    cpus: set[int] = set()
    for part in text.split(","):
        first_text, dash, last_text = part.strip().partition("-")
        if not first_text and not dash:
            continue
        first = integer(first_text)
        last = integer(last_text) if dash else first
        if first is None or last is None or not 0 <= first <= last < CPU_LIMIT:
            return None
        cpus.update(range(first, last + 1))
    return sorted(cpus)


def cpu_ranges(cpus: Iterable[int]) -> str:
    """Return CPUs in the kernel's list format: [0, 1, 2, 8] is "0-2,8"."""
    parts: list[tuple[int, int]] = []
    for cpu in sorted(set(cpus)):
        if parts and parts[-1][1] == cpu - 1:
            parts[-1] = (parts[-1][0], cpu)
        else:
            parts.append((cpu, cpu))
    return ",".join(str(a) if a == b else f"{a}-{b}" for a, b in parts)


def chosen(text: str) -> str:
    """Return the bracketed word of "always [madvise] never", or the whole text without brackets."""
    match = re.search(r"[\[(]([^\])]{1,80})[\])]", text)
    return match.group(1) if match else text


def bounded(items: Sequence[str], limit: int = LIST_LIMIT) -> list[str]:
    """At most `limit` cleaned items, the last of them "… n more" where some were left out."""
    if len(items) <= limit:
        return [clean(item) for item in items]
    return [*(clean(item) for item in items[: limit - 1]), f"… {len(items) - limit + 1} more"]


def by_value(values: Mapping[int, str]) -> str | list[str]:
    """Values per CPU: one string where all agree, else "cpu 0-3: value" for each group."""
    groups: dict[str, list[int]] = {}
    for cpu, value in sorted(values.items()):
        groups.setdefault(value, []).append(cpu)
    if len(groups) == 1:
        return clean(next(iter(groups)))
    return bounded([f"cpu {cpu_ranges(cpus)}: {value}" for value, cpus in groups.items()])


def make_fact(name: str, value: FactValue, source: str, limit: int = LIST_LIMIT) -> Fact:
    """Return a Fact whose strings are clean and bounded and whose integers fit 64 bits."""
    if isinstance(value, str):
        value = clean(value)
    elif isinstance(value, list):
        value = bounded(value, limit)
    elif isinstance(value, int) and not -INTEGER_LIMIT <= value < INTEGER_LIMIT:
        value = None
    return Fact(name=name, value=value, source=clean(source))


class Files:
    """A snapshot's files, found by path or by pattern. Every text it returns is clean.

    `probe`: what the probe knows besides the files.
    """

    def __init__(self, snapshot: Snapshot, probe: ProbeFacts = NO_PROBE_FACTS) -> None:
        self.snapshot = snapshot
        self.probe = probe
        self._files = snapshot.files
        self._paths = sorted(snapshot.files)

    def content(self, path: str) -> FileContent | None:
        """Return the answer for a path; None when it was not asked for, or is not there."""
        content = self._files.get(path)
        return None if content is None or content.error in ABSENT else content

    def data(self, path: str) -> bytes | None:
        """Return the bytes of a file that could be read, else None."""
        content = self.content(path)
        return None if content is None or content.error is not None else content.data

    def text(self, path: str, limit: int = VALUE_LIMIT) -> str | None:
        """Return the file as one clean line, or None."""
        data = self.data(path)
        # The factor leaves room for multi-byte characters and what clean() drops.
        return None if data is None else clean(decode(data[: limit * 8]), limit)

    def lines(self, path: str) -> list[str]:
        """Return the file's lines, decoded and else untouched (blanks can matter); [] if none."""
        data = self.data(path)
        return [] if data is None else decode(data).split("\n")

    def number(self, path: str) -> int | None:
        """Return the integer that is all of the file, or None."""
        text = self.text(path)
        return None if text is None else integer(text)

    def names(self, path: str) -> list[str] | None:
        """Return the names of a "list" request, sorted, or None."""
        data = self.data(path)
        if data is None:
            return None
        return sorted(clean(decode(name)) for name in data.split(b"\0") if name)

    def closed(self, path: str) -> str | None:
        """Return the errno's name where the path is there but closed to us, else None."""
        content = self.content(path)
        return None if content is None else content.error

    def match(self, pattern: str) -> Iterator[tuple[tuple[str, ...], str]]:
        """Paths that match, in order, each with what every `*` stood for (never a slash)."""
        prefix = pattern.partition("*")[0]
        regex = re.compile("([^/]+)".join(re.escape(part) for part in pattern.split("*")))
        for position in range(bisect_left(self._paths, prefix), len(self._paths)):
            path = self._paths[position]
            if not path.startswith(prefix):
                return
            match = regex.fullmatch(path)
            if match is not None and self.content(path) is not None:
                yield match.groups(), path

    def by_cpu(self, suffix: str) -> dict[int, str]:
        """Texts of the file `suffix` of each CPU, by CPU."""
        values = {}
        for (cpu_text, *_), path in self.match(f"{CPUS}/cpu*/{suffix}"):
            cpu, text = cpu_number(cpu_text), self.text(path)
            if cpu is not None and text is not None:
                values[cpu] = text
        return values
