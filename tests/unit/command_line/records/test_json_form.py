from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pyk.clients import ConsumerRecord
from pyk.command_line.records.json_form import parse_record, to_json
from pyk.command_line.records.outgoing import OutgoingRecord

DATA = st.none() | st.binary(max_size=20)


def test_text_is_a_string_and_other_bytes_are_base64() -> None:
    record = ConsumerRecord(
        "orders", 1, 7, timestamp=5, key=b"\xff", value="é".encode(), headers=(("h", None),)
    )

    line = to_json(record)

    assert line.endswith(b"\n")
    assert json.loads(line) == {
        "topic": "orders", "partition": 1, "offset": 7, "timestamp": 5,
        "key": {"base64": "/w=="}, "value": "é", "headers": [["h", None]],
    }  # fmt: skip


@given(key=DATA, value=DATA, headers=st.lists(st.tuples(st.text(max_size=5), DATA), max_size=3))
def test_what_is_printed_can_be_sent_again(
    key: bytes | None, value: bytes | None, headers: list[tuple[str, bytes | None]]
) -> None:
    record = ConsumerRecord("t", 3, 9, timestamp=5, key=key, value=value, headers=tuple(headers))

    parsed = parse_record(to_json(record))

    assert parsed == OutgoingRecord(
        key=key, value=value, headers=tuple(headers), partition=3, timestamp_ms=5
    )


@pytest.mark.parametrize(
    ("form", "value"),
    [(None, None), ("x", b"x"), (5, b"5"), ([1, "a"], b'[1,"a"]'), ({"a": 1}, b'{"a":1}'),
     ({"base64": "aGk="}, b"hi"),
     ({"base64": "aGk=", "b": 1}, b'{"base64":"aGk=","b":1}'), (True, b"true")],
)  # fmt: skip
def test_a_value_that_is_no_text_is_sent_as_json(form: object, value: bytes | None) -> None:
    assert parse_record(json.dumps({"value": form}).encode()).value == value


@pytest.mark.parametrize(
    ("digits", "sent"),
    [
        (b"0.10000000000000001", b"0.1"),
        (b"-1.7976931348623157e+308", b"-1.7976931348623157e+308"),
        (b"1.50000000000000000000000000000", b"1.5"),
        (b"-0.00012345678901234567", b"-0.00012345678901234567"),
        (b"5e-324", b"5e-324"),
        (b"-0.000", b"-0.0"),
    ],
)
def test_digits_that_change_no_number_are_read(digits: bytes, sent: bytes) -> None:
    assert parse_record(b'{"value": [' + digits + b"]}").value == b"[" + sent + b"]"


def test_headers_may_be_an_object() -> None:
    assert parse_record(b'{"headers": {"a": "1", "b": null}}').headers == (("a", b"1"), ("b", None))
    assert parse_record(b'{"headers": null}').headers == ()


@pytest.mark.parametrize(
    ("line", "words"),
    [
        (b"{", "it is not JSON: "),
        (b"\xff", "it is not JSON: "),
        (b'{"value": NaN}', "it is not JSON: NaN"),
        (b'{"value": -Infinity}', "it is not JSON: -Infinity"),
        (b'{"value": 1e999}', "1e999 is too large for a number; send it as text"),
        (
            b'{"value": [3.14159265358979323846264338]}',
            "3.14159265358979323846264338 has more digits than a number keeps; send it as text",
        ),
        (
            b'{"value": {"amount": 12345678901234567.89}}',
            "12345678901234567.89 has more digits than a number keeps; send it as text",
        ),
        (b'{"value": 1e-400}', "1e-400 has more digits than a number keeps"),
        (
            b'{"value": 1e-' + b"9" * 30 + b"}",
            "1e-" + "9" * 30 + " has more digits than a number keeps",
        ),
        (b'{"value": ' + b"1" * 5000 + b"}", "it has a number of too many digits; send it as text"),
        (b"[]", "a record must be a JSON object"),
        (b'{"vlue": 1}', "'vlue' is unknown; a record has key, value, headers, partition"),
        (b'{"value": {"base64": "?"}}', "'?' is not base64"),
        (b'{"headers": ["a"]}', "headers must be an object, or a list of pairs"),
        (b'{"headers": 5}', "headers must be an object, or a list of pairs"),
        (b'{"headers": {"\\ud800": "x"}}', "'\\ud800' has half a surrogate pair"),
        (b'{"value": "\\ud800"}', "'\\ud800' has half a surrogate pair"),
        (b"[" * 100_000, "its JSON is nested too deeply"),
        (b'{"partition": "0"}', "partition must be a number, not '0'"),
        (b'{"timestamp": true}', "timestamp must be a number, not True"),
    ],
)
def test_an_error_says_what_is_wrong(line: bytes, words: str) -> None:
    with pytest.raises(ValueError) as raised:  # noqa: PT011 - the words are compared below
        parse_record(line)

    assert str(raised.value).startswith(words)


def test_a_record_without_timestamp_is_sent_with_the_time_of_sending() -> None:
    line = to_json(ConsumerRecord("t", 0, 0, value=b"v"))

    assert b'"timestamp":-1,' in line
    assert parse_record(line).timestamp_ms is None
