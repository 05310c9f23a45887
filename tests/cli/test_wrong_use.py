"""Wrong use is answered by one clear line and the right exit status."""

from __future__ import annotations

import contextlib
import io
import json
import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import click
import pytest

import starts
from whylate import __version__
from whylate.cli import main
from whylate.cli import whylate as whylate_group
from whylate.cli.option_groups import Heading


def whylate(*arguments: str, env: dict[str, str] | None = None) -> subprocess.CompletedProcess[str]:
    return starts.run(
        [sys.executable, "-m", "whylate", *arguments],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
        env=env,
    )


def in_this_process(*arguments: str | bytes) -> subprocess.CompletedProcess[str]:
    """Run whylate where its modules are loaded already: that takes most of the time of a refusal.

    An error that escapes main() is that of the test.
    """
    argv = ["whylate", *map(os.fsdecode, arguments)]
    signals = (signal.SIGHUP, signal.SIGTERM)
    handlers = [signal.getsignal(number) for number in signals]
    out, err = io.StringIO(), io.StringIO()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sys, "argv", argv)
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            try:
                with pytest.raises(SystemExit) as ended:
                    main()
            finally:
                for number, handler in zip(signals, handlers, strict=True):
                    signal.signal(number, handler)
    code = ended.value.code
    assert isinstance(code, int)
    return subprocess.CompletedProcess(argv, code, out.getvalue(), err.getvalue())


def complaint(done: subprocess.CompletedProcess[str]) -> str:
    """Return the one line that names the mistake; there is no traceback and no output."""
    assert "Traceback" not in done.stderr
    assert done.stdout == ""
    lines = [
        line
        for line in done.stderr.splitlines()
        if line.strip() and not line.startswith(("Usage:", "Try ")) and not line.endswith(" …")
    ]
    assert len(lines) == 1, done.stderr
    return lines[0]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--kernel-arg", "quiet"], "--kernel-arg is for virtual boards: local is none"),
        (["--load", "disco"], "expected one of memory, code, tlb, switch"),
        (["--load", "memory:0"], "memory:N with N from 1"),
        (["--load", "cmd:"], "cmd:COMMAND"),
        (["--load", "cmd:'oops"], "No closing quotation"),
        (["--interval", "0"], "no time above zero"),
        (["--interval", "0ms"], "no time above zero in whole nanoseconds: write it like"),
        (["--interval", "10us"], "between 50us and 10s"),
        (["--for", "sometime"], "no time above zero"),
        (["--for", "1us"], "at least one interval"),
        (["--for", "365d"], "at most 30 days"),
        (["--cpus", "4095"], "CPU 4095 is not there: the board has"),
        (["--cpus", "0,0"], "twice"),
        (["--cpus", "3-1"], "no list of CPUs"),
        (["--cpus", "all"], "no list of CPUs"),
        (["--priority", "100"], "1<=x<=99"),
        (["--require", "p99.9<fast"], "no latency"),
        (["--require", "p98<1us"], "not one of"),
        (["--set", "/etc/passwd=x"], "PATH=VALUE with a path under"),
        (["--set", "/proc/sys/../../etc/passwd=x"], "PATH=VALUE with a path under"),
        (["board9"], "board 'board9'"),
        (["--comm", "a", "--pid", "3"], "one program is watched"),
        (["--comm", "a-very-long-name"], "use --comm 'a-very-long-nam'"),
        (["--comm", "a\nb"], "the name of a thread"),
        (["--pid", "0"], "between 1 and"),
        (["--pid", "1", "--interval", "1ms"], "--interval is for the probe's own"),
        (["--pid", "1", "--cpus", "0"], "--cpus is for the probe's own"),
        (["--pid", "1", "--priority", "95"], "--priority is for the probe's own"),
        (["--pid", "1", "--no-recorder"], "measured by the recorder"),
        (["--detach", "--no-recorder"], "not with --no-recorder"),
        (["--detach", "--stop-above", "200us"], "not with --detach"),
        (["--detach", "--pid", "1"], "only the recorder sees"),
        (["--detach", "--for", "9s"], "takes --for 10s or more"),
        (["--pid", "1", "pc,virt-arm64"], "of one board: for several"),
        (["--pid", "1", "pc", "--virtual-time"], "the board boots first"),
        (["--comm", "a", "--virtual-time", "--phases", "2"], "--phases is for"),
        (["--comm", "a", "--stop-above", "0"], "no time above zero"),
    ],
)
def test_what_cannot_be_measured_is_refused(
    arguments: list[str], message: str, tmp_path: Path
) -> None:
    done = in_this_process("measure", *arguments, "-o", str(tmp_path / "r"))
    assert message in complaint(done)
    assert done.returncode == (3 if "board9" in arguments else 2)
    assert not (tmp_path / "r").exists()
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ([], "write the command to watch behind --"),
        (["x"] * 65, "more than 64 words"),
        (["x" * 3001], "or 3000 bytes: put it into a script"),
    ],
)
def test_a_command_that_cannot_be_watched_is_refused(
    words: list[str], message: str, tmp_path: Path
) -> None:
    asked = ["measure", "-o", str(tmp_path / "r"), "--", *words]
    done = in_this_process(*asked)
    assert message in complaint(done)
    assert done.returncode == 2


