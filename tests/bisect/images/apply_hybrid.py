"""Brings a hybrid onto "a board", as the command of --apply: unpacks it where its program looks.

Usage: apply_hybrid.py DIRECTORY FILE. It takes all but the file etc/stubborn, and refuses a hybrid
with one of two libraries alone.
"""

from __future__ import annotations

import json
import sys
import tarfile
from pathlib import Path

directory, document = Path(sys.argv[1]), json.loads(Path(sys.argv[2]).read_text())
with tarfile.open(document["hybrid"]) as archive:
    files = {member.name: archive.extractfile(member) for member in archive if member.isreg()}
    held = {name: file.read() for name, file in files.items() if file is not None}
if held["lib/one"] != held["lib/other"]:
    sys.exit("the libraries do not run together")
for name, content in held.items():
    (directory / name.replace("/", "-")).write_bytes(content)
for difference in document["chosen"]:
    if difference["target"] != "etc/stubborn":
        sys.stdout.write(f"{difference['id']}\n")
