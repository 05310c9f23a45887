"""What is done to executions of a section in an experiment."""

from __future__ import annotations

from typing import Literal

#: What is read before executions that are treated, or that their code is flushed, or what is walked
#: over: other code, or other pages.
Treatment = Literal["prefetch", "cold", "flush", "code", "tlb"]
#: Those after which the next execution is of an arm.
ARMING: tuple[Treatment, ...] = ("flush", "code", "tlb")
