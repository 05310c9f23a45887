"""The image that copies memory at half the speed.

`python examples/half_speed_memory.py [--out DIR] [--quick]`

Two images of one board: `perf bench mem memcpy` of old says that one of them copies memory at half
the speed of the other. They differ in one setting, transparent huge pages. Here the same buffers
are copied with that setting at never and at always, run by run in turns: from a source that nothing
was ever written to, as perf's was until 2020, and from one that was written. Needs root, for the
setting and for page frames; the setting is put back.
"""

from __future__ import annotations

from typing import Any

from story import HERE, Interval, ratios, say, telling, typical, whylate

#: Between the sizes of a first- and a last-level cache the two zero pages differ most.
SIZE = "4 MiB"
#: Up to this part of the speed it is called half of it.
TWOFOLD = 0.6


def finding(untouched: Interval, written: Interval, no_copy: float) -> str:
    """Return what the two ratios, of always to never, show.

    no_copy: the speed from an untouched source to that from a written one, without huge pages.
    """
    if untouched.high is None or untouched.high >= 1:
        return (
            f"Copying {SIZE} from an untouched source is × {untouched} with huge pages: on this "
            "machine the two pages of zeros do not differ, and the twofold gap cannot be told "
            f"here. It is no copy here either: typical runs of it are × {no_copy:.3g} of the speed "
            "from a written source."
        )
    remains = "cannot be told from none"
    if (
        written.low is not None
        and written.high is not None
        and not written.low <= 1 <= written.high
    ):
        remains = f"is that it is {'faster' if written.value > 1 else 'slower'} with them"
    gap = "the twofold gap"
    if untouched.value > TWOFOLD:
        gap = "that gap, which is smaller here than the twofold one that was published,"
    return (
        f"From a source that was never written, {SIZE} are copied at × {untouched} of the speed "
        "with huge pages. That is no copy: all pages of the source are one page of zeros, of 4 "
        "KiB without huge pages, which stays in the first cache, and of 2 MiB with them, which "
        "does not. "
        f"Once the source is written, huge pages make × {written} of it: {gap} is gone, and what "
        f"remains {remains}."
    )


def main() -> None:
    """Run the study and say what it found."""
    with telling(__doc__.splitlines()[0]) as (out, quick):
        result: dict[str, Any] = whylate(
            "study", "run", HERE / "half_speed_memory.toml", "-o", out / "study",
            *(["--runs", "6"] if quick else []),
        )  # fmt: skip
        by_name = ratios(result)
        for name, ratio in by_name.items():
            print(f"  {name:32} always / never  × {ratio}")
        names = f"copy {SIZE}, untouched source", f"copy {SIZE}, random source"
        speeds = typical(result)
        no_copy = speeds[names[0]] / speeds[names[1]]
        say(finding(by_name[names[0]], by_name[names[1]], no_copy))


if __name__ == "__main__":
    main()
