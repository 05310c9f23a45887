"""Data is compressed once for all boots, and a cache of any state changes nothing else."""

from __future__ import annotations

import gzip
import lzma
import os
import random
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from console_line import Line, opened

from whylate.boards.console import packing
from whylate.boards.console.packing import SMALLEST_KEPT, pack

DATA = bytes(random.Random(1).choices(range(16), k=SMALLEST_KEPT))
OTHER = DATA[::-1]


class Compressions:
    """Counts what is compressed."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.count = 0
        self._compress: Callable[..., bytes] = lzma.compress
        monkeypatch.setattr(lzma, "compress", self._counted)

    def _counted(self, *words: object, **more: object) -> bytes:
        self.count += 1
        return self._compress(*words, **more)


@pytest.fixture
def compressions(monkeypatch: pytest.MonkeyPatch) -> Compressions:
    return Compressions(monkeypatch)


@pytest.fixture(autouse=True)
def directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The directory of kept files, which is not there yet."""
    monkeypatch.setenv("WHYLATE_LAB", str(tmp_path / "lab"))
    return tmp_path / "lab" / "packed"


def kept(directory: Path) -> Path:
    """Keep DATA; return its file."""
    pack(DATA, "xz")
    (path,) = directory.iterdir()
    return path


def test_data_is_compressed_once(compressions: Compressions, directory: Path) -> None:
    first = pack(DATA, "xz")
    assert lzma.decompress(first) == DATA
    assert pack(DATA, "xz") == first
    assert compressions.count == 1
    assert pack(OTHER, "xz") != first
    assert compressions.count == 2
    assert len(list(directory.iterdir())) == 2
    assert directory.stat().st_mode & 0o077 == 0, "it may be a user's own file"


def test_other_parameters_are_another_file(
    compressions: Compressions, directory: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pack(DATA, "xz")
    monkeypatch.setattr(packing, "_FILTERS", [{"id": lzma.FILTER_LZMA2, "preset": 1}])
    pack(DATA, "xz")
    assert compressions.count == 2
    assert len(list(directory.iterdir())) == 2


def damaged(packed: bytes) -> bytes:
    middle = len(packed) // 2
    return packed[:middle] + bytes([packed[middle] ^ 1]) + packed[middle + 1 :]


def of_more_memory(packed: bytes) -> bytes:
    filters = [{"id": lzma.FILTER_LZMA2, "preset": 9, "dict_size": 64 << 20}]
    return lzma.compress(lzma.decompress(packed), check=lzma.CHECK_CRC32, filters=filters)


@pytest.mark.parametrize(
    "change",
    [
        damaged,
        of_more_memory,
        lambda packed: packed[:-1],
        lambda packed: packed[: len(packed) // 2],
        lambda packed: packed + b"more",
        lambda _: b"",
        lambda _: b"no xz at all",
        lambda packed: lzma.compress(lzma.decompress(packed)[::-1], check=lzma.CHECK_CRC32),
        lambda _: lzma.compress(bytes(100 << 20), preset=0),
        lambda packed: lzma.compress(lzma.decompress(packed), check=lzma.CHECK_SHA256, preset=0),
    ],
    ids=["damaged", "memory", "cut", "half", "more", "empty", "text", "other", "huge", "check"],
)
def test_a_file_that_is_not_as_it_was_written_is_replaced(
    change: Callable[[bytes], bytes], directory: Path, request: pytest.FixtureRequest
) -> None:
    path = kept(directory)
    packed = path.read_bytes()
    path.write_bytes(change(packed))
    compressions: Compressions = request.getfixturevalue("compressions")
    for _ in range(2):
        assert pack(DATA, "xz") == packed
        assert path.read_bytes() == packed
    assert compressions.count == 1


@pytest.mark.parametrize("kind", ["link", "pipe", "directory"])
def test_only_a_regular_file_is_read_and_replaced(
    kind: str, directory: Path, tmp_path: Path
) -> None:
    path = kept(directory)
    packed = path.read_bytes()
    target = tmp_path / "target"
    target.write_bytes(b"somebody's")
    path.unlink()
    if kind == "link":
        path.symlink_to(target)
    elif kind == "pipe":
        os.mkfifo(path)
    else:
        path.mkdir()
    mode = path.lstat().st_mode
    assert pack(DATA, "xz") == packed
    assert path.lstat().st_mode == mode
    assert target.read_bytes() == b"somebody's"


def test_a_directory_that_cannot_be_made_does_not_matter(
    compressions: Compressions, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").write_bytes(b"")
    for place in ("file", "file/lab"):
        monkeypatch.setenv("WHYLATE_LAB", str(tmp_path / place))
        assert lzma.decompress(pack(DATA, "xz")) == DATA
    assert compressions.count == 2
    assert (tmp_path / "file").read_bytes() == b""


def test_a_user_without_a_home_has_no_cache(monkeypatch: pytest.MonkeyPatch) -> None:
    def homeless() -> Path:
        raise RuntimeError("Could not determine home directory.")

    monkeypatch.setattr(packing, "cache_directory", homeless)
    assert lzma.decompress(pack(DATA, "xz")) == DATA


def test_small_data_is_not_kept(compressions: Compressions, directory: Path) -> None:
    small = DATA[:-1]
    assert pack(small, "xz") == pack(small, "xz")
    assert compressions.count == 2
    assert not directory.exists()


def test_data_for_gzip_is_not_kept(directory: Path) -> None:
    assert gzip.decompress(pack(DATA, "gzip")) == DATA
    assert not directory.exists()


def test_the_least_recently_used_files_are_removed(
    compressions: Compressions, directory: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = kept(directory)
    # Room for two of these, and for no third.
    monkeypatch.setattr(packing, "LIMIT_BYTES", path.stat().st_size * 5 // 2)
    pack(OTHER, "xz")
    (other,) = set(directory.iterdir()) - {path}
    killed = directory / f"{path.name}.0123abcd.partial"
    killed.write_bytes(b"killed")
    strange = directory / "strange"
    strange.write_bytes(bytes(1 << 20))
    # Both are old, and the first is used again.
    for number, old in enumerate((killed, strange, path, other)):
        os.utime(old, (number, number))
    pack(DATA, "xz")
    assert compressions.count == 2
    third = DATA[1:] + DATA[:1]
    pack(third, "xz")
    left = set(directory.iterdir())
    assert path in left, "it was used"
    assert other not in left
    assert killed not in left
    assert strange in left, "it is nobody's whom this cache knows"
    assert len(left) == 3
    pack(third, "xz")
    pack(DATA, "xz")
    assert compressions.count == 3


def test_a_file_is_sent_again_without_compressing_it(
    compressions: Compressions, one_line: Line, tmp_path: Path
) -> None:
    if shutil.which("xz") is None:
        pytest.skip("xz is not here")
    with opened(one_line) as shell:
        for name in ("first", "second"):
            shell.put(DATA, str(tmp_path / name))
            assert (tmp_path / name).read_bytes() == DATA
    assert compressions.count == 1
