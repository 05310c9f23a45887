"""Executions as columns of a recording: numbers are float64, places and executions' names text."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from whylate.recording.errors import RecordingError
from whylate.recording.imported.executions.model import (
    COUNTERS,
    MOST_PLACES,
    MOST_TEXT,
    TEXTS,
    Column,
    Executions,
    Texts,
    find_problem,
)

#: The type of a text as it is read: each of its values once.
TEXT_TYPE = "dictionary<values=string, indices=int32, ordered=0>"


def arrow_arrays(executions: Executions) -> dict[str, Any]:
    """Return the columns by name, as Arrow arrays."""
    import pyarrow as pa

    arrays: dict[str, Any] = {}
    for column in executions.columns:
        if column.role in TEXTS:
            texts = executions.texts[column.name]
            names = pa.array(texts.names, pa.string())
            arrays[column.name] = names.take(pa.array(texts.codes))
        else:
            arrays[column.name] = pa.array(executions.numbers[column.name])
    return arrays


def arrow_types(path: Path, columns: Sequence[Column]) -> dict[str, str]:
    """Return the types of columns by name; raises RecordingError for columns that cannot be."""
    names = [column.name for column in columns]
    sound = all(name.isprintable() for name in names) and len(set(names)) == len(names)
    if not sound or not any(column.role in COUNTERS for column in columns):
        raise RecordingError(f"{path} is damaged: its columns are not those of executions")
    if not all(column.unit.isprintable() for column in columns):
        raise RecordingError(f"{path} is damaged: it has characters that cannot be printed")
    return {column.name: TEXT_TYPE if column.role in TEXTS else "double" for column in columns}


def read_columns(
    path: Path, table: Any, columns: Sequence[Column], lacks: tuple[str, ...], tool: str
) -> Executions:
    """Return the executions of an Arrow table of arrow_types(); raises RecordingError."""
    numbers, texts = {}, {}
    for column in columns:
        if column.role in TEXTS:
            texts[column.name] = _texts(path, column, table[column.name])
            continue
        values = table[column.name].to_numpy()
        problem = find_problem(column, values)
        if problem is not None:
            raise RecordingError(f"{path} is damaged: {column.name} {problem[1]}")
        numbers[column.name] = values
    return Executions(tuple(columns), numbers, texts, None, lacks, tool)


def _texts(path: Path, column: Column, values: Any) -> Texts:
    encoded = values.unify_dictionaries().combine_chunks()
    try:
        names = encoded.dictionary.to_pylist()
    except UnicodeDecodeError:
        raise RecordingError(f"{path} is damaged: {column.name} is not UTF-8") from None
    if any(len(name) > MOST_TEXT or not name.isprintable() for name in names):
        raise RecordingError(f"{path} is damaged: {column.name} has a text that no import writes")
    # Names come in the order in which they are first, each once.
    codes, firsts, places = np.unique(
        encoded.indices.to_numpy(), return_index=True, return_inverse=True
    )
    order = np.argsort(firsts)
    kept: dict[str, int] = {}
    numbers = np.empty(codes.size, np.int64)
    for code in order.tolist():
        numbers[code] = kept.setdefault(names[codes[code]], len(kept))
    if column.role == "place" and len(kept) > MOST_PLACES:
        raise RecordingError(f"{path} is damaged: {column.name} has more than {MOST_PLACES} places")
    return Texts(tuple(kept), numbers[places])
