"""Which parts of the environment a study changes on purpose, by the knobs of its variants."""

from __future__ import annotations

from collections.abc import Sequence

from whylate.compare.environment import CLOCK, COMMAND_LINE, KERNEL, TEMPERATURE
from whylate.run.knobs.files import FILES
from whylate.run.knobs.host_files import BOOT_FILES, IMAGE
from whylate.study.model import StudyPlan

#: Files by which the clock of the CPUs is set.
_CLOCK_FILES = ("/cpufreq/", "/intel_pstate/", "/amd_pstate/")
#: Knobs that boot another kernel, or the same one otherwise.
_OTHER_KERNEL = (*BOOT_FILES, IMAGE)
_ARGUMENT = "cmdline:"


def studied_by(plan: StudyPlan, variants: Sequence[str]) -> frozenset[str]:
    """Return the parts of the environment that knobs of these variants set.

    A clock that another knob changes, as a load or an idle state does, is no part of what is
    studied: it is reported.
    """
    knobs = {
        knob for variant in plan.variants if variant.name in variants for knob in variant.knobs
    }
    parts: set[str] = set()
    for knob in knobs:
        if any(part in FILES.get(knob, knob) for part in _CLOCK_FILES):
            parts |= {CLOCK, TEMPERATURE}
        if knob in _OTHER_KERNEL:
            parts |= {KERNEL, COMMAND_LINE}
        if knob.startswith(_ARGUMENT):
            parts.add(COMMAND_LINE)
    return frozenset(parts)
