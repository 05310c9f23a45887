"""The git program: run without a shell, for a bounded time, with a bounded output."""

from __future__ import annotations

import os
import re
import subprocess
import tempfile
from collections.abc import Sequence
from pathlib import Path

#: A commit's line in a list takes some hundred bytes; more commits than fit are refused.
MAX_OUTPUT = 64 << 20
_SECONDS = 120.0
_MAX_NAME = 250
_COMMIT = re.compile(r"[0-9a-f]{40}|[0-9a-f]{64}")


class GitError(Exception):
    """A repository cannot be read, or has no such commit; the text is one line."""


def run_git(repository: Path, arguments: Sequence[str]) -> str:
    """Return what `git` prints with these arguments in a repository.

    Nothing of the user's environment moves it to another repository, and it asks nothing. Raises
    GitError if it fails, takes long or prints more than MAX_OUTPUT bytes.
    """
    environment = {name: text for name, text in os.environ.items() if not name.startswith("GIT_")}
    environment |= {"LC_ALL": "C", "GIT_TERMINAL_PROMPT": "0", "GIT_OPTIONAL_LOCKS": "0"}
    command = ["git", "-C", str(repository), "--no-pager", "--no-replace-objects", *arguments]
    with tempfile.TemporaryFile() as output:
        try:
            done = subprocess.run(
                command,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.PIPE,
                timeout=_SECONDS,
                env=environment,
                check=False,
            )
        except FileNotFoundError:
            raise GitError("git is missing: install it (Debian: apt install git)") from None
        except subprocess.TimeoutExpired:
            raise GitError(f"git {arguments[0]} took more than {_SECONDS:.0f} s") from None
        except (OSError, ValueError) as error:
            raise GitError(f"git cannot be run: {error}") from None
        if done.returncode:
            reason = done.stderr.decode(errors="replace").strip().splitlines()
            first = _printable(reason[0]) if reason else f"exit status {done.returncode}"
            raise GitError(f"git {arguments[0]} failed in {repository}: {first}")
        if output.tell() > MAX_OUTPUT:
            raise GitError(f"git {arguments[0]} printed more than {MAX_OUTPUT >> 20} MiB")
        output.seek(0)
        return output.read().decode(errors="replace")


def resolve_commit(repository: Path, name: str) -> str:
    """Return the full hash of a commit that a user names: a hash, a tag, a branch, `HEAD~3`.

    Raises GitError for a name that is none of a commit there.
    """
    if not name or len(name) > _MAX_NAME or name.startswith("-") or not name.isprintable():
        raise GitError(f"{_printable(name)!r} is no name of a commit")
    try:
        text = run_git(
            repository, ["rev-parse", "--verify", "--end-of-options", f"{name}^{{commit}}"]
        )
    except GitError as error:
        raise GitError(f"{name!r} names no commit: {error}") from None
    return check_commit(text.strip())


def check_commit(text: str) -> str:
    """Return a full hash as it is; raises GitError for anything else."""
    if not _COMMIT.fullmatch(text):
        raise GitError(f"git printed {_printable(text)!r} where the hash of a commit must be")
    return text


def _printable(text: str) -> str:
    return "".join(c if c.isprintable() else "\N{REPLACEMENT CHARACTER}" for c in text[:_MAX_NAME])
