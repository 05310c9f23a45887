"""What is done to executions of a section in an experiment."""

from __future__ import annotations

from typing import Literal

#: Treatments of an execution: what is read before it, its code is flushed, or what is walked
#: over before it (other code, other pages).
Treatment = Literal["prefetch", "cold", "flush", "code", "tlb"]
#: Those after which the next execution is of an arm.
ARMING: tuple[Treatment, ...] = ("flush", "code", "tlb")
