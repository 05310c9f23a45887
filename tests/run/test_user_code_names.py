"""How a user names a section of user code."""

from __future__ import annotations

import re

import pytest

from whylate.recording.workloads.section import (
    KernelFunction,
    KernelPlaces,
    TracepointPair,
    UserCode,
)
from whylate.run.errors import RequestError
from whylate.run.workloads.section import parse_place
from whylate.wire.constants import LONGEST_PLACE

RUST = (
    "_ZN58_$LT$alloc..string..String$u20$as$u20$core..fmt..Write$GT$9write_str17h0123456789abcdefE"
)


@pytest.mark.parametrize(
    ("text", "file", "begin", "end"),
    [
        ("./libfoo.so:decode_frame", "./libfoo.so", "decode_frame", ""),
        ("/usr/bin/player:0x1234", "/usr/bin/player", "0x1234", ""),
        ("libc.so.6:malloc@@GLIBC_2.2.5", "libc.so.6", "malloc@@GLIBC_2.2.5", ""),
        ("bash:readline", "bash", "readline", ""),
        ("./p:f+0x10..f+0x40", "./p", "f+0x10", "f+0x40"),
        ("./p:f+0x10..0x1240", "./p", "f+0x10", "0x1240"),
        ("./p:f+0x10.../p:f+0x40", "./p", "f+0x10", "f+0x40"),
        ("../p:f..../p:g", "../p", "f", "g"),
        ("./p:player:frame", "./p", "player:frame", ""),
        ("./p:player:begin..end", "./p", "player:begin", "player:end"),
        ("./p:player:begin..0x40", "./p", "player:begin", "0x40"),
        ("./p:player:begin.../p:player:end", "./p", "player:begin", "player:end"),
        ("./p:whylate:frame", "./p", "whylate:frame_begin", "whylate:frame_end"),
        ("./p:whylate:a_begin..b_begin", "./p", "whylate:a_begin", "whylate:b_begin"),
        (f"./p:{RUST}", "./p", RUST, ""),
        (f"./p:{RUST}+0x4.../p:{RUST}", "./p", f"{RUST}+0x4", RUST),
    ],
)
def test_files_and_places(text: str, file: str, begin: str, end: str) -> None:
    place = parse_place(text)
    assert place == UserCode(file=file, begin=begin, end=end)
    # What it prints can be typed again.
    assert parse_place(place.description) == place


@pytest.mark.parametrize(
    "text",
    [
        "irq:a..irq:b",
        "sched:a..b",
        "a..sched:b",
        "block:a..block:b by rq",
        "sys_enter..sys_exit if id==1",
        "sched_switch..sched_switch by cpu",
    ],
)
def test_pairs_of_tracepoints_stay_what_they_are(text: str) -> None:
    assert isinstance(parse_place(text), TracepointPair)


@pytest.mark.parametrize(
    ("text", "begin", "end"),
    [
        ("copy_process..wake_up_new_task", "copy_process", "wake_up_new_task"),
        ("vfs_read+0x1c..vfs_read+96", "vfs_read+0x1c", "vfs_read+96"),
        ("0xffffffff81a0b0c0..0xffffffff81a0b0f4", "0xffffffff81a0b0c0", "0xffffffff81a0b0f4"),
        ("do_it.isra.0 .. do_it.isra.0", "do_it.isra.0", "do_it.isra.0"),
    ],
)
def test_places_in_the_kernel(text: str, begin: str, end: str) -> None:
    place = parse_place(text)
    assert place == KernelPlaces(begin=begin, end=end)
    assert parse_place(place.description) == place
    assert parse_place(text, "tracefs") == KernelPlaces(begin=begin, end=end, hook="tracefs")


@pytest.mark.parametrize(
    ("text", "hook", "reason"),
    [
        ("vfs_read..", "best", "is no place in the kernel"),
        ("..vfs_read", "best", "is no place in the kernel"),
        ("vfs_read+..vfs_write", "best", "is no place in the kernel"),
        ("vfs_read+0x..vfs_write", "best", "is no place in the kernel"),
        ("vfs_read-0x4..vfs_write", "best", "is no place in the kernel"),
        ("0x12345678901234567..vfs_write", "best", "is no place in the kernel"),
        ("vfs_read\x1b[2J..vfs_write", "best", "is no place in the kernel"),
        (f"{'a' * (LONGEST_PLACE + 1)}..b", "best", "is no place in the kernel"),
        ("vfs_read..bpf_map_lookup_elem", "best", "bpf_map_lookup_elem runs while"),
        ("ktime_get+0x10..vfs_read", "best", "ktime_get runs while"),
        ("vfs_read..vfs_write", "fentry", "times whole functions"),
        ("vfs_read..vfs_write", "kprobe-session", "times whole functions"),
        ("vfs_read..vfs_write", "kprobe-multi", "times whole functions"),
        ("vfs_read..vfs_write", "uprobe", "unknown hook"),
    ],
)
def test_what_is_no_place_in_the_kernel_is_refused(text: str, hook: str, reason: str) -> None:
    with pytest.raises(RequestError, match=re.escape(reason)):
        parse_place(text, hook)


def test_a_function_of_the_kernel_stays_what_it_is() -> None:
    assert isinstance(parse_place("vfs_read.isra.0"), KernelFunction)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("./p:", "is no place in a file"),
        ("./p:a..", "does not say where it ends"),
        ("./p:a b", "is no place in a file"),
        ("./p:a..b by cpu", "is no place in a file"),
        ("./p:a.../q:b", "begins and ends in one file"),
        ("./p:a:b:c", "is no USDT probe"),
        ("./p:a:", "is no USDT probe"),
        ("./p:caf\N{LATIN SMALL LETTER E WITH ACUTE}", "is no place in a file"),
        (f"./{'p' * LONGEST_PLACE}:a", "is no name of a file"),
        (f"./p:{'a' * (LONGEST_PLACE + 1)}", "is no place in a file"),
        ("./p\x1b[2J:a", "is no name of a file"),
    ],
)
def test_what_names_no_place_is_refused(text: str, reason: str) -> None:
    with pytest.raises(RequestError, match=reason):
        parse_place(text)


def test_a_hook_of_the_kernel_is_none_of_user_code() -> None:
    assert parse_place("./p:a", "uprobe") == UserCode(file="./p", begin="a", hook="uprobe")
    with pytest.raises(RequestError, match="use uprobe"):
        parse_place("./p:a", "kprobe")
    with pytest.raises(RequestError, match="unknown hook"):
        parse_place("vfs_read", "uprobe")
