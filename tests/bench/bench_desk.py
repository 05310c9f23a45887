"""A user's host in a network that the test made, and whylate on it."""

from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from network_hosts import Host
from ssh_servers import User


@dataclass(frozen=True)
class Desk:
    """The host, its user, and where whylate keeps its state there."""

    host: Host
    user: User
    state: Path

    def start(self, *words: str, **variables: str) -> subprocess.Popen[str]:
        """Start whylate there, its error stream in its output; the variables are its labgrid's."""
        environment = {name: text for name, text in os.environ.items() if name[:3] != "LG_"}
        environment |= {
            "PATH": f"{self.user.directory}/bin:{os.environ['PATH']}",
            "WHYLATE_RUN": str(self.state),
            **variables,
        }
        return subprocess.Popen(
            [*self.host.enter, sys.executable, "-m", "whylate", *words],
            env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
        )  # fmt: skip

    def run(self, *words: str, **variables: str) -> tuple[int, str]:
        """Run whylate there to its end; return its status and what it printed."""
        with self.start(*words, **variables) as process:
            try:
                text = process.communicate(timeout=120)[0]
            except BaseException:
                process.kill()
                raise
        return process.returncode, text
