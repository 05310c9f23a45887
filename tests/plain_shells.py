"""Sessions of the tests' servers on this machine, without what its user's shells start with."""

from __future__ import annotations

import os
import pwd
import shlex

_START_UP = shlex.quote(f"{pwd.getpwuid(os.geteuid()).pw_dir}/.bashrc")
#: In a mount namespace: what a shell of this user reads as it starts is empty. That may take long,
#: and a shell that is killed meanwhile may leave a lock for which all later ones wait.
PLAIN_SHELLS = f"{{ [ ! -e {_START_UP} ] || mount --bind /dev/null {_START_UP}; }}"
