"""The figures of other tools' files, by a few expressions that share nothing with the importers.

Each function takes the text of a file, without quote marks, and returns the runs or the numbers.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True)
class Figures:
    """What is known of a run: its activations, its largest latency and its mean, ns."""

    n: int | None
    largest_ns: float | None
    mean_ns: float | None = None


def cyclictest_lines(text: str) -> list[Figures]:
    joined = re.sub(r"Max:\s+", "Max:", text)
    pattern = r"T: *(\d+) .*?C: *(\d+) .*?Avg: *(\d+) .*?Max: *(\d+)"
    threads = [tuple(map(int, match)) for match in re.findall(pattern, joined)]
    runs: list[list[tuple[int, ...]]] = []
    for thread in threads:
        if thread[0] == 0:
            runs.append([])
        runs[-1].append(thread)
    return [
        Figures(sum(t[1] for t in run), 1000 * max(t[3] for t in run),
                1000 * sum(t[1] * t[2] for t in run) / sum(t[1] for t in run))
        for run in runs
    ]  # fmt: skip


def _rtla(text: str, kinds: tuple[str, ...]) -> tuple[list[int], list[list[str]], list[list[str]]]:
    """Return the columns of the last kind that counted anything, the rows, and the notes."""
    table = text[: text.find("ALL:")] if "ALL:" in text else text
    heading = re.search(r"Index +(.*)", table)
    assert heading is not None
    names = heading[1].split()
    rows = [
        line.split() for line in table.splitlines() if re.match(r"\s*\d+ +\d+( +\d+)* *$", line)
    ]
    over = next(line.split() for line in table.splitlines() if line.strip().startswith("over:"))
    for kind in kinds:
        at = [i for i, name in enumerate(names) if name.startswith(kind)]
        if at and sum(int(row[1 + i]) for row in [*rows, over] for i in at):
            notes = [line.split() for line in table.splitlines() if ":" in line]
            return at, [*rows, over], notes
    raise AssertionError("nothing was counted")


def rtla_hist(text: str) -> list[Figures]:
    at, rows, notes = _rtla(text, ("Usr", "Thr", "IRQ"))
    n = sum(int(row[1 + i]) for row in rows for i in at)
    largest = [int(row[1 + i]) for row in notes if row[0] == "max:" for i in at]
    if any(int(row[1 + i]) for row in rows if row[0] == "over:" for i in at):
        return [Figures(n, 1000 * max(largest))]
    total = sum(int(row[0]) * int(row[1 + i]) for row in rows if row[0] != "over:" for i in at)
    return [Figures(n, 1000 * max(largest) if largest else None, 1000 * total / n)]


def osnoise_hist(text: str) -> list[Figures]:
    at, rows, notes = _rtla(text, ("CPU",))
    n = sum(int(row[1 + i]) for row in rows for i in at)
    largest = max(int(row[1 + i]) for row in notes if row[0] == "max:" for i in at)
    # The beginning of a bucket of 10 µs, whose last value is 9 more.
    return [Figures(n, 1000 * (largest + 9))]


def timerlat_top(text: str) -> list[Figures]:
    runs = []
    for part in text.split("IRQ Timer Latency")[1:]:
        rows = [line.replace("|", " ").split() for line in part.splitlines() if " #" in line]
        rows = [row for row in rows if row[0].isdecimal() and row[1][1:].isdecimal()]
        n = sum(int(row[1][1:]) for row in rows)
        mean = sum(int(row[1][1:]) * int(row[-2]) for row in rows) / n
        runs.append(Figures(n, 1000 * max(int(row[-1]) for row in rows), 1000 * mean))
    return runs


def osnoise_top(text: str) -> list[Figures]:
    singles = [
        int(line.split()[6]) for line in text.splitlines() if re.match(r"\s*\d+ #\d+ ", line)
    ]
    return [Figures(None, 1000 * max(singles))]


def hwlat(text: str) -> list[Figures]:
    gaps = [max(map(int, pair)) for pair in re.findall(r"\(us\): *(\d+)/(\d+)", text)]
    return [Figures(len(gaps), 1000 * max(gaps), 1000 * sum(gaps) / len(gaps))]


def hwlatdetect(text: str) -> list[Figures]:
    gaps = [max(map(int, pair)) for pair in re.findall(r"inner:(\d+), outer:(\d+)", text)]
    assert len(gaps) == int(re.findall(r"recorded: (\d+)", text)[0])
    return [Figures(len(gaps), 1000 * max(gaps), 1000 * sum(gaps) / len(gaps))]


def xenomai(text: str) -> list[Figures]:
    cell = r"\s*([-\d.]+)\|"
    ends = re.findall(rf"RT[DS]\|{cell * 3}\s*\d+\|\s*\d+\|\s*\d+:\d\d:\d\d/", text)
    runs = [Figures(None, 1000 * float(most), 1000 * float(mean)) for _, mean, most in ends]
    seconds = re.findall(rf"RTD\|{cell * 3}\s*\d+\|\s*\d+\|\s*[\d.]+\|\s*[\d.]+", text)
    if seconds:
        mean = sum(float(mean) for _, mean, _ in seconds) / len(seconds)
        worst = max(float(most) for _, _, most in seconds)
        runs.insert(0, Figures(None, 1000 * worst, 1000 * mean))
    return runs


def schbench(text: str) -> list[Figures]:
    parts = re.split(r"atenc(?:y|ies) percentiles", text)[1:]
    return [
        Figures(int(match[1]) if (match := re.search(r"\((\d+) total", part)) else None,
                1000 * int(extremes[0]) if (extremes := re.findall(r"max=(\d+)", part)) else None)
        for part in parts
    ]  # fmt: skip


def sched_latency(text: str) -> list[Figures]:
    rows = re.findall(r"\| +(\d+) \| avg: +([\d.]+) ms \| max: +([\d.]+) ms", text)
    return [Figures(int(n), 1e6 * float(most), 1e6 * float(mean)) for n, mean, most in rows]


def timehist(text: str) -> list[Figures]:
    delays: dict[str, list[float]] = {}
    for line in text.splitlines():
        match = re.search(r"\[\d{4}\] +(\S+\[\d+)(?:/\d+)?\] +[\d.]+ +([\d.]+) ", line)
        if match is not None and float(match[2]) > 0:
            delays.setdefault(match[1], []).append(float(match[2]))
    return [Figures(len(ms), 1e6 * max(ms), 1e6 * sum(ms) / len(ms)) for ms in delays.values()]


def fio(text: str) -> list[Figures]:
    runs = []
    for job in json.loads(text)["jobs"]:
        for direction in ("read", "write"):
            clat = job[direction]["clat_ns"]
            if clat["max"]:
                runs.append(Figures(job[direction]["total_ios"], clat["max"], clat["mean"]))
    return runs


RUNS: dict[str, Callable[[str], list[Figures]]] = {
    function.__name__: function
    for function in (cyclictest_lines, rtla_hist, osnoise_hist, timerlat_top, osnoise_top, hwlat,
                     hwlatdetect, xenomai, schbench, sched_latency, timehist, fio)
}  # fmt: skip


def _by_name(pairs: list[tuple[str, str]]) -> dict[str, list[float]]:
    values: dict[str, list[float]] = {}
    for name, value in pairs:
        values.setdefault(name, []).append(float(value.replace(",", "")))
    return values


def perf_stat(text: str) -> dict[str, list[float]]:
    pairs = re.findall(r"^ +([\d,.]+) (?:msec)? *([A-Za-z][\w/-]*)", text, re.MULTILINE)
    timed = re.findall(r"^ +([\d.]+) seconds (time elapsed|user|sys)", text, re.MULTILINE)
    named = [(name, value) for value, name in pairs if name != "seconds"]
    return _by_name([*named, *((name, value) for value, name in timed)])


def perf_stat_json(text: str) -> dict[str, list[float]]:
    pairs = re.findall(r'"counter-value" : "([\d.]+)".*?"event" : "([^"]+)"', text)
    return _by_name([(name, value) for value, name in pairs])


def perf_stat_csv(text: str) -> dict[str, list[float]]:
    rows = [line.split(",") for line in text.splitlines()]
    return _by_name([(row[2], row[0]) for row in rows if row[0]])


def go(text: str) -> dict[str, list[float]]:
    return _by_name(re.findall(r"(Benchmark\S+)\s+\d+\s+([\d.]+) ns/op", text))


def gbench(text: str) -> dict[str, list[float]]:
    rows = json.loads(text)["benchmarks"]
    return _by_name([(row["name"], str(row["real_time"])) for row in rows])


def function_graph(text: str) -> dict[str, list[float]]:
    """Return the calls of leaves, and those whose end names them; the others need a stack."""
    pairs = re.findall(r"([\d.]+) us +\| +(\w+)\(\);", text)
    pairs += re.findall(r"([\d.]+) us +\| +\} /\* (\w+) ", text)
    return _by_name([(name, value) for value, name in pairs])


NUMBERS: dict[str, Callable[[str], dict[str, list[float]]]] = {
    function.__name__: function
    for function in (perf_stat, perf_stat_json, perf_stat_csv, go, gbench, function_graph)
}


def executions(text: str) -> dict[str, list[float]]:
    """Return the counters of each execution; where there are two places, their differences."""
    heading, *rows = [line.split(",") for line in text.split()]
    columns = dict(zip(heading, zip(*rows, strict=True), strict=True))
    names = ("cycles", "icache_stall_cycles", "instructions", "duration_us", "at_us")
    values = {name: list(map(float, columns[name])) for name in names if name in columns}
    if "where" not in columns:
        return values
    return {name: [b - a for a, b in zip(v[::2], v[1::2], strict=True)]
            for name, v in values.items()}  # fmt: skip


def auto_analysis(text: str) -> list[dict[str, float]]:
    """Return the parts of each of rtla's auto-analyses, µs by whylate's cause."""
    text = text.replace("\xa0", " ")
    found = []
    for part in re.split(r"hit stop tracing(?:, analyzing it ##)?\n(?!.*hit stop)", text)[1:]:
        us = {name: float(value) for name, value in re.findall(r"(\w[\w ]+?):? +(?:\(exit from idle"
              r"\) +)?([\d.]+) us", re.sub(r"[ \t]+", " ", part))}  # fmt: skip
        whole = re.search(r"-{20,}\s+(\w+) latency:\s+([\d.]+) us", part)
        assert whole is not None
        if whole[1] == "IRQ":
            found.append({"all": float(whole[2])})
            continue
        named = {
            "all": float(whole[2]),
            "delay": us["IRQ handler delay"],
            "interrupt": us["Timerlat IRQ duration"] + us.get("IRQ interference", 0),
            "blocking": us["Blocking thread"],
        }
        rest = 2 * named["all"] - sum(named.values())
        found.append({**named, "not observed": rest})
    return found
