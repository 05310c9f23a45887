"""The packages that build faster.

`python examples/package_builds.py [--out DIR] [--quick] [--json]`

A set of packages is said to build 5 % faster on another kernel. Such a claim needs a list of times:
each package on both sides, in turns, several times. Here packages of C sources are written and
built by make and cc with transparent huge pages at never and at always, in one kernel: what the
compiler's heap is made of. Each round has every package with both settings, in random order, and
the setting is read back after each build. `whylate compare --by kernel --pair package --run round`
judges the table: a row for each package, and one verdict over all of them. Unless the compiler got
huge pages with one setting and fewer with the other, there is no figure. Needs make, a C compiler,
and root for the setting, which is put back.
"""

from __future__ import annotations

import csv
import os
import random
import re
import subprocess
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median
from typing import Any

from story import Claim, Interval, judge, refused, run_whylate, telling, whylate
from whylate.boards.facts.reading import chosen

#: The other kernel's time to this one's, as published.
PUBLISHED = 0.95
CLAIM = "Packages take about 5 % less time to build on another kernel (× 0.95)."
SETTINGS = ("never", "always")
#: Packages by what their sources are made of: functions, switch cases, numbers in a table.
PACKAGES = {
    "functions": (300, 0, 0),
    "switches": (0, 1500, 0),
    "tables": (0, 0, 60_000),
    "few-functions": (150, 0, 0),
    "mixed": (100, 600, 20_000),
    "small": (20, 100, 2_000),
}
QUICK = ("few-functions", "small")
#: A build counts as treated with so many huge pages more than with the other setting.
LEAST_PAGES = 1
VMSTAT = Path("/proc/vmstat")
ENABLED = Path("/sys/kernel/mm/transparent_hugepage/enabled")
SEED = 1
#: How often the comparison calls any of equal sides' figures different.
LEVEL = 0.05


def source(functions: int, cases: int, numbers: int) -> str:
    """Return C that gives the compiler work of three kinds."""
    lines = [
        f"int f{n}(int *v, int n) {{ int s = {n}; for (int i = 0; i < n; i++) "
        f"if (v[i] % {n + 2}) s += v[i] * {n + 3}; else s ^= v[i] >> {n % 7}; return s; }}"
        for n in range(functions)
    ]
    if cases:
        rows = "".join(f"case {n * 7}: return v * {n} + {n % 5};" for n in range(cases))
        lines.append(f"int choose(int v) {{ switch (v) {{ {rows} default: return v; }} }}")
    if numbers:
        lines.append(f"int table[] = {{{','.join(str(n * 31 % 1009) for n in range(numbers))}}};")
    return "\n".join(lines) + "\n"


def write_packages(directory: Path, names: Iterable[str]) -> None:
    """Write each package: a source and a Makefile that always builds it anew."""
    for name in names:
        folder = directory / name
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "part.c").write_text(source(*PACKAGES[name]))
        (folder / "Makefile").write_text(".PHONY: all\nall:\n\tcc -O2 -c -o part.o part.c\n")


def huge_pages(text: str) -> int:
    """Return how many huge pages faults got since boot, by the text of /proc/vmstat."""
    match = re.search(r"^thp_fault_alloc (\d+)$", text, re.MULTILINE)
    return int(match[1]) if match else 0


@dataclass
class Builds:
    """What was built. pages: huge pages of each round, by setting and package.

    changed: builds during which somebody else changed the setting.
    """

    taken: list[tuple[str, str, int, int]] = field(default_factory=list)
    pages: dict[tuple[str, str], list[int]] = field(default_factory=dict)
    changed: list[str] = field(default_factory=list)

    def add(self, setting: str, name: str, number: int, took_ns: int, pages: int) -> None:
        """Add a build of a round."""
        self.taken.append((setting, name, number, took_ns))
        self.pages.setdefault((setting, name), []).append(pages)

    def not_treated(self) -> str:
        """Return for which build the settings made no difference; "" if for none."""
        if self.changed:
            return f"somebody else changed the setting while it built {self.changed[0]}"
        never, always = SETTINGS
        for name in {name for _, name in self.pages}:
            with_never, with_always = (median(self.pages[each, name]) for each in (never, always))
            if with_always - with_never < LEAST_PAGES:
                return (
                    f"building {name}, the system gave {with_always:.0f} huge pages with {always}, "
                    f"and {with_never:.0f} with {never}"
                )
        return ""

    def rows(self) -> list[dict[str, object]]:
        """Return a row for each build, the first setting's first."""
        ordered = sorted(self.taken, key=lambda taken: taken[0] != SETTINGS[0])
        return [
            {"package": name, "kernel": f"thp-{setting}", "round": number, "build_ns": took_ns}
            for setting, name, number, took_ns in ordered
        ]


