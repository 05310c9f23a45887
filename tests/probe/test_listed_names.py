"""Names that match a pattern: in files, among the kernel's, and by the probe of this machine."""

from __future__ import annotations

import fnmatch
import os
import random
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import closing
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from c_programs import compile_c
from user_code_files import PROGRAM, SOURCES, build, build_driver, places
from user_sections import UPROBES
from whylate.boards.local import LocalBoard
from whylate.probe.client import Client
from whylate.probe.errors import ProbeRefusedError
from whylate.wire.constants import (
    LONGEST_PATTERN,
    MOST_LISTED,
    ListedKind,
    Obstacle,
    SectionHook,
    SectionKind,
)
from whylate.wire.messages import ListedPlace, ListPlaces, PlacesListed

LISTING = [f"section/listing/{name}.c" for name in ("functions_of_file", "glob", "names")]
needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root may trace")
#: Functions of two files and versions, of which one is chosen as the program starts.
LIBRARY = """
__attribute__((symver("play@OLD_1"))) int play_old(int n) { return n; }
__attribute__((symver("play@@NEW_2"))) int play_new(int n) { return n + 1; }
static int fast(int n) { return n; }
static int (*choose(void))(int) { return fast; }
__attribute__((ifunc("choose"))) int quick(int n);
"""
SAME = "static __attribute__((noinline, noipa)) int same(int n) { return n; }\n"


# ---------------------------------------------------------------- patterns


@pytest.fixture(scope="module")
def glob(tmp_path_factory: pytest.TempPathFactory) -> Iterator[subprocess.Popen[str]]:
    folder = tmp_path_factory.mktemp("glob")
    sanitizers = ["-fsanitize=address,undefined", "-fno-sanitize-recover=all"]
    driver = compile_c("cc", "glob", ["section/listing/glob.c"], folder, sanitizers)
    command = [str(driver)]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        yield process
        assert process.stdin is not None
        process.stdin.close()


def matches(glob: subprocess.Popen[str], pattern: str, name: str) -> bool:
    assert glob.stdin is not None
    assert glob.stdout is not None
    glob.stdin.write(f"{pattern}\n{name}\n")
    glob.stdin.flush()
    return {"1\n": True, "0\n": False}[glob.stdout.readline()]


PARTS = ["a", "b", "*", "?", "-", "]", "[", "!", "[a]", "[!a]", "[a-b]", "[!a-b]", "[]a]", "[!]-]"]


@given(st.lists(st.sampled_from(PARTS), max_size=5).map("".join), st.text("ab-]![", max_size=5))
@settings(max_examples=400)
def test_a_pattern_matches_what_python_s_matches(
    glob: subprocess.Popen[str], pattern: str, name: str
) -> None:
    assert matches(glob, pattern, name) == fnmatch.fnmatchcase(name, pattern)


def test_a_pattern_of_many_stars_takes_no_time(glob: subprocess.Popen[str]) -> None:
    """A matcher that tries all ways would not end."""
    assert not matches(glob, "*a" * 100 + "*b", "a" * 1000)
    assert matches(glob, "*a" * 100 + "*b", "a" * 1000 + "b")


# ---------------------------------------------------------------- files


