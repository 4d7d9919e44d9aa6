"""How the input of ``pyk produce`` is divided into records."""

from __future__ import annotations

import io

import pytest

from pyk.command_line.work.producing import pieces_of


class InParts(io.RawIOBase):
    """A pipe, from which parts come one after the other."""

    def __init__(self, *parts: bytes) -> None:
        self.parts = list(parts)

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: memoryview) -> int:
        part = self.parts.pop(0) if self.parts else b""
        buffer[: len(part)] = part
        return len(part)


@pytest.mark.parametrize(
    ("parts", "delimiter", "pieces"),
    [
        ([], b";", []),
        ([b"a;b;"], b";", [b"a", b"b"]),
        ([b"a;", b"b;c"], b";", [b"a", b"b", b"c"]),
        ([b";;"], b";", [b"", b""]),
        ([b"a", b"b", b"c;d"], b";", [b"abc", b"d"]),
        ([b"a<", b"-", b">b<-", b">"], b"<->", [b"a", b"b"]),
        ([b"a<-", b"<->b"], b"<->", [b"a<-", b"b"]),
        ([b"abcd"], b";", [b"abcd"]),
    ],
)
def test_a_record_ends_at_its_delimiter(
    parts: list[bytes], delimiter: bytes, pieces: list[bytes]
) -> None:
    assert list(pieces_of(io.BufferedReader(InParts(*parts)), delimiter)) == pieces


@pytest.mark.parametrize("delimiter", [b"\n", b";"])
def test_a_record_is_there_before_the_next_one_comes(delimiter: bytes) -> None:
    pipe = InParts(b"a" + delimiter, b"b" + delimiter)

    assert next(pieces_of(io.BufferedReader(pipe), delimiter)) == b"a"
    assert pipe.parts == [b"b" + delimiter]


def test_input_without_delimiters_does_not_fill_the_memory() -> None:
    zeros = io.BufferedReader(InParts(*[bytes(100)] * 1_000))

    with pytest.raises(ValueError, match="no delimiter follows"):
        list(pieces_of(zeros, b"\n", longest=10_000))
