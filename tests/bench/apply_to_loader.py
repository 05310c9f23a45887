"""The command of --apply for a LoaderBoard: apply_to_loader.py BOOT FILE.

It puts the hybrid's command line into extlinux.conf, but for the word `stubborn`, which this boot
loader never takes; it prints all the same that it took it. It does not take etc/beyond, nor print
that it did.
"""

from __future__ import annotations

import json
import sys
import tarfile
from pathlib import Path

boot, document = Path(sys.argv[1]), json.loads(Path(sys.argv[2]).read_text())
with tarfile.open(document["hybrid"]) as archive:
    for name, target in (("boot/cmdline.txt", "cmdline"), ("etc/count", "count")):
        file = archive.extractfile(name)
        assert file is not None
        (boot / target).write_bytes(file.read())
words = [word for word in (boot / "cmdline").read_text().split() if word != "stubborn"]
conf = f"DEFAULT linux\nLABEL linux\n  LINUX /vmlinuz\n  APPEND {' '.join(words)}\n"
(boot / "extlinux/extlinux.conf").write_text(conf)
for difference in document["chosen"]:
    if difference["target"] != "etc/beyond":
        sys.stdout.write(f"{difference['id']}\n")
