"""Records as JSON, and back. Pure.

Text is a JSON string, null is null, and bytes that are not UTF-8 are ``{"base64": "…"}``. What is
read may also be any other JSON value, which is sent as JSON.
"""

from __future__ import annotations

import base64
import binascii
import json
import math
from codecs import BOM_UTF8
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from pyk.command_line.records.outgoing import Header, OutgoingRecord
from pyk.command_line.text import to_line

if TYPE_CHECKING:
    from pyk.clients import ConsumerRecord

BASE64 = "base64"
FIELDS = ("key", "value", "headers", "partition", "timestamp")
WRITTEN_BY_PYK = ("topic", "offset")
"""Fields of ``pyk consume --json`` that do not matter when its output is sent again."""
NO_TIMESTAMP = -1
"""What ``pyk consume --json`` writes for a record of an old client that gave it none."""
KNOWN = frozenset({*FIELDS, *WRITTEN_BY_PYK})
DIGITS_NEEDED = 17
"""A program that writes a float with as many digits as it ever needs writes no more than this."""


def to_json(record: ConsumerRecord[bytes | None, bytes | None]) -> bytes:
    """Return a record as a line of JSON; ``pyk consume --json`` does it for each."""
    headers = ",".join([f"[{to_line(name)},{_json(data)}]" for name, data in record.headers])
    return (
        f'{{"topic":{to_line(record.topic)},"partition":{record.partition},'
        f'"offset":{record.offset},"timestamp":{record.timestamp},'
        f'"key":{_json(record.key)},"value":{_json(record.value)},"headers":[{headers}]}}\n'
    ).encode()


def _json(data: bytes | None) -> str:
    """Return the JSON of a key or a value."""
    if data is None:
        return "null"
    try:
        return to_line(data.decode())
    except UnicodeDecodeError:
        return to_line({BASE64: base64.b64encode(data).decode()})


def parse_record(line: bytes) -> OutgoingRecord:
    """Return the record that a line of JSON is; raise ``ValueError`` that says what is wrong."""
    try:
        form = _DECODER.decode(line.removeprefix(BOM_UTF8).decode())
    except (json.JSONDecodeError, UnicodeDecodeError) as error:
        raise ValueError(f"it is not JSON: {error}") from None
    except ValueError as error:
        if "int_max_str_digits" not in str(error):
            raise
        raise ValueError("it has a number of too many digits; send it as text") from None
    except RecursionError:
        raise ValueError("its JSON is nested too deeply") from None
    if not isinstance(form, dict):
        raise ValueError('a record must be a JSON object such as {"key": "a", "value": "b"}')
    if unknown := form.keys() - KNOWN:
        raise ValueError(f"{min(unknown)!r} is unknown; a record has {', '.join(FIELDS)}")
    return OutgoingRecord(
        key=_data(form.get("key")),
        value=_data(form.get("value")),
        headers=tuple(_headers(form.get("headers") or ())),
        partition=_number(form, "partition"),
        timestamp_ms=_timestamp(form),
    )


def _data(form: Any) -> bytes | None:
    if form is None or isinstance(form, str):
        return None if form is None else _encoded(form)
    if isinstance(form, dict) and form.keys() == {BASE64}:
        try:
            return base64.b64decode(form[BASE64], validate=True)
        except (binascii.Error, TypeError, ValueError):
            raise ValueError(f"{form[BASE64]!r} is not base64") from None
    return to_line(form).encode()


def _headers(form: Any) -> Iterable[Header]:
    pairs = form.items() if isinstance(form, dict) else form
    for pair in pairs if isinstance(pairs, Iterable) else (pairs,):
        if not isinstance(pair, list | tuple) or len(pair) != 2 or not isinstance(pair[0], str):
            raise ValueError("headers must be an object, or a list of pairs of name and value")
        _encoded(pair[0])
        yield pair[0], _data(pair[1])


def _encoded(text: str) -> bytes:
    try:
        return text.encode()
    except UnicodeEncodeError:
        raise ValueError(f"{text!r} has half a surrogate pair, which is no character") from None


def _timestamp(form: dict[str, Any]) -> int | None:
    """Return the time of a record, None for that of a record which had none."""
    time_ms = _number(form, "timestamp")
    return None if time_ms == NO_TIMESTAMP else time_ms


def _number(form: dict[str, Any], name: str) -> int | None:
    number = form.get(name)
    if number is None or (isinstance(number, int) and not isinstance(number, bool)):
        return number
    raise ValueError(f"{name} must be a number, not {number!r}")


def _refuse_constant(word: str) -> None:
    """Refuse NaN and Infinity, which Python reads and no other reader of JSON would."""
    raise ValueError(f"it is not JSON: {word}")


def _float(digits: str) -> float:
    number = float(digits)
    if math.isinf(number):
        raise ValueError(f"{digits} is too large for a number; send it as text")
    is_long = len(digits.lstrip("-0.")) > DIGITS_NEEDED
    if (is_long or not number) and not _is_kept(number, digits):
        raise ValueError(f"{digits} has more digits than a number keeps; send it as text")
    return number


def _is_kept(number: float, digits: str) -> bool:
    """Return whether a number stands for its digits, as more of them than it needs may not."""
    from decimal import Decimal  # hardly any line needs it, and each start would pay for it

    try:
        decimal = Decimal(digits)
    except ArithmeticError:  # its exponent is beyond all that there is
        return False
    has_few = bool(number) and len(decimal.as_tuple().digits) <= DIGITS_NEEDED
    return has_few or Decimal(repr(number)) == decimal


_DECODER = json.JSONDecoder(parse_constant=_refuse_constant, parse_float=_float)
