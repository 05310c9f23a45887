"""Which assembler builds the samples of which workload."""

from __future__ import annotations

from whylate.recording.treatments import ARMING
from whylate.recording.workloads.activations import ActivationWorkload
from whylate.recording.workloads.activations.app import AppAssembler
from whylate.recording.workloads.activations.assembler import ActivationAssembler, Sink
from whylate.recording.workloads.activations.section import SectionAssembler
from whylate.recording.workloads.activations.wakeup import WakeupAssembler
from whylate.recording.workloads.app import App
from whylate.recording.workloads.section import Section
from whylate.recording.workloads.wakeup import Wakeup

_ASSEMBLERS: dict[type[ActivationWorkload], type[ActivationAssembler]] = {
    Wakeup: WakeupAssembler,
    App: AppAssembler,
    Section: SectionAssembler,
}


def activation_assembler(
    workload: ActivationWorkload, sink: Sink, longer: Sink | None = None
) -> ActivationAssembler:
    """Return what builds the samples of a workload."""
    assembler = _ASSEMBLERS[type(workload)](sink, workload.duration_ns)
    assembler.longer_sink = longer
    assembler.has_arms = workload.experiment is not None
    assembler.reads_each = workload.experiment not in ARMING
    return assembler
