"""Building the drivers of the tracefs engine."""

from __future__ import annotations

import subprocess
from pathlib import Path

PROBE = Path(__file__).parents[2] / "probe"
WARNINGS = ["all", "extra", "error", "shadow", "conversion", "strict-prototypes"]
WARNINGS += ["missing-prototypes", "format=2", "vla"]
FLAGS = ["-std=c11", "-pthread", "-D_GNU_SOURCE", "-D_TIME_BITS=64", "-D_FILE_OFFSET_BITS=64"]
FLAGS += [f"-W{name}" for name in WARNINGS]
FLAGS += [f"-I{PROBE / 'src'}", f"-I{PROBE / 'tests'}"]
FOLDERS = ("recorder/tracefs", "tracefs", "guardian", "loads")
SOURCES = [path for name in FOLDERS for path in sorted((PROBE / "src" / name).glob("*.c"))]
SINGLE = ("code_area", "failure", "small_file", "thread")
SOURCES += [PROBE / "src" / f"{name}.c" for name in SINGLE]


def build_driver(name: str, directory: Path, *, sanitized: bool = False) -> Path:
    """Compile one of probe/tests with the engine, and the guardian that it may want."""
    how = ["-static", "-O2"]
    if sanitized:
        how = ["-g", "-O1", "-fsanitize=address,undefined", "-fno-sanitize-recover=all"]
    sources = [PROBE / "tests" / f"{name}.c", *SOURCES]
    target = directory / name
    subprocess.run(["gcc", *how, *FLAGS, *sources, "-o", target], check=True, timeout=120)
    return target
