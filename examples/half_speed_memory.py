"""The image that copies memory at half the speed.

`python examples/half_speed_memory.py [--out DIR] [--quick] [--json]`

Two images of one board: `perf bench mem memcpy` of old says that one of them copies memory at half
the speed of the other. They differ in one setting, transparent huge pages. perf's source was never
written until 2020: all of it was one page of zeros, and what differs is how fast that is read. Here
the same buffers are read, copied and written with that setting at never and at always, run by run
in turns: from a source that nothing was ever written to, and from one that was written. Needs root,
for the setting and for page frames, which prove what was read; the setting is put back.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from story import (
    HERE,
    Claim,
    Interval,
    judge,
    points,
    ratios,
    refused,
    study_runs,
    telling,
    whylate,
)

#: Between the sizes of a first- and a last-level cache the two zero pages differ most.
SIZE = "4 MiB"
#: Copies of 4 MB and of 1 GB with huge pages to those without, as published.
COPY, LARGE_COPY = 3.734827 / 6.506520, 2.771941 / 5.875165
UNTOUCHED, WRITTEN = f"read {SIZE}, untouched source", f"read {SIZE}, random source"
READING = (
    "The source of the copy is one page of zeros. The 4 KiB one stays in the first-level cache "
    "and the 2 MiB one, with huge pages, does not, so the source is read more slowly: over 22 "
    "times the cache misses."
)
COPYING = (
    "With huge pages a copy of 4 MB takes place at 3.73 GB/s and without at 6.51 (× "
    f"{COPY:.3g}); of 1 GB at 2.77 and 5.88 (× {LARGE_COPY:.3g})."
)
#: What each setting is to put behind the two sources.
BACKINGS = {
    "never": {UNTOUCHED: "zero page", WRITTEN: "small pages"},
    "always": {UNTOUCHED: "huge zero page", WRITTEN: "transparent huge pages"},
}


def not_applied(runs: Iterable[Mapping[str, Any]]) -> str:
    """Return where a setting did not put the pages behind a source that it is to; "" if nowhere."""
    for run in runs:
        by_name = points(run["report"])
        for name, backing in BACKINGS[run["variant"]].items():
            seen = by_name[name]["backing"]
            if seen != backing:
                return f"in a run with {run['variant']}, {name} was from {seen}, not {backing}"
    return ""


def reading(by_name: Mapping[str, Interval]) -> Claim:
    """Return whether an untouched source is read slower with huge pages, and a written one not."""
    untouched, written = by_name[UNTOUCHED], by_name[WRITTEN]
    reproduced, why = judge(untouched, COPY, size=False)
    if reproduced == "yes":
        if written.low is None or written.low <= (untouched.high or 0):
            reproduced = "cannot be told here"
            why = "the interval of a written source reaches that of the untouched one"
        else:
            why += ", and that of a written source lies above it"
    return Claim(
        READING,
        f"reading {SIZE}, always to never: untouched source × {untouched}, written source × "
        f"{written}",
        reproduced,
        why,
    )


def copying(by_name: Mapping[str, Interval]) -> Claim:
    """Return whether copies from an untouched source have the published ratio."""
    copy, written = (
        by_name[f"copy {SIZE}, untouched source"],
        by_name[f"copy {SIZE}, random source"],
    )
    reproduced, why = judge(copy, COPY)
    return Claim(
        COPYING,
        f"copying {SIZE}, always to never: untouched source × {copy}, written source × {written}; "
        f"writing alone (set) × {by_name[f'set {SIZE}']}",
        reproduced,
        f"{why}; a copy reads and writes, and how fast this machine writes decides how much of "
        "the reading shows",
    )


def main() -> None:
    """Run the study and say what it found."""
    with telling(__doc__) as story:
        study = story.out / "study"
        result: dict[str, Any] = whylate(
            "study", "run", HERE / "half_speed_memory.toml", "-o", study,
            *(["--runs", "6"] if story.quick else []),
        )  # fmt: skip
        why = not_applied(study_runs(study))
        if why:
            story.end(refused(READING, why), refused(COPYING, why))
            return
        by_name = ratios(result)
        for name, ratio in by_name.items():
            print(f"  {name:32} always / never  × {ratio}")
        story.end(reading(by_name), copying(by_name))


if __name__ == "__main__":
    main()
