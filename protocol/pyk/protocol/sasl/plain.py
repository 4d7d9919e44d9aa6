"""PLAIN (RFC 4616): user name and password in one token; only for connections under TLS."""

from __future__ import annotations

from typing import Self

import attrs

from .errors import MalformedTokenError
from .syntax import bounded, decoding, matching, sendable

_RULE = "is empty, or has a NUL or half of a surrogate pair in it"


@attrs.frozen
class PlainToken:
    """The only token of PLAIN: the name of the client, its password, and the principal that it acts
    for.

    The server answers with no bytes. Kafka refuses an ``authzid`` that is neither empty nor the
    user name, after it has looked at the password. Making one raises EncodeError if a value cannot
    be sent.
    """

    username: str = attrs.field(validator=matching(r"[^\0\ud800-\udfff]+", _RULE))
    password: str = attrs.field(validator=matching(r"[^\0\ud800-\udfff]+", _RULE), repr=False)
    authzid: str = attrs.field(default="", validator=matching(r"[^\0\ud800-\udfff]*", _RULE))

    def encode(self) -> bytes:
        return sendable(f"{self.authzid}\0{self.username}\0{self.password}".encode())

    @classmethod
    def decode(cls, data: bytes | memoryview) -> Self:
        """Return the token in ``data``; raise MalformedTokenError if it is invalid.

        Kafka replaces what is not UTF-8, so that two passwords may be one for it.
        """
        with decoding("PLAIN"):
            parts = bounded(data).split(b"\0")
            if len(parts) != 3:
                raise MalformedTokenError(f"{len(parts)} parts between NULs, not 3")
            authzid, username, password = map(_text, parts)
            return cls(username, password, authzid)


def _text(part: bytes) -> str:
    try:
        return part.decode()
    except UnicodeDecodeError:
        pass
    # Raised out here since the other error holds the password.
    raise MalformedTokenError("not all of it is UTF-8")
