"""Encodings of text files."""

from __future__ import annotations

import codecs
from pathlib import Path

from hedgerow.cli.console import note
from hedgerow.cli.exit_codes import DataError, UsageError
from hedgerow.cli.files.compression import all_bytes, first_bytes, opened

#: Marks at the beginning of a file; longer ones first, because one begins with another.
_MARKS = {
    codecs.BOM_UTF32_LE: "utf-32",
    codecs.BOM_UTF32_BE: "utf-32",
    codecs.BOM_UTF8: "utf-8",
    codecs.BOM_UTF16_LE: "utf-16",
    codecs.BOM_UTF16_BE: "utf-16",
}
_WESTERN = "cp1252"
_BLOCK = 1 << 23
#: Bytes around one that is not UTF-8 which are shown, so that a reader sees whether the guess is right.
_AROUND = 12


def as_utf8(data: bytes | Path, encoding: str | None = None) -> bytes | Path:
    """A file and its encoding, or None to guess -> the file itself if it is UTF-8, else its text as UTF-8."""
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
    """A name that Python knows -> the encoding; UTF-8 with or without a mark."""
    try:
        name = codecs.lookup(encoding).name
        "".encode(name)
    except (LookupError, ValueError):
        raise UsageError(
            f"--encoding must be an encoding of text, such as utf-8, cp1252, utf-16 or cp1250, got {encoding!r}"
        ) from None
    return "utf-8-sig" if name == "utf-8" else name


def _decoded(data: bytes | Path, encoding: str, *, words: bool = False) -> bytes:
    """Bytes in an encoding -> UTF-8."""
    whole = all_bytes(data)
    try:
        text = whole.decode(encoding)
    except UnicodeDecodeError as reason:
        line = whole[: reason.start].count(b"\n") + 1
        raise DataError(
            f"the file must be {encoding}, got byte 0x{whole[reason.start]:02x} in line {line}; give another --encoding"
        ) from None
    if words:
        note(f"note: read as {encoding.upper()}; --encoding names another encoding")
    return text.removeprefix("\ufeff").encode()


def _without_mark(head: bytes) -> str | None:
    """UTF-16 without a mark: every other byte of plain letters is zero."""
    half = len(head) // 2
    if half < 2:
        return None
    even, odd = head[0 : 2 * half : 2].count(0), head[1 : 2 * half : 2].count(0)
    if max(even, odd) < 0.7 * half or min(even, odd) > 0.1 * half:
        return None
    return "utf-16-le" if odd > even else "utf-16-be"


def _is_utf8(data: bytes | Path) -> bool:
    """Whether all of a file is UTF-8; plain letters are recognised without decoding."""
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
    """A file that is not UTF-8 -> read as CP1252, unless parts of it are UTF-8 or it has bytes CP1252 does not have."""
    as_escapes = whole.decode("utf-8", errors="surrogateescape")
    others = [sign for sign in as_escapes if sign > "\x7f"]
    strange = sum("\udc80" <= sign <= "\udcff" for sign in others)
    place = next(number for number, sign in enumerate(as_escapes) if "\udc80" <= sign <= "\udcff")
    line = as_escapes.count("\n", 0, place) + 1
    byte = f"0x{ord(as_escapes[place]) - 0xDC00:02x}"
    try:
        text = whole.decode(_WESTERN)
    except UnicodeDecodeError:
        text = ""
    if not text or 2 * (len(others) - strange) > strange:
        raise DataError(
            f"line {line} must be UTF-8 or CP1252, got the byte {byte}; name the encoding of the file with --encoding,"
            " for example cp1250 or mac-roman, or save it as UTF-8"
        )
    at = next(number for number, sign in enumerate(text) if sign > "\x7f")
    example = text[max(0, at - _AROUND) : at + _AROUND].replace("\r", "\n").split("\n")
    shown = next(part for part in example if any(sign > "\x7f" for sign in part))
    note(f"note: read as CP1252, because it is not UTF-8: {shown!r}; --encoding names another encoding")
    return text.encode()
