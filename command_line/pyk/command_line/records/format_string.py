"""Format records as kcat's ``-f`` does. Pure."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from pyk.command_line.records.escapes import unescape

if TYPE_CHECKING:
    from pyk.clients import ConsumerRecord

    Record = ConsumerRecord[bytes | None, bytes | None]
    Token = Callable[[Record], bytes]


def _payload(data: bytes | None) -> bytes:
    return b"" if data is None else data


def _length(data: bytes | None) -> int:
    return -1 if data is None else len(data)


def _headers(record: Record) -> bytes:
    pairs = (
        name.encode() + b"=" + (b"NULL" if value is None else value)
        for name, value in record.headers
    )
    return b",".join(pairs)


TOKENS: dict[str, Token] = {
    "s": lambda record: _payload(record.value),
    "S": lambda record: b"%d" % _length(record.value),
    "R": lambda record: _length(record.value).to_bytes(4, signed=True),
    "k": lambda record: _payload(record.key),
    "K": lambda record: b"%d" % _length(record.key),
    "T": lambda record: b"%d" % record.timestamp,
    "t": lambda record: record.topic.encode(),
    "p": lambda record: b"%d" % record.partition,
    "o": lambda record: b"%d" % record.offset,
    "h": _headers,
}


def compile_format(text: str) -> Callable[[Record], bytes]:
    """Return a function that formats a record; raise ``ValueError`` for an unknown token."""
    parts: list[bytes | Token] = []
    for index, piece in enumerate(text.replace("%%", "\0").split("%")):
        literal = piece
        if index:
            if piece[:1] not in TOKENS:
                known = ", ".join(f"%{name}" for name in TOKENS)
                raise ValueError(f"'%{piece[:1]}' is unknown; there are {known} and %%")
            parts.append(TOKENS[piece[0]])
            literal = piece[1:]
        if literal:
            parts.append(unescape(literal.replace("\0", "%")))

    def formatted(record: Record) -> bytes:
        return b"".join([each if isinstance(each, bytes) else each(record) for each in parts])

    return formatted
