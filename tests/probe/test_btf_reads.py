"""The kernel's BTF, of some MiB, is read once for all programs that are loaded for a section."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from c_programs import compile_c

BTF = Path("/sys/kernel/btf/vmlinux")
SOURCES = ["bpf/kernel_btf.c", "bpf/btf_text.c"]
#: A leak, or a use of what was given back, is an error.
CHECKED = ["-g", "-fsanitize=address,undefined", "-Wl,--wrap=open64"]


@pytest.mark.skipif(not BTF.exists(), reason="this kernel has no BTF")
def test_names_are_found_in_the_btf_that_is_kept_as_in_one_that_is_read_again(
    tmp_path: Path,
) -> None:
    built = compile_c("cc", "btf_reads", SOURCES, tmp_path, CHECKED)
    done = subprocess.run([built], capture_output=True, text=True, check=True)
    rows = [[int(word) for word in line.split()] for line in done.stdout.splitlines()]
    errors, ids, opened = zip(*rows, strict=True)
    assert set(errors) == {0}
    task, file = ids[:2]
    assert 0 < task != file > 0
    assert ids == (task, file, task, file, file)
    assert opened == (1, 2, 3, 3, 4)
