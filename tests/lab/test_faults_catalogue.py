"""The catalogue of injected faults says what their sources do, and refuses what they cannot."""

from __future__ import annotations

import re

import pytest

from whylate.boards.board import notify_nobody
from whylate.lab.description import virtual_board
from whylate.lab.errors import LabError
from whylate.lab.faults.catalogue import SHARED, fault, names, use
from whylate.lab.faults.log import Event, FaultLog, fault_log, pack, parse_log, unpack
from whylate.lab.faults.place import place

UNSEEN = names(unseen=True)
HEADER = b"whylate-fault-log 1 dropped 0000000002\n"


def _parameters_in_c(name: str) -> set[str]:
    """Return the parameters that a fault's C file and its header take."""
    entry = fault(name)
    source = entry.source_file.read_text()
    if entry.kind == "module":
        source += "".join(path.read_text() for path in SHARED.glob("fault_module*.h"))
        return set(re.findall(r"module_param\((\w+),", source))
    header = (SHARED / "fault_program.h").read_text()
    shared = header[header.index("#define FAULT_PARAMETERS") :]
    listed = source[source.index("FAULT_PARAMETERS") :].split(";")[0] + shared
    return set(re.findall(r'\{\s*"(\w+)"', listed))


@pytest.mark.parametrize("name", [n for n in [*names(), *UNSEEN] if fault(n).kind != "outside"])
def test_every_parameter_of_the_catalogue_is_one_of_the_source(name: str) -> None:
    assert set(fault(name).parameters) <= _parameters_in_c(name)


@pytest.mark.parametrize("name", [n for n in [*names(), *UNSEEN] if fault(n).kind == "program"])
def test_the_catalogue_has_every_parameter_of_a_program(name: str) -> None:
    assert _parameters_in_c(name) == set(fault(name).parameters)


@pytest.mark.parametrize("name", [*names(), *UNSEEN])
def test_every_fault_can_be_used_with_its_defaults(name: str) -> None:
    used = use(name)
    assert set(used.parameters) == set(fault(name).parameters)


def test_every_folder_is_a_fault() -> None:
    folders = {path.name for path in SHARED.parent.iterdir() if path.is_dir()}
    assert folders - {"shared", "unseen"} == set(names())


@pytest.mark.parametrize("name", UNSEEN)
def test_an_unseen_fault_has_an_answer_and_a_bystander_and_its_files(name: str) -> None:
    entry = fault(name)
    assert entry.unseen
    assert name not in names()
    assert entry.bystanders
    assert entry.answer.pieces
    assert {path.name for path in entry.folder.iterdir()} == {"fault.toml", entry.source}


def test_values_that_were_given_replace_the_defaults() -> None:
    used = use("irqs-off", {"size_us": "450", "seed": 7})
    assert used.number("size_us") == 450
    assert used.number("seed") == 7
    assert used.number("period_us") == 10_000


@pytest.mark.parametrize(
    ("name", "values", "message"),
    [
        ("no-such", {}, "unknown fault"),
        ("../irqs-off", {}, "unknown fault"),
        ("irqs-off", {"siez_us": 1}, "has no parameter"),
        ("irqs-off", {"size_us": 0}, "between 1 and"),
        ("irqs-off", {"size_us": "1e3"}, "must be a number"),
        ("irqs-off", {"size_us": "-5"}, "must be a number"),
        ("irqs-off", {"size_us": 6000}, "more than half"),
        ("irqs-off", {"jitter_us": 6000}, "more than half"),
        ("page-faults", {"file": "relative"}, "absolute path"),
        ("page-faults", {"file": "/x; reboot"}, "absolute path"),
    ],
)
def test_wrong_use_is_one_line_that_says_what_is_wrong(
    name: str, values: dict[str, str | int], message: str
) -> None:
    with pytest.raises(LabError, match=message) as caught:
        use(name, values)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("board", "name", "cpus", "message"),
    [
        ("sabrelite", "irqs-off", 1, "of x86-64, arm64 and riscv64"),
        ("virt-arm64", "slow-irq", 1, "does nothing on aarch64"),
        ("virt-arm64", "tlb-shootdown", 2, "does nothing on aarch64"),
        ("pc", "lock-held", 1, "takes 2 CPUs"),
        ("pc", "machine-stopped", 1, "real time"),
    ],
)
def test_a_fault_that_a_board_cannot_have_is_refused(
    board: str, name: str, cpus: int, message: str
) -> None:
    is_board = virtual_board(board)
    with pytest.raises(LabError, match=message):
        place(
            [use(name)],
            machine=is_board.description.arch,
            board=is_board,
            cpus=cpus,
            notify=notify_nobody,
        )


def test_a_kernel_module_is_refused_on_a_board_that_is_not_virtual() -> None:
    with pytest.raises(LabError, match="kernel module"):
        place([use("irqs-off")], machine="x86_64", board=None, cpus=4, notify=notify_nobody)


def test_a_log_is_read_with_leading_zeros_and_zeros_behind_it() -> None:
    line = b"0000000000000001000 0000000000300 003\n"
    events, taken, dropped = parse_log(HEADER + line + bytes(99))
    assert (events, taken, dropped) == ([Event(1000, 300, 3)], [], 2)


def test_what_others_took_out_of_an_act_is_no_act() -> None:
    events, taken, _ = parse_log(HEADER + b"1100 20 -03\n1000 300 003\n")
    assert (events, taken) == ([Event(1000, 300, 3)], [Event(1100, 20, 3)])


def test_a_last_line_that_was_being_written_is_left_out() -> None:
    assert parse_log(HEADER + b"1000 300 0\n2000 30")[0] == [Event(1000, 300, 0)]


@pytest.mark.parametrize(
    "data", [b"", b"1 2 3\n", HEADER + b"1 2\n", HEADER + b"-1 2 3\n", HEADER + b"x\n1 2 3\n"]
)
def test_what_is_no_log_is_refused(data: bytes) -> None:
    with pytest.raises(LabError, match="irqs-off"):
        fault_log(use("irqs-off"), data)


def test_what_was_packed_for_a_recording_comes_out_again() -> None:
    log = FaultLog(use("irqs-off", {"size_us": 7}), [Event(1, 2, 3)], 4, "m12345678")
    assert unpack(pack([log])) == [log]
    with pytest.raises(LabError, match="not what"):
        unpack(b'[{"fault":1}]')


def test_the_documentation_names_every_fault_with_its_title() -> None:
    text = (SHARED.parents[2] / "docs" / "how-to" / "faults.md").read_text()
    for name in names():
        assert re.search(rf"^{name} .*  {re.escape(fault(name).title)}$", text, re.MULTILINE), name
