"""Imported recordings are compared as their files are."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from whylate.cli import whylate
from whylate.compare.baseline import load
from whylate.recording.imported.recording import read_imported
from whylate.recording.imported.write import read_importable, write_imported

IMPORTED = Path(__file__).parents[1] / "recording" / "imported"
#: What is not the same of a file and of what was made of it: what it is called.
NAMES = ("first", "second")


def run(*words: object) -> tuple[int, str]:
    result = CliRunner().invoke(whylate, [str(word) for word in words])
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        return 2, str(result.exception)
    return result.exit_code, result.stdout + result.stderr


def compare(*words: object) -> dict[str, object]:
    code, text = run("compare", *words, "--json")
    assert code in (0, 3), text
    found: dict[str, object] = json.loads(text)
    return found


def nameless(found: dict[str, object]) -> dict[str, object]:
    sides = [{**found[side], "name": ""} for side in NAMES]  # type: ignore[dict-item]
    return {**found, **dict(zip(NAMES, sides, strict=True))}


def imported(to: Path, *files: Path, **options: str) -> Path:
    write_imported(to, [run for file in files for run in read_importable(file, **options)])
    return to


def histogram(path: Path, middle: int, more: int = 0) -> Path:
    """Write what cyclictest -h prints of ten thousand latencies round a middle, in µs.

    more: so many more of the middle, by which no file is a copy of another.
    """
    counts = [max(0, 1000 - 40 * abs(value - middle)) for value in range(100)]
    counts[middle] += more
    rows = [f"{value:06d} {count:06d}\n" for value, count in enumerate(counts)]
    path.write_text(
        f"# Histogram\n{''.join(rows)}# Total: {sum(counts):09d}\n# Avg Latencies: {middle:05d}\n"
        f"# Max Latencies: {200 + middle:05d}\n# Histogram Overflows: 00003\n"
    )
    return path


def sides(tmp_path: Path) -> tuple[list[Path], list[Path]]:
    old = [histogram(tmp_path / f"old-{n}", 30 + n % 3, n) for n in range(8)]
    new = [histogram(tmp_path / f"new-{n}", 45 + n % 3, n) for n in range(8)]
    return old, new


def test_runs_of_cyclictest_have_the_verdict_of_their_files(tmp_path: Path) -> None:
    old, new = sides(tmp_path)
    files = compare(*old, ":", *new)
    assert files["verdict"] == "worse"
    one_by_one = [imported(tmp_path / f"r{n}", file) for n, file in enumerate([*old, *new])]
    again = compare(*one_by_one[:8], ":", *one_by_one[8:])
    assert nameless(again) == nameless(files)
    together = compare(imported(tmp_path / "a", *old), imported(tmp_path / "b", *new))
    assert nameless(together) == nameless(files)
    mixed = compare(*old, ":", imported(tmp_path / "c", *new))
    assert nameless(mixed) == nameless(files)


TOOLS = ("cyclictest_samples.txt", "cyclictest_summary.txt", "jitterdebugger.json",
         "rtla_docs.txt", "xenomai_quoted.txt")  # fmt: skip


@pytest.mark.parametrize("name", TOOLS)
def test_a_file_of_each_tool_has_the_verdict_of_its_recording(name: str, tmp_path: Path) -> None:
    file, other = IMPORTED / name, tmp_path / name
    other.write_text(f"{file.read_text()}\n")
    ours, theirs = imported(tmp_path / "r", file), imported(tmp_path / "s", other)
    assert nameless(compare(ours, theirs)) == nameless(compare(file, other))


@pytest.mark.parametrize("name", TOOLS)
def test_a_copy_shows_nothing_more(name: str, tmp_path: Path) -> None:
    file, copy = IMPORTED / name, tmp_path / "copy"
    copy.write_bytes(file.read_bytes())
    for words in ((file, file), (file, copy), (file, imported(tmp_path / "r", copy))):
        code, text = run("compare", *words)
        assert code == 2
        assert "one and the same run" in text


def test_runs_that_say_when_they_were_made_are_not_taken_for_turns(tmp_path: Path) -> None:
    document = json.loads((IMPORTED / "cyclictest.json").read_text())

    def made(name: str, hours: list[int]) -> list[Path]:
        paths = [tmp_path / f"{name}-{hour}.json" for hour in hours]
        for path, hour in zip(paths, hours, strict=True):
            began = f"Sun, 22 Nov 2026 {hour:02d}:00:00 +0100"
            path.write_text(json.dumps({**document, "start_time": began}))
        return paths

    def said(ours: list[int], theirs: list[int]) -> str:
        found = compare(*made("a", ours), ":", *made("b", theirs))
        return f"{found['verdict']}: {found['why']}; {found['cautions']}"

    apart = said([1, 2, 3, 4, 5, 6], [7, 8, 9, 10, 11, 12])
    assert "no verdict: " in apart
    assert "every run of one side was made before" in apart
    turns = said([1, 3, 5, 7, 9, 11], [2, 4, 6, 8, 10, 12])
    assert "was made before" not in turns
    # When is known then, and from which boot they are is not.
    assert "do not say when and in which boots" in turns
    files = made("a", [1])
    kept = read_imported(imported(tmp_path / "kept", *files))
    assert kept.about.made == "2026-11-22T00:00:00+00:00"


def test_numbers_have_the_verdict_of_their_files(tmp_path: Path) -> None:
    low, high = tmp_path / "low", tmp_path / "high"
    low.write_text("\n".join(map(str, range(10, 22))))
    high.write_text("\n".join(map(str, range(30, 42))))
    ours = imported(tmp_path / "a", low, unit="µs")
    theirs = imported(tmp_path / "b", high, unit="µs")
    for words in ((), ("--independent",), ("--independent", "--higher-is-better")):
        files = compare(low, high, "--unit", "µs", *words)
        assert nameless(compare(ours, theirs, *words)) == nameless(files)
    assert files["verdict"] == "better"
    other = imported(tmp_path / "c", high, unit="ms")
    code, text = run("compare", ours, other)
    assert code == 2
    assert "in µs and in ms cannot be compared" in text


def test_numbers_without_a_unit_are_not_taken_to_be_in_that_of_others(tmp_path: Path) -> None:
    file = tmp_path / "n"
    file.write_text("1\n2\n3\n")
    known = imported(tmp_path / "a", file, unit="µs")
    for words in ((known, file), (file, known), (known, imported(tmp_path / "b", file))):
        code, text = run("compare", *words)
        assert code == 2
        assert "say --unit µs" in " ".join(text.split())
        assert compare(*words, "--unit", "µs")["unit"] == "µs"


def test_one_count_of_processes_is_called_as_in_its_file(tmp_path: Path) -> None:
    file = tmp_path / "n"
    file.write_text('"size=0k ovr=2\n20 10.1\n20 10.2\n24 11\n')
    made = imported(tmp_path / "a", file, column="20")
    assert compare(made, file, "--column", "20")["statistics"][0]["name"] == "20 size=0k"  # type: ignore[index]
    assert run("compare", made, file, "--column", "24")[0] == 2


def test_a_baseline_takes_them_with_what_they_lack(tmp_path: Path) -> None:
    old, new = sides(tmp_path)
    kept, direct = tmp_path / "kept.json", tmp_path / "direct.json"
    code, text = run("baseline", "save", kept, imported(tmp_path / "a", *old))
    assert code == 0
    assert "8 runs of unknown boots" in text
    assert run("baseline", "save", direct, *old)[0] == 0
    found = compare("--baseline", kept, imported(tmp_path / "b", *new))
    assert nameless(found) == nameless(compare("--baseline", direct, *new))
    assert found["verdict"] == "worse"
    assert all("missed during a stall" in run.lacks[-1] for run in load(str(kept)).runs)


def test_runs_of_which_a_mean_and_a_maximum_were_kept_are_compared_by_these(
    tmp_path: Path,
) -> None:
    def mail(name: str, level: float) -> Path:
        lines = [f"> RTS|0.900|{level + n % 3 / 10:.3f}|{4 * level + n:.3f}|0|0|00:10:00/00:10:00"
                 for n in range(8)]  # fmt: skip
        (tmp_path / name).write_text("\n".join(lines))
        return tmp_path / name

    old, new = mail("old", 16.5), mail("new", 9.5)
    files = compare(old, new)
    assert [file["name"] for file in files["statistics"]] == ["average", "largest"]  # type: ignore[attr-defined]
    assert files["verdict"] == "better"
    again = compare(imported(tmp_path / "a", old), imported(tmp_path / "b", new))
    assert nameless(again) == nameless(files)


@pytest.mark.parametrize(
    ("first", "second", "says"),
    [
        ("cyclictest_histogram.txt", "rtla_docs.txt", "tool cyclictest and "),
        ("cyclictest_histogram.txt", "cyclictest_summary.txt", "latencies yes and "),
        ("cyclictest_histogram.txt", "numbers", "latencies and files of numbers"),
    ],
)
def test_what_is_unlike_is_not_compared(first: str, second: str, says: str, tmp_path: Path) -> None:
    (tmp_path / "numbers").write_text("1\n2\n")
    places = [
        imported(tmp_path / f"r{n}", tmp_path / name if name == "numbers" else IMPORTED / name)
        for n, name in enumerate((first, second))
    ]
    code, text = run("compare", *places)
    assert code == 2
    assert says in text


def test_recordings_of_our_own_are_not_compared_with_them(tmp_path: Path) -> None:
    own = tmp_path / "own"
    own.mkdir()
    (own / "manifest.json").write_text("{}")
    code, text = run("compare", own, imported(tmp_path / "r", IMPORTED / "rtla_docs.txt"))
    assert code == 2
    assert "cannot be compared" in text


def test_numbers_are_no_baseline(tmp_path: Path) -> None:
    (tmp_path / "n").write_text("1\n2\n")
    code, text = run("baseline", "save", tmp_path / "b.json", tmp_path / "n")
    assert code == 2
    assert "has latencies" in text
