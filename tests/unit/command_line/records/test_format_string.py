from __future__ import annotations

from typing import Any

import pytest

from pyk.clients import ConsumerRecord
from pyk.command_line.records.escapes import unescape
from pyk.command_line.records.format_string import compile_format


def record(**fields: Any) -> Any:
    given: dict[str, Any] = {
        "timestamp": 1_700_000_000_000, "key": b"k1", "value": b"hello",
        "headers": (("a", b"1"), ("b", None)),
    }  # fmt: skip
    return ConsumerRecord("orders", 2, 42, **{**given, **fields})


@pytest.mark.parametrize(
    ("text", "formatted"),
    [
        ("%s\\n", b"hello\n"),
        ("%k:%s", b"k1:hello"),
        ("%t/%p@%o", b"orders/2@42"),
        ("%T", b"1700000000000"),
        ("%h", b"a=1,b=NULL"),
        ("%K %S", b"2 5"),
        ("%R%s", b"\0\0\0\x05hello"),
        ("100%% \\x41\\t", b"100% A\t"),
        ("%%%s", b"%hello"),
        ("é", "é".encode()),
        ("", b""),
        ("\udcff%s", b"\xffhello"),
    ],
)
def test_a_record_is_formatted_as_by_kcat(text: str, formatted: bytes) -> None:
    assert compile_format(text)(record()) == formatted


def test_null_has_the_length_minus_one_and_no_bytes() -> None:
    empty = record(key=None, value=None, headers=())

    assert compile_format("[%k|%K|%s|%S|%h]%R")(empty) == b"[|-1||-1|]\xff\xff\xff\xff"


@pytest.mark.parametrize("text", ["%x", "a%", "%é"])
def test_the_error_for_an_unknown_token_names_the_others(text: str) -> None:
    with pytest.raises(ValueError, match=r"is unknown; there are %s, %S, %R, %k, .* and %%"):
        compile_format(text)


@pytest.mark.parametrize(
    ("text", "data"),
    [
        ("\\n\\t\\r\\0", b"\n\t\r\0"), ("\\x1e", b"\x1e"), ("\\xe9", b"\xe9"), ("\\x9z", b"\tz"),
        ("\\\\n", b"\\n"), ("\\q", b"\\q"), ("a\\", b"a\\"),
        ("k\udcff", b"k\xff"),
    ],
)  # fmt: skip
def test_escape_sequences_are_bytes(text: str, data: bytes) -> None:
    assert unescape(text) == data
