"""Encodings of text files."""

from __future__ import annotations

import codecs
from pathlib import Path

from hedgerow.cli.console import note
from hedgerow.cli.exit_codes import DataError, UsageError
from hedgerow.cli.files.compression import all_bytes, first_bytes, opened

#: Byte-order marks, longer ones first, because UTF-32 marks begin with UTF-16 marks.
_MARKS = {
    codecs.BOM_UTF32_LE: "utf-32",
    codecs.BOM_UTF32_BE: "utf-32",
    codecs.BOM_UTF8: "utf-8",
    codecs.BOM_UTF16_LE: "utf-16",
    codecs.BOM_UTF16_BE: "utf-16",
}
_WESTERN = "cp1252"
_BLOCK = 1 << 23
#: Bytes shown on both sides of a byte that is not UTF-8, to let users check the detected encoding.
_AROUND = 12


def as_utf8(data: bytes | Path, encoding: str | None = None) -> bytes | Path:
    """Convert a file to UTF-8 from `encoding`, or from the detected one with None."""
    if encoding is not None:
        return _decoded(data, _known(encoding))
    head = first_bytes(data, 1000)
    for mark, name in _MARKS.items():
        if head.startswith(mark):
            return data if name == "utf-8" else _decoded(data, name, words=True)
    if guessed := _without_mark(head):
        return _decoded(data, guessed, words=True)
    return data if _is_utf8(data) else _from_western(all_bytes(data))


def _known(encoding: str) -> str:
    """Return the canonical name of an encoding; UTF-8 may have a byte-order mark."""
    try:
        name = codecs.lookup(encoding).name
        "".encode(name)
    except (LookupError, ValueError):
        raise UsageError(
            f"--encoding must be a text encoding such as utf-8, cp1252, utf-16 or cp1250, got {encoding!r}."
        ) from None
    return "utf-8-sig" if name == "utf-8" else name


def _decoded(data: bytes | Path, encoding: str, *, words: bool = False) -> bytes:
    """Convert bytes to UTF-8."""
    whole = all_bytes(data)
    try:
        text = whole.decode(encoding)
    except UnicodeDecodeError as reason:
        line = whole[: reason.start].count(b"\n") + 1
        raise DataError(
            f"line {line}: not {encoding} (byte 0x{whole[reason.start]:02x}). Use another --encoding."
        ) from None
    if words:
        note(f"note: Encoding detected: {encoding.upper()}. --encoding selects another.")
    return text.removeprefix("\ufeff").encode()


def _without_mark(head: bytes) -> str | None:
    """Detect UTF-16 without a byte-order mark by the zero bytes of ASCII characters."""
    half = len(head) // 2
    if half < 2:
        return None
    even, odd = head[0 : 2 * half : 2].count(0), head[1 : 2 * half : 2].count(0)
    if max(even, odd) < 0.7 * half or min(even, odd) > 0.1 * half:
        return None
    return "utf-16-le" if odd > even else "utf-16-be"


def _is_utf8(data: bytes | Path) -> bool:
    """Test whether a file is UTF-8; ASCII blocks are not decoded."""
    decoder = codecs.getincrementaldecoder("utf-8")()
    with opened(data) as file:
        try:
            while block := file.read(_BLOCK):
                if not block.isascii() or decoder.getstate()[0]:
                    decoder.decode(block)
            decoder.decode(b"", final=True)
        except UnicodeDecodeError:
            return False
    return True


def _from_western(whole: bytes) -> bytes:
    """Convert a file from CP1252, unless it is partly UTF-8 or has undefined bytes."""
    as_escapes = whole.decode("utf-8", errors="surrogateescape")
    others = [sign for sign in as_escapes if sign > "\x7f"]
    undecoded = sum("\udc80" <= sign <= "\udcff" for sign in others)
    place = next(number for number, sign in enumerate(as_escapes) if "\udc80" <= sign <= "\udcff")
    line = as_escapes.count("\n", 0, place) + 1
    byte = f"0x{ord(as_escapes[place]) - 0xDC00:02x}"
    try:
        text = whole.decode(_WESTERN)
    except UnicodeDecodeError:
        text = ""
    if not text or 2 * (len(others) - undecoded) > undecoded:
        raise DataError(
            f"line {line}: neither UTF-8 nor CP1252 (byte {byte}). Add --encoding, such as cp1250 or mac-roman, or save"
            " the file as UTF-8."
        )
    at = next(number for number, sign in enumerate(text) if sign > "\x7f")
    example = text[max(0, at - _AROUND) : at + _AROUND].replace("\r", "\n").split("\n")
    shown = next(part for part in example if any(sign > "\x7f" for sign in part))
    note(f"note: Encoding detected: CP1252, because of {shown!r}. --encoding selects another.")
    return text.encode()
