"""Files over a worker: to the board in lines that a terminal accepts, back in checked pieces.

To the board, bytes are compressed, written as base64 (as octal escapes where the board has no
base64), and typed in lines, at most WINDOW of them unacknowledged: unread lines wait in the
terminal's buffers, which hold that much and lose the rest. A line that lost characters is rejected
(see worker) and sent again. The board's sha256sum, md5sum or cksum checks the whole.

From the board, a file is read in pieces of PIECE bytes, each with its checksum. A piece that the
kernel's messages have damaged is requested again, in halves.
"""

from __future__ import annotations

import base64
import hashlib
import secrets
import shlex
import time
import zlib
from collections.abc import Callable

from whylate.boards.console.packing import pack
from whylate.boards.console.worker import SILENCE_S, Worker, answer_pattern
from whylate.boards.errors import BoardError

#: Gets how many bytes have arrived, and their total.
Progress = Callable[[int, int], None]

LINE = 3600
WINDOW = 2
PIECE = 8192
SMALLEST_PIECE = 256
PIECE_TRIES = 12
#: The largest output of a command: more would take too long.
MAX_OUTPUT = 8 << 20
#: How often lines are typed again if none is accepted; the timeout doubles each time.
TRIES = 4
WHOLE_TRIES = 3
#: How long a slow board may take to unpack a file.
UNPACK_S = 300.0
#: More would take hours without compression.
MAX_INPUT = 64 << 20

_REVERSED = bytes(int(f"{byte:08b}"[::-1], 2) for byte in range(256))


