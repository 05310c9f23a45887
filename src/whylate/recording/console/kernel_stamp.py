"""The kernel's own time at the beginning of a line of its log: `<6>[   12.345678] text`."""

from __future__ import annotations

import re

#: Its group is the time, in s. The level is there where the log was read and not printed.
KERNEL_STAMP = re.compile(rb"^(?:<\d{1,2}>)?\[ {0,10}(\d{1,10}\.\d{6})\]", re.MULTILINE)
