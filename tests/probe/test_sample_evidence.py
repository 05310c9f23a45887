"""Whether the code before a sampled place enables interrupts there."""

from __future__ import annotations

import re
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path

import pytest

from c_programs import ROOT, compile_c

#: Instructions that the decoder does not know, by their first byte: VEX and EVEX.
UNKNOWN = ("c4", "c5", "62")
_LINE = re.compile(r"^ *[0-9a-f]+:\t([0-9a-f ]+?) *\t(\S+)", re.MULTILINE)

STI, NOP, POPF, RET, CLI = "fb", "0f1f4000", "9d", "c3", "fa"
PUSH, MOV = "55", "4889e5"
#: mov $0xfb, %eax; and a jump by -5, which has the byte of sti.
MOV_FB, JUMP_FB = "b8fb000000", "75fb"


@pytest.fixture(scope="module")
def driver(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("evidence")
    return compile_c(
        "cc", "evidence_driver", ["sampled/evidence.c"], folder, ["-fsanitize=address,undefined"]
    )


def answers(driver: Path, lines: Sequence[tuple[str, str]]) -> list[int]:
    text = "".join(f"{what} {code}\n" for what, code in lines)
    done = subprocess.run([driver], input=text, capture_output=True, text=True, check=True)
    return [int(line) for line in done.stdout.split()]


def little(*words: int) -> str:
    return "".join(word.to_bytes(4, "little").hex() for word in words)


@pytest.mark.parametrize(
    ("code", "enables"),
    [
        (PUSH + MOV + STI + NOP, 1),
        (PUSH + POPF, 1),
        # Interrupts come behind the instruction after sti, and nowhere else.
        (PUSH + STI, 0),
        (PUSH + STI + NOP + MOV, 0),
        (PUSH + CLI + NOP, 0),
        # The byte of sti in another instruction.
        (PUSH + MOV_FB + MOV, 0),
        (PUSH + MOV_FB, 0),
        (JUMP_FB + MOV, 0),
        # An instruction that ends behind the address.
        (PUSH + STI + NOP[:6], 0),
        (POPF, 1),
        ("", 0),
        # Unknown instructions before: nothing is known of what follows.
        ("c5f877" + STI + NOP, 0),
    ],
)
def test_x86_is_followed_from_the_beginning_of_the_function(
    driver: Path, code: str, enables: int
) -> None:
    if code:
        assert answers(driver, [("x86", code)]) == [enables]


@pytest.mark.parametrize(
    ("words", "enables"),
    [
        ((0xD503201F, 0xD50343FF), 1),  # msr daifclr, #3
        ((0xD51B4235,), 1),  # msr daif, x21
        ((0xD5184602,), 1),  # msr icc_pmr_el1, x2
        ((0xD51B4235, 0xD5033FDF, 0xD503201F), 1),  # isb and nop behind it
        ((0xD51B4235, 0xAA0003E1), 0),  # mov behind it
        ((0xD50343DF,), 0),  # msr daifset, #3
        ((0xD53B4235,), 0),  # mrs x21, daif
        ((0xD503201F,) * 4, 0),
    ],
)
def test_arm64_is_the_instruction_before(
    driver: Path, words: tuple[int, ...], enables: int
) -> None:
    assert answers(driver, [("arm64", little(*words))]) == [enables]


@pytest.mark.parametrize(
    ("words", "enables"),
    [
        ((0xE1A00000, 0xF1080080), 1),  # cpsie i
        ((0xF10801C0,), 1),  # cpsie aif
        ((0xE121F005,), 1),  # msr cpsr_c, r5
        ((0xF1080080, 0xE1A00000), 0),  # mov behind it
        ((0xF10C0080,), 0),  # cpsid i
        ((0xF1080040,), 0),  # cpsie f
        ((0xE10F5000,), 0),  # mrs r5, cpsr
    ],
)
def test_32_bit_arm_is_the_instruction_before(
    driver: Path, words: tuple[int, ...], enables: int
) -> None:
    assert answers(driver, [("arm", little(*words))]) == [enables]


@pytest.mark.parametrize(
    ("words", "enables"),
    [
        ((0x00000013, 0x10016073), 1),  # csrsi sstatus, 2
        ((0x1007A073,), 1),  # csrs sstatus, a5
        ((0x10016073, 0x00000013), 0),  # nop behind it
        ((0x10017073,), 0),  # csrci sstatus, 2
        ((0x10026073,), 0),  # csrsi sstatus, 4
        ((0x100027F3,), 0),  # csrr a5, sstatus
    ],
)
def test_riscv64_is_the_instruction_before(
    driver: Path, words: tuple[int, ...], enables: int
) -> None:
    assert answers(driver, [("riscv64", little(*words))]) == [enables]


@pytest.mark.skipif(shutil.which("objdump") is None, reason="objdump is not installed")
def test_lengths_are_those_of_objdump(driver: Path) -> None:
    program = ROOT / "src/whylate/probe/binaries/x86_64/whylate-probe"
    done = subprocess.run(
        ["objdump", "-d", "-j", ".text", "--insn-width=16", program],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    if done.returncode or not done.stdout:
        pytest.skip("objdump knows no x86-64")
    different = {
        code.replace(" ", "")
        for code, name in _LINE.findall(done.stdout)
        if not name.startswith("(bad)")
    }
    codes = sorted(different)
    assert len(codes) > 10_000
    # What lies behind an instruction is read only where it belongs to it.
    got = answers(driver, [("length", code + "00" * 4) for code in codes])
    wrong = [
        (code, length)
        for code, length in zip(codes, got, strict=True)
        if length != len(code) // 2 and not (length == 0 and _opcode(code).startswith(UNKNOWN))
    ]
    assert wrong == []


def _opcode(code: str) -> str:
    """Return an instruction without its prefixes."""
    while code[:2] in {"66", "67", "f2", "f3", "f0", "2e", "36", "3e", "26", "64", "65"}:
        code = code[2:]
    return code
