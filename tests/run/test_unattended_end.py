"""The end of a run in virtual time: what was measured is kept, whatever the user wants."""

from __future__ import annotations

from pathlib import Path

import pytest

from whylate import __version__
from whylate.boards.local import LocalBoard
from whylate.boards.streams.process import ProcessStream
from whylate.probe.client import Client
from whylate.probe.errors import ProbeRefusedError
from whylate.run.progress import Quiet
from whylate.run.unattended import Script, _Reader
from whylate.wire.messages import Finish, Hello, Pause


def script() -> Script:
    planned = Script()
    planned.add(Hello(__version__), planned.facts)
    # Its answer is not there yet when it is first asked for.
    planned.add(Pause(700), planned.after)
    planned.add(Finish(), planned.logs)
    return planned


@pytest.mark.parametrize("measured", [True, False])
def test_whoever_ends_a_run_that_has_measured_gets_all_of_it(
    measured: bool, tmp_path: Path
) -> None:
    planned = script()
    plan = tmp_path / "plan"
    plan.write_bytes(planned.frames)
    stream = ProcessStream([str(LocalBoard().binary.path), "--plan", str(plan)])
    try:
        reader = _Reader(Client(stream), Quiet(), lambda: True)
        reader.measured = measured
        if measured:
            reader.answers(planned.after)
            reader.answers(planned.logs)
        else:
            with pytest.raises(ProbeRefusedError, match="ended the run before the measurement"):
                reader.answers(planned.after)
    finally:
        stream.close()
