"""Write the reference pages that come from the code: the command line and the JSON schemas.

docs/conf.py calls this at each build. The pages go to docs/reference/generated, which git ignores.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click
import msgspec

from whylate.cli import whylate
from whylate.predict.forecast import Forecast
from whylate.recording.manifest import Manifest
from whylate.soak.comparison import ComparisonPlan, ComparisonSummary
from whylate.soak.model import Cycle, SoakPlan
from whylate.soak.summary import SoakSummary
from whylate.study.model import FinishedRun, StudyPlan

#: File that holds such an object, what it is, and its type.
DOCUMENTS: dict[str, tuple[str, type[msgspec.Struct]]] = {
    "manifest.json": ("A recording: the plan, the sample accounting, the facts.", Manifest),
    "study.json": ("A study's plan, as `whylate study run` resolved it.", StudyPlan),
    "runs.jsonl": ("One line of a study's journal: one run.", FinishedRun),
    "forecasts.jsonl": ("One line of a recording's forecasts: one forecast.", Forecast),
    "soak.json": ("A soak's plan.", SoakPlan),
    "cycles.jsonl": ("One line of a soak's journal: one power cycle.", Cycle),
    "compare.json": ("A comparison of two soaks: its plan.", ComparisonPlan),
    "comparison-summary.json": (
        "The output of `whylate board soak --compare A B --json`, in part.",
        ComparisonSummary,
    ),
    "soak-summary.json": ("The output of `whylate board soak --json`, in part.", SoakSummary),
}
WIDTH = 90


def write_reference(folder: Path) -> None:
    """Write cli.md, schemas.md and one JSON schema per document into `folder`."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "cli.md").write_text("\n".join(_cli_lines()) + "\n")
    schemas = folder / "schemas"
    schemas.mkdir(exist_ok=True)
    for name, (_text, kind) in DOCUMENTS.items():
        text = json.dumps(msgspec.json.schema(kind), indent=2) + "\n"
        (schemas / f"{Path(name).stem}.schema.json").write_text(text)
    (folder / "schemas.md").write_text("\n".join(_schema_lines()) + "\n")


def list_commands(
    command: click.Command = whylate, parent: click.Context | None = None
) -> Iterator[click.Context]:
    """Yield a context for the command and for each command below it, in the order of --help."""
    name = "whylate" if parent is None else command.name
    context = click.Context(
        command, info_name=name, parent=parent, terminal_width=WIDTH, max_content_width=WIDTH
    )
    yield context
    if isinstance(command, click.Group):
        for child in command.list_commands(context):
            subcommand = command.get_command(context, child)
            if subcommand is not None:
                subcommand.name = child
                yield from list_commands(subcommand, context)


def _cli_lines() -> Iterator[str]:
    yield "# Command line"
    yield ""
    yield "Generated from the program: each section is what `--help` prints."
    for context in list_commands():
        yield ""
        yield f"## {context.command_path}"
        yield ""
        yield "```text"
        yield context.get_help()
        yield "```"


def _schema_lines() -> Iterator[str]:
    yield "# JSON schemas"
    yield ""
    yield "Generated from the types that read and write the files. A field with a default may be"
    yield "absent. The recording format is explained in [Recording](../recording.md)."
    for name, (text, kind) in DOCUMENTS.items():
        schema = msgspec.json.schema(kind)
        yield ""
        yield f"## {name}"
        yield ""
        yield f"{text} {{download}}`JSON schema <schemas/{Path(name).stem}.schema.json>`"
        for title, part in schema["$defs"].items():
            if "properties" not in part:
                continue
            yield ""
            yield f"### {title} ({name})"
            yield ""
            yield "| field | type | default |"
            yield "|---|---|---|"
            required = set(part.get("required", ()))
            for field, value in part["properties"].items():
                default = (
                    "required" if field in required else f"`{json.dumps(value.get('default'))}`"
                )
                yield f"| `{field}` | {_type(value)} | {default} |"


def _type(schema: dict[str, Any]) -> str:
    if "$ref" in schema:
        return f"`{schema['$ref'].rpartition('/')[2]}`"
    if "anyOf" in schema:
        return " or ".join(dict.fromkeys(_type(option) for option in schema["anyOf"]))
    if "enum" in schema:
        return ", ".join(f"`{json.dumps(value)}`" for value in schema["enum"])
    if schema.get("type") == "array":
        items = schema.get("items")
        return f"array of {_type(items)}" if items else "array"
    if schema.get("type") == "object":
        values = schema.get("additionalProperties")
        return f"object of {_type(values)}" if isinstance(values, dict) else "object"
    return str(schema.get("type", "any"))
