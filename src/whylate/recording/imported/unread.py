"""Files that are known and not read: the reason, and the command that makes them readable."""

from __future__ import annotations

from pathlib import Path

from whylate.recording.imported.model import InputError
from whylate.recording.imported.signs import find_signs

#: How files begin that are no text; {}: the file's name.
_BINARIES = (
    (b"\x17\x08Dtracing", ("a binary trace.dat: `trace-cmd report -t {0} > t.txt`, then `whylate "
                          "explain --import t.txt`")),
    (b"PERFILE2", ("a binary perf.data: `perf sched timehist -i {0}` for delays, or `perf script "
                  "--ns -i {0} > t.txt`, then `whylate explain --import t.txt`")),
    (b"\x1f\x8b", "compressed: `zcat {0} > FILE` first"),
    (b"\xfd7zXZ", "compressed: `xzcat {0} > FILE` first"),
    (b"\x28\xb5\x2f\xfd", "compressed: `zstdcat {0} > FILE` first"),
    (b"PK\x03\x04", "an archive or a spreadsheet: save its table as CSV first"),
)  # fmt: skip
#: By a name: the pattern of a line, and the reason.
_TEXTS = {
    "trace": (
        r"# tracer: |^cpus=\d+$|\[\d{3,5}\] .{0,40}\d+\.\d{6,9}: +(?:[\w-]+:)?\w+:",
        "a trace, of which an import keeps no latency: `whylate explain --import {0}`",
    ),
    "powers": (
        r"^ *\[\d+[KMGT]?, \d+[KMGT]?\) +\d+ \||^ *(?:n|u|m)?secs +: count ",
        (
            "a histogram of bpftrace or bcc, whose buckets double and show no quantile: "
            "`perf sched timehist` has each delay"
        ),
    ),
    "hackbench": (
        r"^Running in (?:process|threaded) mode with \d+ groups",
        "of hackbench, whose numbers stand in text: `grep -h Time: {0} | cut -c7-` has them",
    ),
    "oslat": (
        r"^ *Counter Freq: |^ *\d+ \(us\): ",
        "of oslat, which is not read: `rtla osnoise hist` is",
    ),
    "stress_ng": (
        r"stress-ng: info: +\[\d+\] cyclic: ",
        "of stress-ng --cyclic, which is not read: `cyclictest --json` is",
    ),
}


def raise_if_known(path: Path) -> None:
    """Raise InputError with the reason for a file that is known and not read."""
    try:
        with path.open("rb") as file:
            beginning = file.read(16)
    except OSError:
        return
    for magic, reason in _BINARIES:
        if beginning.startswith(magic):
            raise InputError(f"{path} is {reason.format(path)}")
    signs = find_signs(path, {name: sign for name, (sign, _) in _TEXTS.items()})
    for name, (_, reason) in _TEXTS.items():
        if name in signs:
            raise InputError(f"{path} is {reason.format(path)}")