def write_table(path: Path, table: Sequence[Mapping[str, object]]) -> None:
    """Write the rows as CSV."""
    with path.open("w", newline="") as file:
        writer = csv.DictWriter(file, list(table[0]))
        writer.writeheader()
        writer.writerows(table)


def claim(found: Mapping[str, Any]) -> Claim:
    """Return what the comparison shows of all packages."""
    by_name = {row["name"]: row for row in found["statistics"]}
    p = by_name["geometric mean"]["p"]
    ratios = {
        name: Interval(row["ratio"], row["low"], row["high"]) for name, row in by_name.items()
    }
    every = ratios.pop("geometric mean")
    listed = "; ".join(f"{name} × {ratio}" for name, ratio in ratios.items())
    reproduced, why = judge(every, PUBLISHED, size=False)
    if reproduced != "cannot be told here" and p > LEVEL:
        reproduced, why = (
            "cannot be told here",
            f"tested together with the packages, their mean has p {p:.2g}",
        )
    return Claim(
        CLAIM,
        f"with huge pages for the compiler the builds take × {every} over {len(ratios)} packages "
        f"({listed}); whylate compare: {found['verdict']}",
        reproduced,
        f"{why}. It is a setting of one kernel and not another kernel: the list of times, and what "
        "can be said of it, are the same",
    )


def in_force() -> str:
    """Return the setting that is in force."""
    return chosen(ENABLED.read_text())


def build(package: Path) -> tuple[int, int]:
    """Build a package; return how long that took, in ns, and the huge pages that it got."""
    pages, began_ns = huge_pages(VMSTAT.read_text()), time.monotonic_ns()
    subprocess.run(["make", "-s", "-C", package], check=True)
    took_ns = time.monotonic_ns() - began_ns
    return took_ns, huge_pages(VMSTAT.read_text()) - pages


def build_all(packages: Path, names: Sequence[str], rounds: int) -> Builds:
    """Build each package with both settings, round by round; the setting is put back."""
    found = Builds()
    order = random.Random(SEED)  # noqa: S311
    before = in_force()
    builds = [(setting, name) for setting in SETTINGS for name in names]
    try:
        # The first round warms caches up, and is not in the table.
        for number in range(rounds + 1):
            for setting, name in order.sample(builds, len(builds)):
                ENABLED.write_text(setting)
                took_ns, pages = build(packages / name)
                if (after := in_force()) != setting:
                    found.changed.append(f"{name} in round {number}: {setting} became {after}")
                elif number:
                    found.add(setting, name, number, took_ns, pages)
    finally:
        ENABLED.write_text(before)
    return found


def main() -> None:
    """Build the packages with both settings in turns, and judge the table."""
    with telling(__doc__) as story:
        if os.geteuid() != 0:
            story.end(refused(CLAIM, "the setting of huge pages needs root"))
            return
        names = QUICK if story.quick else tuple(PACKAGES)
        write_packages(story.out / "packages", names)
        builds = build_all(story.out / "packages", names, 6 if story.quick else 12)
        if why := builds.not_treated():
            story.end(refused(CLAIM, why))
            return
        table = story.out / "builds.csv"
        write_table(table, builds.rows())
        words = (
            "compare", table, "--column", "build_ns", "--unit", "ns", "--by", "kernel",
            "--pair", "package", "--run", "round",
        )  # fmt: skip
        print(run_whylate(*words))
        story.end(claim(whylate(*words)))


if __name__ == "__main__":
    main()
