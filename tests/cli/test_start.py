"""What takes long to import is imported where it is used: most verbs start without it."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

#: Of a board with a fault, and nothing predicted beside it.
RECORDING = Path(__file__).parent.parent / "predict" / "data" / "pc-irqs-off"
SLOW = ("scipy.optimize", "scipy.stats", "scipy.linalg", "labgrid", "whylate.predict.score")


def test_a_recording_is_shown_without_what_takes_long_to_import(tmp_path: Path) -> None:
    shutil.copytree(RECORDING, tmp_path / "run")
    program = (
        "import sys\n"
        "from whylate.cli import main\n"
        f"sys.argv = ['whylate', 'report', {str(tmp_path / 'run')!r}]\n"
        "try:\n"
        "    main()\n"
        "finally:\n"
        f"    loaded = [name for name in {SLOW!r} if name in sys.modules]\n"
        "    print('loaded:', *loaded)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=False, timeout=120
    )
    assert "trust" in done.stdout, done.stderr
    assert done.stdout.splitlines()[-1] == "loaded:"
