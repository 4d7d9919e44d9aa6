"""The syntax that the tokens share: size, text, names, extensions and base64.

The fields of a token check themselves when it is made, and raise EncodeError. Where the values are
a peer's, ``decoding`` makes that a MalformedTokenError: each rule stands in one place for both.
"""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, TypeAlias

import attrs

from pyk.protocol.errors import EncodeError

from .errors import MalformedTokenError

MAX_TOKEN_BYTES = 524_288
"""The longest token: what a broker accepts unless its ``sasl.server.max.receive.size`` differs."""

Check: TypeAlias = Callable[[Any, "attrs.Attribute[Any]", Any], None]

_EXTENSION_NAME = re.compile("[A-Za-z]+")
_BARE_EQUALS = re.compile("=(?!2C|3D)")


@contextmanager
def decoding(token: str) -> Iterator[None]:
    """Name the token in the errors of what is inside, and make all of them errors of its bytes."""
    try:
        yield
    except (EncodeError, MalformedTokenError) as fault:
        raise MalformedTokenError(f"{token}: {fault}") from None


def bounded(data: bytes | memoryview) -> bytes:
    """Return what a peer sent unless it is too long."""
    if len(data) > MAX_TOKEN_BYTES:
        raise MalformedTokenError(f"{len(data)} bytes, more than {MAX_TOKEN_BYTES}")
    return bytes(data)


def ascii_text(data: bytes | memoryview) -> str:
    raw = bounded(data)
    if not raw.isascii():
        raise MalformedTokenError("not all of it is ASCII")
    return raw.decode("ascii")


def sendable(data: bytes) -> bytes:
    """Return an encoded token; raise if it is too long for any peer."""
    if len(data) > MAX_TOKEN_BYTES:
        raise EncodeError(f"the token has {len(data)} bytes, more than {MAX_TOKEN_BYTES}")
    return data


# Checks of fields. They name the field and never show its value.


def matching(pattern: str, rule: str) -> Check:
    compiled = re.compile(pattern)

    def check(_: Any, field: attrs.Attribute[Any], value: str) -> None:
        if compiled.fullmatch(value) is None:
            raise EncodeError(f"{field.name} {rule}")

    return check


def extensions_of(value_pattern: str, taken_names: Collection[str]) -> Check:
    """Return the check for extensions whose values match and whose names are not ``taken``."""
    compiled = re.compile(value_pattern)

    def check(_: Any, __: attrs.Attribute[Any], extensions: Mapping[str, str]) -> None:
        for name, value in extensions.items():
            if _EXTENSION_NAME.fullmatch(name) is None:
                raise EncodeError("the name of an extension is not made of letters")
            if name in taken_names:
                raise EncodeError("an extension has a reserved name")
            if compiled.fullmatch(value) is None:
                raise EncodeError("an extension is empty, or has an invalid character")

    return check


def extension_field(check: Check) -> Any:
    """Return the field for a token's extensions; only names are shown, values may be secret."""
    return attrs.field(factory=dict, converter=dict, validator=check, repr=_names)


def _names(extensions: Mapping[str, str]) -> str:
    return f"[{', '.join(extensions)}]"


def read_pairs(pairs: Iterable[str]) -> dict[str, str]:
    """Return what ``name=value`` pairs say; their fields check both.

    A duplicate name is an error: two readers of a token must not see different values. (Kafka takes
    the last.)
    """
    found: dict[str, str] = {}
    for pair in pairs:
        name, _, value = pair.partition("=")
        if name in found:
            raise MalformedTokenError("an attribute comes twice")
        found[name] = value
    return found


# Names, and the GS2 header with which SCRAM and OAUTHBEARER begin (RFC 5801).


sasl_name = matching(r"[\x01-\x7f]+", "is empty, or not ASCII, or has a NUL in it")
optional_sasl_name = matching(r"[\x01-\x7f]*", "is not ASCII, or has a NUL in it")


def escape_name(name: str) -> str:
    return name.replace("=", "=3D").replace(",", "=2C")


def unescape_name(escaped: str) -> str:
    if _BARE_EQUALS.search(escaped):
        raise MalformedTokenError("a name has an = that is neither =2C nor =3D")
    return escaped.replace("=2C", ",").replace("=3D", "=")


def gs2_header(authzid: str) -> str:
    return f"n,a={escape_name(authzid)}," if authzid else "n,,"


def split_gs2_header(text: str) -> tuple[str, str]:
    """Return the authorization id, which may be empty, and what follows the header."""
    flag, _, after_flag = text.partition(",")
    if flag == "y" or flag.startswith("p="):
        raise MalformedTokenError("the client wants channel binding, which Kafka does not support")
    if flag != "n":
        raise MalformedTokenError("it does not begin with 'n,'")
    attribute, comma, rest = after_flag.partition(",")
    if not comma:
        raise MalformedTokenError("it ends inside the header")
    if not attribute:
        return "", rest
    if not attribute.startswith("a=") or attribute == "a=":
        raise MalformedTokenError("the header has something other than an authorization id")
    return unescape_name(attribute[2:]), rest


# Base64 as RFC 5802 writes it.


def encode_base64(data: bytes) -> str:
    return base64.b64encode(data).decode("ascii")


def decode_base64(text: str, what: str) -> bytes:
    """Return the bytes if ``text`` is the one way to write them; Kafka takes others, too."""
    try:
        data = base64.b64decode(text, validate=True)
    except binascii.Error:
        data = b""
    if encode_base64(data) != text:
        raise MalformedTokenError(f"{what} is not canonical base64")
    return data
