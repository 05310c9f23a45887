"""Files that are written whole, and locks."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from whylate.files import (
    check_new_path,
    create_file,
    read_bounded,
    read_end,
    try_lock,
    whole_directory,
    whole_file,
    write_whole,
)


def names(directory: Path) -> list[str]:
    return sorted(path.name for path in directory.iterdir())


@pytest.mark.parametrize("concurrent", [False, True])
def test_a_file_that_fails_leaves_the_former_one_and_nothing_else(
    tmp_path: Path, concurrent: bool
) -> None:
    path = tmp_path / "file"
    write_whole(path, b"old")

    def write_half() -> None:
        with whole_file(path, concurrent=concurrent) as file:
            file.write(b"half")
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        write_half()
    assert path.read_bytes() == b"old"
    assert names(tmp_path) == ["file"]


def test_what_a_killed_writer_left_is_replaced(tmp_path: Path) -> None:
    (tmp_path / "file.partial").write_bytes(b"left")
    with whole_file(tmp_path / "file") as file:
        file.write(b"new")
    assert (tmp_path / "file").read_bytes() == b"new"
    assert names(tmp_path) == ["file"]


def test_a_link_is_replaced_and_not_followed(tmp_path: Path) -> None:
    (tmp_path / "target").write_bytes(b"mine")
    (tmp_path / "link").symlink_to(tmp_path / "target")
    with create_file(tmp_path / "link") as file:
        file.write(b"ours")
    assert (tmp_path / "target").read_bytes() == b"mine"
    assert (tmp_path / "link").read_bytes() == b"ours"


def test_a_directory_appears_with_its_content_or_not_at_all(tmp_path: Path) -> None:
    with whole_directory(tmp_path / "a" / "b") as directory:
        (directory / "file").touch()
        assert not (tmp_path / "a" / "b").exists()
    assert names(tmp_path / "a" / "b") == ["file"]
    with pytest.raises(OSError, match="full"), whole_directory(tmp_path / "a" / "c"):
        raise OSError("full")
    assert names(tmp_path / "a") == ["b"]


def test_a_lock_is_of_one_file_description_until_it_is_closed(tmp_path: Path) -> None:
    first, second = (os.open(tmp_path / "lock", os.O_RDWR | os.O_CREAT) for _ in range(2))
    try:
        assert try_lock(first)
        assert not try_lock(second)
        assert not try_lock(second, shared=True)
        os.close(first)
        assert try_lock(second, shared=True)
    finally:
        os.close(second)


def test_a_file_is_read_up_to_its_bound_and_not_beyond(tmp_path: Path) -> None:
    file = tmp_path / "f"
    file.write_bytes(b"x" * 100)
    assert read_bounded(file, 100) == b"x" * 100
    with pytest.raises(OSError, match="up to 0 KiB are read"):
        read_bounded(file, 99)
    with pytest.raises(OSError, match="up to 1 MiB are read"):
        read_bounded(Path("/dev/zero"), 1 << 20)
    with pytest.raises(OSError, match="no file has such a name"):
        read_bounded(tmp_path / "a\0b", 10)
    assert read_end(file, 10) == b"x" * 10
    assert read_end(file, 1000) == b"x" * 100


def test_a_name_below_a_loop_of_links_is_no_new_name(tmp_path: Path) -> None:
    (tmp_path / "loop").symlink_to("loop")
    check_new_path(tmp_path / "new" / "deep" / "name")
    with pytest.raises(OSError, match="symbolic links"):
        check_new_path(tmp_path / "loop" / "name")
