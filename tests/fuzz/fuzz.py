"""Fuzz everything that reads what others wrote: `fuzz.py [NAME ...] [--for SECONDS] [--seed N]`.

Inputs that found something are kept in build/fuzz, as NAME-SEED-CASE, with what was raised.
`fuzz.py NAME --seed SEED --case CASE` makes that input again, and raises it. Exit status: 1 with
finds.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from pathlib import Path

HERE = Path(__file__).parent
sys.path[:0] = [str(HERE), str(HERE.parent), str(HERE.parent / "recording")]

import fuzz_case  # noqa: E402 - after the path to it
import fuzz_frames  # noqa: E402
import fuzz_imports  # noqa: E402
import fuzz_plans  # noqa: E402
import fuzz_probe  # noqa: E402
import fuzz_recordings  # noqa: E402
import fuzz_sides  # noqa: E402
import fuzz_switches  # noqa: E402
import fuzz_traces  # noqa: E402

FUZZERS: dict[str, Callable[[int, float], fuzz_case.Result]] = {
    "frames": fuzz_frames.run,
    "recordings": fuzz_recordings.run,
    "imports": fuzz_imports.run,
    "switches": fuzz_switches.run,
    "traces": fuzz_traces.run,
    "plans": fuzz_plans.run,
    "sides": fuzz_sides.run,
    "wire": fuzz_probe.run_wire,
    "sessions": fuzz_probe.run_sessions,
}
#: Fuzzers of which a single case can be run again.
BY_CASE: dict[str, Callable[[int, float, int], fuzz_case.Result]] = {
    "imports": fuzz_imports.run,
    "switches": fuzz_switches.run,
    "traces": fuzz_traces.run,
    "plans": fuzz_plans.run,
    "sides": fuzz_sides.run,
}
WHAT = {"frames": "frames", "wire": "frames", "sessions": "commands"}


def main() -> int:
    """Run the fuzzers one after the other; return the exit status."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", help=", ".join(FUZZERS))
    parser.add_argument("--for", dest="seconds", type=float, default=60.0, help="of each, s")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--case", type=int, help=f"run this one again: {', '.join(BY_CASE)}")
    options = parser.parse_args()
    if unknown := set(options.names) - set(FUZZERS):
        parser.error(f"there is no {unknown.pop()}: there are {', '.join(FUZZERS)}")
    if options.case is not None:
        if len(options.names) != 1 or options.names[0] not in BY_CASE:
            parser.error(f"--case is for one of {', '.join(BY_CASE)}")
        BY_CASE[options.names[0]](options.seed, 0, options.case)
        return 0
    status = 0
    for name in options.names or FUZZERS:
        result = FUZZERS[name](options.seed, options.seconds)
        what = WHAT.get(name, "files")
        print(
            f"{name:10} {result.units:12,} {what:8} {result.seconds:8.0f} s "
            f"({result.cpu_seconds:.0f} s of a CPU) "
            f"{len(result.finds):3} finds",
            flush=True,
        )
        for place, find in result.finds.items():
            print(f"           {place}: {find.kept}")
            status = 1
    return status


if __name__ == "__main__":
    sys.exit(main())
