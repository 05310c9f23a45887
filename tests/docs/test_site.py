"""The site: it builds without a warning, and its reference is in step with the code."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import click
import msgspec
import pytest
from page_blocks import PAGES, ROOT

from docs_reference import DOCUMENTS
from whylate.cli import whylate

LINK = re.compile(r"\]\(([^)#\s]+)(#[^)\s]*)?\)")


def build(source: Path, target: Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "sphinx", "-q", "-W", "--keep-going", "-b", "html"]
    return subprocess.run(
        [*command, str(source), str(target)], check=False, capture_output=True, text=True
    )


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    target = tmp_path_factory.mktemp("site")
    done = build(ROOT / "docs", target)
    assert done.returncode == 0, done.stderr
    return target


def test_broken_links_fail_the_build(tmp_path: Path) -> None:
    copy = tmp_path / "repository" / "docs"
    shutil.copytree(ROOT / "docs", copy)
    (tmp_path / "repository" / "tools").symlink_to(ROOT / "tools")
    with (copy / "index.md").open("a") as page:
        page.write("\n[broken](no-such-page.md) and [broken](how-to/boards.md#no-such-heading)\n")
    done = build(copy, tmp_path / "site")
    assert done.returncode != 0
    # Each is a warning of its own, and nothing else is one.
    warnings = [line for line in done.stderr.splitlines() if "WARNING" in line]
    assert len(warnings) == 2
    for name in ("no-such-page", "no-such-heading"):
        assert sum(name in line for line in warnings) == 1


def test_the_reference_has_every_command_and_option(site: Path) -> None:
    page = (site / "reference" / "generated" / "cli.html").read_text()
    sections = page.split("<section id=")
    for path, command in commands("whylate", whylate):
        anchor = f'"{path.replace(" ", "-")}">'
        section = next((text for text in sections if text.startswith(anchor)), None)
        assert section is not None, path
        for parameter in command.params:
            for option in (*parameter.opts, *parameter.secondary_opts):
                assert not option.startswith("--") or option in section, (path, option)


def commands(path: str, command: click.Command) -> Iterator[tuple[str, click.Command]]:
    yield path, command
    if isinstance(command, click.Group):
        context = click.Context(command)
        for name in command.list_commands(context):
            child = command.get_command(context, name)
            assert child is not None
            yield from commands(f"{path} {name}", child)


def test_the_schemas_are_those_of_the_types(site: Path) -> None:
    assert site.is_dir()
    folder = ROOT / "docs" / "reference" / "generated" / "schemas"
    for name, (_text, kind) in DOCUMENTS.items():
        written = json.loads((folder / f"{Path(name).stem}.schema.json").read_text())
        assert written == json.loads(json.dumps(msgspec.json.schema(kind)))


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_to_files_lead_somewhere(page: Path, site: Path) -> None:
    assert site.is_dir()
    for target, _anchor in LINK.findall(page.read_text()):
        if "://" not in target:
            assert (page.parent / target).exists(), f"{page.name}: {target}"
