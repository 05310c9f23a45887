"""What is not read is refused with the true reason; the command that is named makes it readable.

The texts are what tools print; those that somebody published stand in ../corpus.
"""

from __future__ import annotations

import bz2
import gzip
import lzma
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from whylate.recording.imported.model import InputError
from whylate.recording.imported.numbers import read_table
from whylate.recording.imported.read import read_runs
from whylate.recording.imported.write import read_importable

CYCLICTEST = (Path(__file__).parent / "cyclictest_summary.txt").read_bytes()
JUNIT = b"""<?xml version="1.0" encoding="utf-8"?>
<testsuites><testsuite name="pytest" errors="0" failures="0" tests="2" time="0.373">
<testcase classname="a" name="b" time="0.123" /><testcase classname="a" name="c" time="0.25" />
</testsuite></testsuites>
"""
PING = b"""PING 10.0.0.1 (10.0.0.1) 56(84) bytes of data.
64 bytes from 10.0.0.1: icmp_seq=1 ttl=64 time=0.345 ms
64 bytes from 10.0.0.1: icmp_seq=2 ttl=64 time=0.312 ms
"""
HACKBENCH = b"""Running in process mode with 10 groups using 40 file descriptors each (== 400 tasks)
Time: 0.210
"""
HYPERFINE_CSV = b"""command,mean,stddev,median,user,system,min,max
ls,0.010,0.001,0.010,0.001,0.002,0.009,0.012
"""
HYPERFINE_TABLE = b"""| Command | Mean [s] | Min [s] | Max [s] | Relative |
|:---|---:|---:|---:|---:|
| `ls` | 1.205 | 1.201 | 1.211 | 1.00 |
"""
PERF_REPORT = b"""# Samples: 10K of event 'cycles'
# Overhead  Command  Symbol
    12.50%  cc1      [k] clear_page
     3.50%  cc1      [.] ht_lookup
"""
KERNEL_LOG = b"""[    0.000000] Linux version 6.1.0
[    0.100000] Memory: 1024K available
"""


@pytest.mark.parametrize(
    ("data", "says"),
    [
        (b"", "is empty$"),
        (b"\x17\x08Dtracing6\0\0\0", "a binary trace.dat: `trace-cmd report -t "),
        (b"PERFILE2h\0\0\0", "a binary perf.data: `perf sched timehist -i "),
        (b"PAR1" + bytes(40), "a Parquet file"),
        (b"SQLite format 3\0" + bytes(100), "a database of SQLite"),
        (b"%PDF-1.7\n%\xe2\xe3\n", "a PDF: `pdftotext"),
        (b"\x7fELF\2\1\1" + bytes(100), "a program: `whylate bench cmd"),
        (b"PK\x03\x04" + bytes(30), "save its table as CSV first"),
        (bytes(range(256)) * 4, "is no text$"),
        (bytes(100), "is no text$"),
        (b"<!DOCTYPE html>\n<html><body>T: 0</body></html>\n", "a web page"),
        (HYPERFINE_CSV, "`hyperfine --export-json FILE` keeps the time of each run"),
        (HYPERFINE_TABLE, "`hyperfine --export-json FILE` keeps the time of each run"),
        (b"real\t0m1.234s\nuser\t0m1.000s\nsys\t0m0.100s\n", "with `TIMEFORMAT=%R` it prints"),
        (KERNEL_LOG, "a log of the kernel, .*`whylate board facts --log "),
        (PERF_REPORT, "has no numbers; nor is it a file of cyclictest"),
        (b"A mail.\n\nIt has words, and 3 numbers.\nYours\n", "is no table of numbers: line 3 has"),
        (b'{"jobs": [{"jobname": "a", "re', "JSON that was cut or damaged"),
        (b'{"tool": "k6", "p95": 12.5}\n{"tool": "k6", "p95": 13.5}\n', "JSON of an unknown tool"),
        (b"name,cpu,result\na,0,1.5\nb,1,2.5\n", "choose one with --column"),
        (b"name;cpu;result\na;0;1,5\nb;1;2,5\n", "choose one with --column"),
    ],
)
def test_a_file_of_another_kind_is_refused_with_the_reason(
    data: bytes, says: str, tmp_path: Path
) -> None:
    file = tmp_path / "f"
    file.write_bytes(data)
    with pytest.raises(InputError, match=says) as refused:
        read_importable(file)
    assert "\n" not in str(refused.value)


def command_in(message: str, output: Path) -> str:
    match = re.search(r"`([^`]+)`", message)
    assert match is not None
    return match[1].replace("FILE", shlex.quote(str(output)))


@pytest.mark.parametrize(
    ("data", "values"),
    [
        (JUNIT, (0.123, 0.25)),
        (PING, (0.345, 0.312)),
        (b'{"latency": [1.5, 2.5], "unit": "ms"}\n', (1.5, 2.5)),
        (b"[1.5, 2.5]\n", (1.5, 2.5)),
    ],
)
def test_the_command_that_is_named_makes_numbers_of_it(
    data: bytes, values: tuple[float, ...], tmp_path: Path
) -> None:
    file, made = tmp_path / "f", tmp_path / "made"
    file.write_bytes(data)
    with pytest.raises(InputError) as refused:
        read_importable(file)
    command = command_in(str(refused.value), made)
    if shutil.which(command.split()[0]) is None:
        pytest.skip(f"{command.split()[0]} is not installed")
    if str(made) not in command:
        command += f" > {shlex.quote(str(made))}"
    subprocess.run(command, shell=True, check=True, timeout=60)  # noqa: S602 (our own words)
    assert read_table(made).values == values


@pytest.mark.parametrize(
    "encoded",
    [
        gzip.compress(CYCLICTEST),
        bz2.compress(CYCLICTEST),
        lzma.compress(CYCLICTEST),
        CYCLICTEST.decode().encode("utf-16"),
        CYCLICTEST.decode().encode("utf-16-le"),
        CYCLICTEST.decode().encode("utf-16-be"),
    ],
    ids=["gzip", "bzip2", "xz", "utf-16", "utf-16-le", "utf-16-be"],
)
@pytest.mark.parametrize("column", [None, "1"])
def test_an_encoded_file_is_refused_with_the_command_that_decodes_it(
    encoded: bytes, column: str | None, tmp_path: Path
) -> None:
    file, made = tmp_path / "f", tmp_path / "made"
    (tmp_path / "plain").write_bytes(CYCLICTEST)
    file.write_bytes(encoded)
    with pytest.raises(InputError) as refused:
        read_importable(file, column)
    command = command_in(str(refused.value), made).replace("python3", sys.executable)
    if shutil.which(command.split()[0]) is None:
        pytest.skip(f"{command.split()[0]} is not installed")
    subprocess.run(command, shell=True, check=True, timeout=60)  # noqa: S602 (our own words)
    (decoded,), (plain,) = read_runs(made), read_runs(tmp_path / "plain")
    assert (decoded.n, decoded.max_ns) == (plain.n, plain.max_ns)


def test_hackbench_is_read_by_the_command_that_is_named(tmp_path: Path) -> None:
    file, made = tmp_path / "f", tmp_path / "made"
    file.write_bytes(HACKBENCH * 2)
    with pytest.raises(InputError) as refused:
        read_importable(file)
    command = f"{command_in(str(refused.value), made)} > {shlex.quote(str(made))}"
    subprocess.run(command, shell=True, check=True, timeout=60)  # noqa: S602 (our own words)
    assert read_table(made).values == (0.21, 0.21)