def posix_cksum(data: bytes) -> int:
    """Return POSIX's CRC-32 as cksum prints it: highest bit first, the length after the data."""
    length = len(data)
    tail = length.to_bytes((length.bit_length() + 7) // 8, "little")
    crc = zlib.crc32((data + tail).translate(_REVERSED), 0xFFFFFFFF)
    return int(f"{crc:032b}"[::-1], 2)


class OutputTooLongError(BoardError):
    """A command printed more than a console can carry."""


class Transfer:
    """Transfers files to and from a board; every method raises BoardError."""

    def __init__(self, worker: Worker) -> None:
        self._worker = worker
        tools = worker.tools
        self._sum = next((tool for tool in ("sha256sum", "md5sum", "cksum") if tool in tools), "")
        self._base64 = "base64" in tools
        if not self._sum:
            raise BoardError("the board has none of sha256sum, md5sum and cksum to check files by")
        if not self._base64 and "od" not in tools:
            raise BoardError("the board has neither base64 nor od to send files with")
        encode = "base64" if self._base64 else "od -An -v -tx1"
        worker.ask(
            'w() { [ "$Q" = "$1" ] && printf "$F" "$2" >>"$D/in" && Q=$((Q+1)); r "$Q"; }; '
            f'g() {{ {self._sum} <"$1" 2>/dev/null | {{ read -r a b; echo "$a"; }}; }}; '
            'p() { dd if="$1" of="$D/k" bs="$2" skip="$3" count=1 2>/dev/null; '
            f'printf "\\n<%s|" "$T"; g "$D/k"; {encode} <"$D/k"; printf "|%s>\\n" "$T"; }}; r ok'
        )

    # -- to the board

    def put(self, data: bytes, path: str, mode: int, progress: Progress | None) -> None:
        """Write a file whole or not at all."""
        part = f"{path}.{secrets.token_hex(4)}.part"
        self._put(data, shlex.quote(path), shlex.quote(part), mode, progress)

    def _put(
        self, data: bytes, target: str, part: str, mode: int, progress: Progress | None
    ) -> None:
        """Write a file; both names are quoted for the board's shell."""
        if len(data) > MAX_INPUT:
            raise BoardError(f"{len(data)} bytes are more than a console can carry")
        packed, unpack = self._pack(data)
        for _ in range(WHOLE_TRIES):
            self._type(packed, len(data), progress)
            decode = f'base64 -d <"$D/in" | {unpack}' if self._base64 else f'{unpack} <"$D/in"'
            # If a timeout repeats the request, the input is gone and must not be unpacked.
            answer = self._worker.ask(
                f'[ -e "$D/in" ] && {{ {decode} >{part}; }} 2>"$D/z"; rm -f "$D/in"; '
                f'r "$(g {part})"',
                UNPACK_S,
            )
            if answer == self._digest(data):
                break
            if not answer:
                # The file cannot be created: typing it again would not help.
                raise BoardError(f"{target} cannot be written on the board{self._complaint()}")
        else:
            self._worker.ask(f"rm -f {part}; r ok")
            raise BoardError(
                f"{target} did not arrive whole in {WHOLE_TRIES} attempts{self._complaint()}: "
                "is the board's memory full, or the line bad?"
            )
        done = self._worker.ask(
            f"{{ [ -e {part} ] && chmod {mode:o} {part} && mv -f {part} {target}; }} "
            f'2>"$D/z"; if [ -e {part} ]; then rm -f {part}; r no; else r ok; fi'
        )
        if done != b"ok":
            raise BoardError(f"{target} cannot be written on the board{self._complaint()}")

    def put_own(self, data: bytes, name: str) -> None:
        """Write a file of the worker's own directory."""
        self._put(data, f'"$D/{name}"', f'"$D/{name}.part"', 0o600, None)

    def _pack(self, data: bytes) -> tuple[bytes, str]:
        """Return the data as it is sent and the command that undoes that."""
        packed, unpack = data, "cat"
        if "xz" in self._worker.tools:
            packed, unpack = pack(data, "xz"), "xz -dc"
        elif "gzip" in self._worker.tools:
            packed, unpack = pack(data, "gzip"), "gzip -dc"
        return (data, "cat") if len(packed) >= len(data) else (packed, unpack)

    def _type(self, data: bytes, size: int, progress: Progress | None) -> None:
        """Fill $D/in line by line; every answer has the number of the next line."""
        worker, listener = self._worker, self._worker.listener
        lines = self._lines(data)
        style = "%s\\n" if self._base64 else "%b"
        worker.ask(f": >\"$D/in\"; Q=0; F='{style}'; r ok")
        token = secrets.token_hex(5)
        pattern = answer_pattern(token)
        accepted = sent = furthest = 0
        silent = 0
        silence_s = SILENCE_S
        listener.clear()
        heard_at = time.monotonic()
        while accepted < len(lines):
            # What a busy board has not read yet still fills its buffers: then send one at a time.
            while sent < min(len(lines), accepted + (1 if silent else WINDOW)):
                worker.request(token, f"w {sent} '{lines[sent]}'")
                sent += 1
            furthest = max(furthest, sent)
            listener.wait(SILENCE_S)
            answers = pattern.findall(listener.without_kernel())
            next_line = max(
                (int(a) for a in answers if a.isdigit() and len(a) <= 8), default=accepted
            )
            # A line sent again may be answered with the number after a later one: the board has
            # both, and only its answers were damaged.
            if accepted < next_line <= furthest:
                accepted, silent, heard_at = next_line, 0, time.monotonic()
                sent = max(sent, accepted)
                silence_s = SILENCE_S
                listener.clear()
                if progress is not None:
                    progress(size * accepted // len(lines), size)
            elif time.monotonic() - heard_at > silence_s:
                silent, heard_at = silent + 1, time.monotonic()
                if silent > TRIES:
                    raise BoardError(
                        "the board accepts no more of the file: is its memory full?"
                        f"{listener.last_words()}"
                    )
                silence_s *= 2
                listener.clear()
                worker.resynchronise()
                sent = accepted
        # Answers to lines that were sent twice may still be on their way.
        listener.clear()

    def _lines(self, data: bytes) -> list[str]:
        if self._base64:
            raw = LINE * 3 // 4
            return [
                base64.b64encode(data[at : at + raw]).decode() for at in range(0, len(data), raw)
            ]
        raw = LINE // 5
        return [
            "".join(chr(b) if chr(b).isalnum() and b < 0x80 else f"\\0{b:03o}" for b in piece)
            for at in range(0, len(data), raw)
            if (piece := data[at : at + raw])
        ]

    # -- from the board

    def get(self, path: str, size: int) -> bytes:
        """Return a file of the worker's own directory, whose size is known."""
        if size > MAX_OUTPUT:
            raise OutputTooLongError(
                f"{size} bytes of output are more than a console can carry: send it to a file"
            )
        out = bytearray()
        piece, failed = PIECE, 0
        while len(out) < size:
            silence_s = SILENCE_S * 2 if failed else SILENCE_S
            data = self._piece(path, piece, len(out) // piece, silence_s)
            if data:
                out += data
                failed = 0
                if len(out) % (2 * piece) == 0 and piece < PIECE:
                    piece *= 2
                continue
            # The kernel prints too often for a piece of this size.
            failed += 1
            piece = max(piece // 2, SMALLEST_PIECE)
            if failed > PIECE_TRIES:
                raise BoardError(
                    f"the console damages the board's output, in {failed} attempts"
                    f"{self._worker.listener.last_words()}"
                )
        if len(out) != size:
            raise BoardError(f"a file changed while it was read over the console: {path}")
        return bytes(out)

    def _piece(self, path: str, size: int, index: int, silence_s: float) -> bytes:
        """Return one of a file's pieces of that size; empty where it was damaged on the way."""
        # One attempt: a piece of this size would often be damaged again.
        answer = self._worker.attempt(f'p "$D/{path}" {size} {index}', silence_s, 60.0)
        if answer is None:
            return b""
        digest, _, text = answer.partition(b"\n")
        try:
            text = b"".join(text.split())
            data = (
                base64.b64decode(text, validate=True)
                if self._base64
                else bytes.fromhex(text.decode("ascii"))
            )
        except ValueError:
            return b""
        return data if digest.strip() == self._digest(data) else b""

    def _digest(self, data: bytes) -> bytes:
        if self._sum == "sha256sum":
            return hashlib.sha256(data).hexdigest().encode()
        if self._sum == "md5sum":
            return hashlib.md5(data, usedforsecurity=False).hexdigest().encode()
        return str(posix_cksum(data)).encode()

    def _complaint(self) -> str:
        """Return the error message of the board's tools as the end of a message."""
        answer = self._worker.ask('r "$(tail -n 1 "$D/z" | tr -cd "[:alnum:][:space:]/.:,_-" )"')
        text = answer.decode("ascii", "replace")[:200]
        return f": {text}" if text else ""
