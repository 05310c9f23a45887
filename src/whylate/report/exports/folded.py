"""Call paths of longer executions as folded stacks, which flamegraph.pl and others read."""

from __future__ import annotations

from whylate.recording.manifest import Manifest
from whylate.summary.paths import path_figures
from whylate.text import plain

#: Stands for the callers of executions that have no group of their own.
NO_PATH = "[no path]"


def folded_stacks(manifest: Manifest) -> list[str] | None:
    """Return a line for each path: its functions, the outermost first, and how many took longer.

    The last function is the section. None where no paths were kept.
    """
    workload = manifest.plan.activations
    paths = path_figures(manifest)
    if paths is None or workload is None:
        return None
    lines = []
    for path in paths.paths:
        if path.longer:
            frames = [*reversed(path.callers or [NO_PATH]), workload.subject]
            # A semicolon ends a function.
            names = (plain(frame, 200).replace(";", ":") for frame in frames)
            lines.append(f"{';'.join(names)} {path.longer}")
    return lines