@pytest.fixture(scope="module")
def driver(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("driver")
    sanitizers = ["-fsanitize=address,undefined", "-fno-sanitize-recover=all"]
    return compile_c("cc", "list_file", [*SOURCES, *LISTING], folder, sanitizers)


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build(tmp_path_factory.mktemp("program"), PROGRAM)


@pytest.fixture(scope="module")
def sections(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build_driver(tmp_path_factory.mktemp("sections"))


def rows(driver: Path, file: Path, pattern: str) -> list[list[str]]:
    """Return NAME, DETAIL, OFFSET, OBSTACLE, SAME of each."""
    done = subprocess.run([driver, file, pattern], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return [line.split("\t") for line in done.stdout.splitlines()]


def test_each_listed_function_is_where_a_section_of_it_begins(
    driver: Path, sections: Path, program: Path
) -> None:
    listed = rows(driver, program, "decode_*")
    assert [row[0] for row in listed] == ["decode_frame", "decode_header"]
    for name, _, offset, obstacle, same in listed:
        assert (obstacle, same) == ("0", "1")
        assert f" begin {offset}/" in places(sections, program, name)


def test_versions_are_named_as_a_section_names_them(
    driver: Path, sections: Path, tmp_path: Path
) -> None:
    (tmp_path / "map").write_text("OLD_1 { global: play; quick; };\nNEW_2 { global: play; } OLD_1;")
    script = "-Wl,--version-script=map"
    file = build(tmp_path, LIBRARY, "-shared", "-fPIC", script, name="libv.so")
    for strip in (False, True):
        if strip:
            subprocess.run(["strip", file], check=True)
        (default, old), (chosen,) = rows(driver, file, "play"), rows(driver, file, "quic?")
        assert default[:2] == ["play", "NEW_2"]
        assert old[:2] == ["play@OLD_1", "OLD_1"]
        for name, _, offset, _, _ in (default, old):
            assert f" begin {offset}/" in places(sections, file, name)
        assert chosen[3] == str(int(Obstacle.CHOSEN_AT_START))


def test_functions_of_one_name_are_listed_by_their_offsets(driver: Path, tmp_path: Path) -> None:
    (tmp_path / "b.c").write_text(SAME + "int second(int n) { return same(n) + 1; }")
    text = (
        SAME + "int second(int); int main(int n, char **w) { (void)w; return same(n)+second(n); }"
    )
    listed = rows(driver, build(tmp_path, text, "b.c"), "same")
    assert [(row[0], row[3], row[4]) for row in listed] == [
        ("same", str(int(Obstacle.SEVERAL)), "2")
    ] * 2
    assert listed[0][2] != listed[1][2]


def test_usdt_probes_match_by_their_name_or_with_their_provider(
    driver: Path, program: Path
) -> None:
    expected = [["whylate:frame_begin", "1"], ["whylate:frame_end", "2"]]
    for pattern in ("frame_[be]*", "whylate:*", "*:frame_[be]*"):
        assert [[row[0], row[4]] for row in rows(driver, program, pattern)] == expected
    assert rows(driver, program, "other:*") == []


def test_a_name_that_a_file_lacks_has_its_reason(driver: Path, program: Path) -> None:
    (line,) = rows(driver, program, "inlined")
    assert "it may be inlined everywhere" in line[0]


def test_damaged_files_are_listed_within_their_bounds(
    driver: Path, program: Path, tmp_path: Path
) -> None:
    data = program.read_bytes()
    drawn = random.Random(1)
    file = tmp_path / "damaged"
    for _ in range(60):
        damaged = bytearray(data)
        for _ in range(drawn.choice((1, 8, 200))):
            damaged[drawn.randrange(len(damaged))] = drawn.randrange(256)
        file.write_bytes(damaged[: drawn.choice((len(data), drawn.randrange(len(data))))])
        rows(driver, file, "*")


# ---------------------------------------------------------------- this machine


@pytest.fixture(scope="module")
def client() -> Iterator[Client]:
    started = LocalBoard().start_probe(lambda _: None)
    with closing(started.stream) as stream:
        client = Client(stream)
        client.hello()
        yield client


def listed(
    client: Client, kind: SectionKind, pattern: str, file: str = ""
) -> tuple[list[ListedPlace], PlacesListed]:
    *names, end = client.call(ListPlaces(kind, pattern, file, 0), 120)
    assert isinstance(end, PlacesListed)
    assert all(isinstance(name, ListedPlace) for name in names)
    return [name for name in names if isinstance(name, ListedPlace)], end


def functions_of_kernel() -> set[str]:
    """Return the names of the kernel's own functions and of its modules."""
    names = set()
    for line in Path("/proc/kallsyms").read_text().splitlines():
        _, kind, name, *module = line.split()
        if kind in "tTwW" and module != ["[bpf]"] and not "".join(module).startswith("[__builtin"):
            names.add(name)
    return {name for name in names if not name.startswith(("$", ".", "__pfx_", "__cfi_"))}


@pytest.mark.skipif(not Path("/proc/kallsyms").exists(), reason="no symbols")
@pytest.mark.parametrize("pattern", ["kmem_cache_a*", "*_read", "vfs_[rw]*", "vfs_read", "*"])
def test_the_kernel_s_functions_are_listed_in_their_order(client: Client, pattern: str) -> None:
    names, end = listed(client, SectionKind.FUNCTION, pattern)
    # On this machine programs may come and go with their symbols, which are no function's.
    expected = sorted(fnmatch.filter(functions_of_kernel(), pattern))
    assert [name.name for name in names] == expected[:MOST_LISTED]
    assert end.matched == len(expected)
    assert {name.kind for name in names} <= {ListedKind.FUNCTION}


@needs_root
def test_a_tracepoint_has_its_arguments_and_its_hook_is_measured(client: Client) -> None:
    names, end = listed(client, SectionKind.TRACEPOINTS, "raw_syscalls:sys_*")
    assert [name.name for name in names] == ["raw_syscalls:sys_enter", "raw_syscalls:sys_exit"]
    hooks = 1 << SectionHook.TRACEPOINT | 1 << SectionHook.TRACE_EVENT
    assert {name.hooks for name in names} == {hooks}
    assert end.hooks == (SectionHook.TRACEPOINT,)
    if end.texts == ("",):
        assert end.floor_ns[0] > 0
    if Path("/sys/kernel/btf/vmlinux").exists():
        assert names[0].arguments[0] == "struct pt_regs *regs"
        assert [name.arguments[1].split()[-1] for name in names] == ["id", "ret"]
    # Without a colon it is the name alone.
    assert listed(client, SectionKind.TRACEPOINTS, "sys_ex?t")[0] == names[1:]


@needs_root
def test_an_event_of_a_system_call_has_no_tracepoint(client: Client) -> None:
    names, _ = listed(client, SectionKind.TRACEPOINTS, "syscalls:sys_enter_op*")
    if not names:
        pytest.skip("this kernel has no events of system calls (CONFIG_FTRACE_SYSCALLS)")
    assert {(name.hooks, name.obstacle) for name in names} == {(0, Obstacle.NO_TRACEPOINT)}


@needs_root
@pytest.mark.skipif(not UPROBES.exists(), reason="this kernel has no uprobes")
def test_the_functions_of_a_file_have_a_hook_that_works(client: Client, program: Path) -> None:
    names, end = listed(client, SectionKind.USER, "decode_*", str(program))
    assert [(name.name, name.hooks) for name in names] == [
        ("decode_frame", 1 << SectionHook.UPROBE), ("decode_header", 1 << SectionHook.UPROBE)
    ]  # fmt: skip
    assert (end.hooks, end.texts, end.matched) == ((SectionHook.UPROBE,), ("",), 2)
    with pytest.raises(ProbeRefusedError, match="it may be inlined everywhere"):
        listed(client, SectionKind.USER, "inlined", str(program))


def hostile() -> Sequence[tuple[SectionKind, str, str]]:
    return [
        (SectionKind.FUNCTION, "", ""),
        (SectionKind.FUNCTION, "a" * (LONGEST_PATTERN + 1), ""),
        (SectionKind.FUNCTION, "a\0b", ""),
        (SectionKind.FUNCTION, "a b", ""),
        (SectionKind.FUNCTION, "a\x1b[2J", ""),
        (SectionKind.FUNCTION, "a", "/bin/sh"),
        (SectionKind.USER, "a", ""),
        (SectionKind.USER, "a", "/" * 2000),
    ]


@pytest.mark.parametrize(("kind", "pattern", "file"), hostile(), ids=range(len(hostile())))
def test_what_is_no_pattern_is_refused(
    client: Client, kind: SectionKind, pattern: str, file: str
) -> None:
    with pytest.raises(ProbeRefusedError, match=r"no pattern of names|no name of a file"):
        listed(client, kind, pattern, file)
