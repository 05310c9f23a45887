"""Files that are known and not read: the reason, and the command that makes them readable."""

from __future__ import annotations

import json
import re
from pathlib import Path

from whylate.recording.imported.lines import MOST_JSON, json_documents, unquoted
from whylate.recording.imported.model import InputError
from whylate.recording.imported.signs import find_signs

#: By a name: the pattern of a line, and the reason.
_TEXTS = {
    "undecoded": (
        r"=C2=A0|=E2=80=[0-9A-F]{2}|^Content-Transfer-Encoding: +(?:quoted-printable|base64)",
        "a mail as it was sent: `python3 -m quopri -d {0} > FILE` decodes quoted-printable",
    ),
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
    "auto_analysis": (
        r"hit stop tracing, analyzing it ##|^ *IRQ handler delay: ",
        "an auto-analysis of rtla timerlat, causes alone: `whylate explain --import {0}`",
    ),
    "hyperfine": (
        r"^ *Time \((?:mean|abs) (?:± σ|≡)\): ",
        (
            "what hyperfine prints, a mean and a range: `hyperfine --export-json FILE` keeps the "
            "time of each run"
        ),
    ),
    "hyperfine_table": (
        r"^command,mean,stddev,|^\| Command +\| Mean \[",
        (
            "a table of hyperfine, of means: `hyperfine --export-json FILE` keeps the time of each "
            "run"
        ),
    ),
    "time": (
        r"^real\s+\d{1,9}m[\d.,]{1,12}s$",
        "what the shell's time prints: with `TIMEFORMAT=%R` it prints seconds alone",
    ),
    "ping": (
        r"icmp_seq=\d+ ttl=\d+ time=",
        "of ping, whose times stand in text: `grep -o 'time=[0-9.]*' {0} | cut -c6-` has them",
    ),
    "kernel_log": (
        r"^(?:<\d+>)?\[ *\d+\.\d{6}\] \S",
        "a log of the kernel, which has no latencies: `whylate board facts --log {0}` decodes it",
    ),
    "metric_only": (
        r"^ *\{\"[^:]{1,80}\" : \"(?:none|nan|[\d.]+)\"(?:, |\}$)",
        "of perf stat --metric-only, which has no values of events: leave that option out",
    ),
    "xml": (
        r"^<\?xml |^<testsuites?\b",
        (
            "XML: of a JUnit report `grep -oP '<testcase[^>]* time=\"\\K[0-9.]+' {0} > FILE` has "
            "the times"
        ),
    ),
    "html": (r"^<!DOCTYPE html|^<html\b", "a web page: save what it shows as text"),
    "oslat": (
        r"^ *Counter Freq: |^ *\d+ \(us\): ",
        "of oslat, which is not read: `rtla osnoise hist` is",
    ),
    "stress_ng": (
        r"stress-ng: info: +\[\d+\] cyclic: ",
        "of stress-ng --cyclic, which is not read: `cyclictest --json` is",
    ),
}
#: How an object begins, or a list of some.
_JSON = re.compile(r'(?:\[\s*)?\{\s*(?:"|\}|$)')


def raise_if_known(path: Path) -> None:
    """Raise InputError with the reason for a file that is known and not read."""
    try:
        empty = not path.stat().st_size
    except OSError:
        return
    if empty:
        raise InputError(f"{path} is empty")
    signs = find_signs(path, {name: sign for name, (sign, _) in _TEXTS.items()})
    for name, (_, reason) in _TEXTS.items():
        if name in signs:
            raise InputError(f"{path} is {reason.format(path)}")
    if (json_reason := _what_json(path)) is not None:
        raise InputError(f"{path} is {json_reason.format(path)}")


def _what_json(path: Path) -> str | None:
    """Return what a file is as JSON, with {0} for its name; None: it is no JSON."""
    documents = json_documents(path)
    text = "\n".join(unquoted(path)).strip() if path.stat().st_size < MOST_JSON else ""
    try:
        whole = isinstance(json.loads(text), list | dict)
    except (ValueError, RecursionError):
        whole = False
    if whole or any(isinstance(document, dict) for document in documents):
        return "JSON of an unknown tool: `jq '.. | numbers' {0} > FILE` has its numbers"
    if _JSON.match(text):
        return "JSON that was cut or damaged: it does not parse"
    return None
