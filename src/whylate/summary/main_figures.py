"""What a run that has trials is compared by: one figure of each of its points, or two."""

from __future__ import annotations

from dataclasses import dataclass, replace

from whylate.recording.workloads.command import CPU_TIME, CommandPoint
from whylate.summary.trial_model import PointFigures, TrialsSummary

#: By key: the unit, and whether more of it is better. The first that a point has is its main one.
_UNITS = {
    "value": ("", False),
    "gb_per_s": ("GB/s", True),
    "ns_per_read": ("ns", False),
    "ns_per_switch": ("ns", False),
    "ns_per_call": ("ns", False),
    "wall_s": ("s", False),
    "ns_per_hop": ("ns", False),
}


@dataclass(frozen=True)
class MainFigure:
    """The figure of a point."""

    name: str
    key: str
    value: float
    unit: str
    higher_is_better: bool
    #: What it is a figure of: figures of one name can be compared where this is the same.
    quantity: str


def _of_command(found: MainFigure, point: CommandPoint) -> MainFigure:
    better = "more is better" if point.higher_is_better else "less is better"
    return replace(
        found,
        unit=point.unit,
        higher_is_better=point.higher_is_better,
        quantity=f"what {point.value!r} finds ({point.unit or 'no unit'}, {better})",
    )


def main_figures(summary: TrialsSummary) -> list[MainFigure]:
    """Return what each point is compared by: of a command that is timed its CPU time too."""
    found = []
    for one in summary.points:
        main = main_figure(one)
        if main is not None:
            found.append(main)
        if main is not None and main.key == "wall_s" and "cpu_s" in one.figures:
            cpu_s = one.figures["cpu_s"].value
            found.append(MainFigure(CPU_TIME, "cpu_s", cpu_s, "s", False, "cpu_s"))
    return found


def main_figure(one: PointFigures) -> MainFigure | None:
    """Return the figure that a point is compared by; None where it was refused."""
    for key, (unit, higher_is_better) in _UNITS.items():
        if key in one.figures:
            value = one.figures[key].value
            found = MainFigure(one.name, key, value, unit, higher_is_better, key)
            if key == "value" and isinstance(one.point, CommandPoint):
                return _of_command(found, one.point)
            return found
    return None