def test_what_stands_behind_two_dashes_is_the_command_and_no_board() -> None:
    """Nothing of it is read as an option, whatever stands before."""
    from whylate.cli.measure import command

    for before in ([], ["local"], ["--json", "local"]):
        context = command.make_context("measure", [*before, "--", "./prog", "--all", "--", "-o"])
        assert context.params["boards"] == "local"
        assert context.params["argv"] == ("./prog", "--all", "--", "-o")
        assert not context.params["every"]
    assert command.make_context("measure", ["pc"]).params["argv"] is None


def test_a_directory_that_exists_is_never_written_to(tmp_path: Path) -> None:
    (tmp_path / "kept").write_text("mine")
    done = whylate("measure", "--for", "1s", "-o", str(tmp_path))
    assert "exists: a recording is never overwritten" in complaint(done)
    assert done.returncode == 2
    assert [entry.name for entry in tmp_path.iterdir()] == ["kept"]


def test_a_directory_that_cannot_be_made_is_refused() -> None:
    done = whylate("measure", "--for", "1s", "-o", "/proc/whylate-test/r")
    assert "cannot be made" in complaint(done)
    assert done.returncode == 2


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root to change settings at all")
@pytest.mark.parametrize(
    ("name", "why"),
    [
        ("a" * 300, "more than 200 bytes"),
        ("/tmp/" + "a/" * 2000 + "b", "more than 3800 bytes"),  # noqa: S108 - nothing is made
        (b"bad\xff\xfe", "not UTF-8"),
        ("/etc/passwd/x", "/etc/passwd is not a directory"),
    ],
)
@pytest.mark.parametrize(
    "verb",
    [
        ["measure", "local", "--for", "1s", "-o"],
        ["explain", "--experiment", "local", "-o"],
        ["study", "run", "x.toml", "-o"],
        ["report", "x", "-o"],
        ["compare", "x", "y", "--html"],
    ],
    ids=lambda verb: verb[0],
)
def test_a_name_that_nothing_can_have_is_refused_before_anything_is_done(
    verb: list[str], name: str | bytes, why: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    done = in_this_process(*verb, name)
    assert done.returncode == 2
    assert why in done.stderr.replace("\n", " ")
    assert "Traceback" not in done.stderr
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("name", ["/dev/zero", "a" * 300, b"\xff"])
def test_a_plan_without_an_end_or_a_possible_name_is_one_line(
    name: str | bytes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    done = in_this_process("study", "run", name)
    assert done.returncode == 2
    assert len(done.stderr.splitlines()) == 1
    assert "cannot be read" in done.stderr


def test_a_setting_that_the_board_refuses_ends_before_measuring(tmp_path: Path) -> None:
    before = Path("/proc/sys/vm/swappiness").read_text()
    done = whylate(
        "measure", "--for", "1s", "-o", str(tmp_path / "r"),
        "--set", "/proc/sys/vm/swappiness=17",
        "--set", "/proc/sys/kernel/sched_rt_period_us=-5",
    )  # fmt: skip
    assert "/proc/sys/kernel/sched_rt_period_us does not take" in complaint(done)
    assert done.returncode == 3
    assert not (tmp_path / "r").exists()
    assert Path("/proc/sys/vm/swappiness").read_text() == before


def helps(command: click.Command, words: tuple[str, ...]) -> Iterator[tuple[str, str]]:
    """Yield the help of a command and of all below it, with the words that call it."""
    context = click.Context(command, info_name=" ".join(words))
    yield " ".join(words), command.get_help(context)
    if isinstance(command, click.Group):
        for name in command.list_commands(context):
            below = command.get_command(context, name)
            assert below is not None
            yield from helps(below, (*words, name))


def test_every_verb_has_a_help_that_is_laid_out() -> None:
    pages = dict(helps(whylate_group, ("whylate",)))
    assert len(pages) > 20
    assert [words for words, text in pages.items() if "\\b" in text] == []


def headings_of(command: click.Command) -> dict[str, str]:
    """Return the heading of each option in a verb's help, by its longest name."""
    context = click.Context(command, info_name="verb", max_content_width=80)
    heading, headings = "", {}
    for line in command.get_help(context).splitlines():
        if re.fullmatch(r"[A-Z][^:]*:", line):
            heading = line[:-1]
        elif option := re.match(r"  (?:-\w, )?(--[a-z-]+)", line):
            headings[option[1]] = heading
    return headings


def verbs(group: click.Group) -> Iterator[click.Command]:
    """Yield the verbs of a group and of all groups below it."""
    context = click.Context(group)
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        assert command is not None
        if isinstance(command, click.Group):
            yield from verbs(command)
        else:
            yield command


def test_a_verb_with_many_options_shows_them_under_headings() -> None:
    many = [
        command
        for command in verbs(whylate_group)
        if sum(isinstance(parameter, click.Option) for parameter in command.params) > 10
    ]
    assert len(many) >= 8
    for command in many:
        headings = headings_of(command)
        assert headings.pop("--help") == Heading.OTHER
        assert set(headings.values()) <= set(Heading) - {Heading.OTHER}, command.callback
        assert len(headings) == sum(isinstance(option, click.Option) for option in command.params)


def test_help_fits_on_one_screen() -> None:
    done = whylate("--help", env={**os.environ, "COLUMNS": "80"})
    assert done.returncode == 0
    lines = done.stdout.splitlines()
    assert len(lines) <= 32
    assert max(map(len, lines)) <= 80
    for verb in ("measure", "report", "facts", "doctor"):
        assert any(line.split()[:1] == [verb] for line in lines)


def test_without_a_verb_three_lines_name_the_first_steps() -> None:
    done = whylate()
    assert done.returncode == 2
    assert done.stdout == ""
    lines = done.stderr.splitlines()
    assert [line[: line.index("  ")] for line in lines] == [
        "whylate measure --for 20s",
        "whylate doctor",
        "whylate --help",
    ]


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completions_are_printed_for_each_shell(shell: str) -> None:
    done = whylate("completion", shell)
    assert done.returncode == 0
    assert "_WHYLATE_COMPLETE" in done.stdout


def test_the_completion_offers_verbs_and_options() -> None:
    environment = {
        **os.environ,
        "_WHYLATE_COMPLETE": "bash_complete",
        "COMP_WORDS": "whylate measure --",
        "COMP_CWORD": "2",
    }
    done = whylate(env=environment)
    assert "--interval" in done.stdout
    assert "--require" in done.stdout


def test_the_version_is_that_of_the_package() -> None:
    assert whylate("--version").stdout.strip() == f"whylate, version {__version__}"


@pytest.mark.realtime
def test_json_prints_one_object_and_nothing_else(tmp_path: Path) -> None:
    done = whylate(
        "measure", "--for", "1s", "--json", "-o", str(tmp_path / "r"), "--require", "max<1ns",
        "--load", "switch",
    )  # fmt: skip
    result = json.loads(done.stdout)
    assert done.returncode == 1, "a requirement failed"
    assert result["expected"] == result["seen"] + result["overrun"] + result["dropped"]
    assert result["trust"] == "ok"
    for name in ("p50", "p90", "p99", "p99.9", "p99.99", "max"):
        assert {"value", "low", "high"} <= set(result["latency_ns"][name])
    assert isinstance(result["latency_ns"]["p50"]["value"], int)
    assert result["latency_ns"]["p99.99"]["value"] is None
    assert "100,000 activations" in result["latency_ns"]["p99.99"]["reason"]
    assert result["loads"][0]["during_per_s"] > 0
    assert result["requirements"][0]["verdict"] == "fail"
    assert Path(result["report"]).exists()


@pytest.mark.realtime
def test_a_load_that_does_nothing_gives_no_verdict(tmp_path: Path) -> None:
    done = whylate(
        "measure", "--for", "1s", "--json", "-o", str(tmp_path / "r"), "--load", "cmd:sleep 30",
        "--require", "p50<1s",
    )  # fmt: skip
    result = json.loads(done.stdout)
    assert done.returncode == 3
    assert result["trust"] == "no verdict"
    assert any("did no work" in reason for reason in result["trust_reasons"])
    assert result["requirements"][0]["verdict"] == "no verdict"


@pytest.mark.realtime
@pytest.mark.skipif(os.geteuid() != 0, reason="needs root to give up the right")
def test_without_realtime_priority_there_is_no_verdict(tmp_path: Path) -> None:
    # SCHED_FIFO needs CAP_SYS_NICE; without it the run goes on, and has no verdict.
    command = ["setpriv", "--bounding-set", "-sys_nice", "--inh-caps", "-sys_nice"]
    done = starts.run(
        [*command, sys.executable, "-m", "whylate", "measure", "--for", "1s", "--json",
         "-o", str(tmp_path / "r")],
        capture_output=True, text=True, timeout=60, check=False,
    )  # fmt: skip
    result = json.loads(done.stdout)
    assert done.returncode == 3
    assert result["trust"] == "no verdict"
    assert any("CAP_SYS_NICE" in reason for reason in result["trust_reasons"])
