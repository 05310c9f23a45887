"""Files that are no text: what they are, and the command that makes text of them."""

from __future__ import annotations

#: How files begin; {0}: the file's name.
_BEGINNINGS = (
    (b"\x17\x08Dtracing", ("a binary trace.dat: `trace-cmd report -t {0} > t.txt`, then `whylate "
                          "explain --import t.txt`")),
    (b"PERFILE2", ("a binary perf.data: `perf sched timehist -i {0}` for delays, or `perf script "
                  "--ns -i {0} > t.txt`, then `whylate explain --import t.txt`")),
    (b"\x1f\x8b", "compressed: `zcat {0} > FILE` first"),
    (b"\xfd7zXZ", "compressed: `xzcat {0} > FILE` first"),
    (b"\x28\xb5\x2f\xfd", "compressed: `zstdcat {0} > FILE` first"),
    (b"BZh", "compressed: `bzcat {0} > FILE` first"),
    (b"\x04\x22\x4d\x18", "compressed: `lz4cat {0} > FILE` first"),
    (b"PK\x03\x04", "an archive or a spreadsheet: save its table as CSV first"),
    (b"PAR1", "a Parquet file: `whylate compare` takes the directory of a recording"),
    (b"SQLite format 3\0", "a database of SQLite: `sqlite3 -csv {0} 'select …' > FILE` first"),
    (b"%PDF-", "a PDF: `pdftotext -layout {0} FILE` first"),
    (b"\x7fELF", "a program: `whylate bench cmd -- {0}` times it"),
    (b"\xff\xfe", "text in UTF-16: `iconv -f UTF-16 -t UTF-8 {0} > FILE` first"),
    (b"\xfe\xff", "text in UTF-16: `iconv -f UTF-16 -t UTF-8 {0} > FILE` first"),
)  # fmt: skip
#: Bytes by which it is known; text has no more zeros, and no more other bytes that are not sent to
#: a terminal, than these parts of them.
BEGINNING = 4096
_ZEROS = 0.1
_OTHERS = 0.05
_OTHER = bytes(byte for byte in range(1, 32) if byte not in b"\a\b\t\n\v\f\r\x1b")


def what_binary(beginning: bytes) -> str | None:
    """Return what a file is that begins so, with {0} for its name; None: text."""
    for magic, what in _BEGINNINGS:
        if beginning.startswith(magic):
            return what
    others = len(beginning) - len(beginning.translate(None, _OTHER))
    if others > _OTHERS * len(beginning):
        return "no text"
    if beginning.count(0) <= _ZEROS * len(beginning):
        return None
    for first, name in ((1, "UTF-16LE"), (0, "UTF-16BE")):
        # Of Latin text one byte of two is zero, and it is always the same one.
        zeros = beginning[first::2].count(0)
        if zeros > 0.5 * len(beginning[first::2]) and not beginning[1 - first :: 2].count(0):
            return f"text in UTF-16: `iconv -f {name} -t UTF-8 {{0}} > FILE` first"
    return "no text"
