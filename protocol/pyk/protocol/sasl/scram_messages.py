"""The four messages of SCRAM (RFC 5802, RFC 7677), for both sides.

::

    client                                             server
      ClientFirst   name, nonce                    →
                    nonce longer, salt, iterations ←   ServerFirst
      ClientFinal   nonce, proof                   →
                    signature                      ←   ServerFinal (or ServerRefusal)

Both sign what was said before, byte for byte. So there is one way only to write each message:
whatever is decoded encodes to the same bytes, extensions included. A message that answers another
one is decoded beside it, and refused unless it fits.

As Kafka has it: ASCII only, no channel binding, extensions of letters, all of them optional.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, Self

import attrs

from pyk.protocol.errors import EncodeError

from .errors import MalformedTokenError, ScramRefusedError
from .syntax import (
    ascii_text,
    decode_base64,
    decoding,
    encode_base64,
    escape_name,
    extension_field,
    extensions_of,
    gs2_header,
    matching,
    optional_sasl_name,
    read_pairs,
    sasl_name,
    sendable,
    split_gs2_header,
    unescape_name,
)

MIN_ITERATIONS = 4096
"""Fewer are refused on both sides (RFC 7677): they would give the password away too cheaply."""
MAX_ITERATIONS = 1_000_000
"""More are refused by a client unless told otherwise: a server must not keep it busy for long."""
TOKEN_AUTHENTICATION: Mapping[str, str] = MappingProxyType({"tokenauth": "true"})
"""The extension of a ClientFirst whose user name is the id of a delegation token (KIP-48)."""

_VALUE = r"[\x01-\x2b\x2d-\x7f]+"
_ITERATIONS = re.compile("[1-9][0-9]{0,9}")
_ATTRIBUTES = frozenset("aceimnprsv")
_extensions = extensions_of(_VALUE, _ATTRIBUTES)
_nonce = matching(r"[\x21-\x2b\x2d-\x7e]+", "is empty, or not printable ASCII without a comma")


def _not_empty(_: Any, field: attrs.Attribute[Any], value: bytes) -> None:
    if not value:
        raise EncodeError(f"{field.name} is empty")


def _enough(_: Any, __: attrs.Attribute[Any], iterations: int) -> None:
    if not MIN_ITERATIONS <= iterations < 1 << 31:
        raise EncodeError(f"{iterations} iterations, not {MIN_ITERATIONS} to 2**31 - 1")


@attrs.frozen(kw_only=True)
class ClientFirst:
    """The first message of a client. ``nonce`` is random and printable, another for each exchange.

    Kafka refuses an ``authzid`` that is neither empty nor the user name.
    """

    username: str = attrs.field(validator=sasl_name)
    nonce: str = attrs.field(validator=_nonce)
    authzid: str = attrs.field(default="", validator=optional_sasl_name)
    extensions: Mapping[str, str] = extension_field(_extensions)

    @property
    def gs2_header(self) -> bytes:
        """The header that the client repeats in its ClientFinal as ``channel_binding``."""
        return gs2_header(self.authzid).encode()

    @property
    def bare(self) -> bytes:
        """The message without its header, as it is signed."""
        name = escape_name(self.username)
        return f"n={name},r={self.nonce}{_written(self.extensions)}".encode()

    @property
    def is_token_authenticated(self) -> bool:
        """Return whether the user name is the id of a delegation token (KIP-48)."""
        return self.extensions.get("tokenauth", "").lower() == "true"

    def encode(self) -> bytes:
        return sendable(self.gs2_header + self.bare)

    @classmethod
    def decode(cls, data: bytes | memoryview) -> Self:
        """Return the message in ``data``; raise MalformedTokenError if it is invalid."""
        with decoding("SCRAM client-first"):
            authzid, bare = split_gs2_header(ascii_text(data))
            parts = bare.split(",")
            return cls(
                authzid=authzid,
                username=unescape_name(_take(parts, "n")),
                nonce=_take(parts, "r"),
                extensions=read_pairs(parts),
            )


@attrs.frozen(kw_only=True)
class ServerFirst:
    """The server's answer: what a client needs to make a proof of its password.

    ``nonce`` is the client's, extended by random characters.
    """

    nonce: str = attrs.field(validator=_nonce)
    salt: bytes = attrs.field(validator=_not_empty)
    iterations: int = attrs.field(validator=_enough)
    extensions: Mapping[str, str] = extension_field(_extensions)

    def encode(self) -> bytes:
        salt = encode_base64(self.salt)
        extensions = _written(self.extensions)
        return sendable(f"r={self.nonce},s={salt},i={self.iterations}{extensions}".encode())

    @classmethod
    def decode(
        cls,
        data: bytes | memoryview,
        client_first: ClientFirst,
        *,
        max_iterations: int = MAX_ITERATIONS,
    ) -> Self:
        """Return the response to ``client_first`` in ``data``.

        Raises MalformedTokenError if it is invalid, also if its nonce does not extend the client's,
        or if there are fewer than 4096 iterations or more than allowed.
        """
        with decoding("SCRAM server-first"):
            parts = ascii_text(data).split(",")
            nonce, salt = _take(parts, "r"), decode_base64(_take(parts, "s"), "salt")
            iterations = _take(parts, "i")
            if _ITERATIONS.fullmatch(iterations) is None:
                raise MalformedTokenError("the iteration count is not a valid number")
            if int(iterations) > max_iterations:
                raise MalformedTokenError(f"{iterations} iterations, more than {max_iterations}")
            if not nonce.startswith(client_first.nonce) or nonce == client_first.nonce:
                raise MalformedTokenError("the nonce does not extend that of the client")
            return cls(
                nonce=nonce,
                salt=salt,
                iterations=int(iterations),
                extensions=read_pairs(parts),
            )


@attrs.frozen(kw_only=True)
class ClientFinal:
    """The client's proof. Without one, it is what the proof is made from, and does not encode."""

    channel_binding: bytes
    nonce: str = attrs.field(validator=_nonce)
    proof: bytes = attrs.field(default=b"", repr=False)
    extensions: Mapping[str, str] = extension_field(_extensions)

    @property
    def without_proof(self) -> bytes:
        """The message as it is signed."""
        binding = encode_base64(self.channel_binding)
        return f"c={binding},r={self.nonce}{_written(self.extensions)}".encode()

    def encode(self) -> bytes:
        if not self.proof:
            raise EncodeError("proof is empty")
        return sendable(self.without_proof + f",p={encode_base64(self.proof)}".encode())

    @classmethod
    def decode(
        cls, data: bytes | memoryview, client_first: ClientFirst, server_first: ServerFirst
    ) -> Self:
        """Return the response to ``server_first`` in ``data``; its proof is still to be verified.

        Raises MalformedTokenError if it is invalid, also if it repeats another nonce (in Kafka that
        was CVE-2024-56128) or another header than ``client_first`` had, which Kafka does not check.
        """
        with decoding("SCRAM client-final"):
            parts = ascii_text(data).split(",")
            binding = decode_base64(_take(parts, "c"), "channel binding")
            nonce = _take(parts, "r")
            proof = decode_base64(_take(parts, "p", -1), "proof")
            if not proof:
                raise MalformedTokenError("proof is empty")
            if binding != client_first.gs2_header:
                raise MalformedTokenError("channel binding is not the header of client-first")
            if nonce != server_first.nonce:
                raise MalformedTokenError("the nonce is not that of the server")
            return cls(
                channel_binding=binding, nonce=nonce, proof=proof, extensions=read_pairs(parts)
            )


@attrs.frozen
class ServerFinal:
    """The server's signature, with which it shows that it knew the password's keys."""

    signature: bytes = attrs.field(validator=_not_empty, repr=False)
    extensions: Mapping[str, str] = extension_field(_extensions)

    def encode(self) -> bytes:
        signature = encode_base64(self.signature)
        return sendable(f"v={signature}{_written(self.extensions)}".encode())

    @classmethod
    def decode(cls, data: bytes | memoryview) -> Self:
        """Return the message in ``data``; its signature is still to be verified.

        Raises ScramRefusedError for a refusal, MalformedTokenError for anything else.
        """
        with decoding("SCRAM server-final"):
            parts = ascii_text(data).split(",")
            if not parts[0].startswith("e="):
                signature = decode_base64(_take(parts, "v"), "signature")
                return cls(signature, read_pairs(parts))
            # Nothing that follows can make it a success, so nothing is asked of it.
            refusal = ServerRefusal(_take(parts, "e"))
        raise ScramRefusedError(refusal.error)


@attrs.frozen
class ServerRefusal:
    """The refusal that a server may send instead of a ServerFinal: ``invalid-proof``,
    ``unknown-user`` …

    RFC 5802 lists the words in section 7. ``ServerFinal.decode`` raises them.
    """

    error: str = attrs.field(
        validator=matching(_VALUE, "is empty, or not ASCII without a comma and NUL")
    )

    def encode(self) -> bytes:
        return sendable(f"e={self.error}".encode())


def _written(extensions: Mapping[str, str]) -> str:
    return "".join(f",{name}={value}" for name, value in extensions.items())


def _take(parts: list[str], name: str, index: int = 0) -> str:
    """Remove the attribute that must be the first, or the last, and return its value."""
    part = parts.pop(index) if parts else ""
    if part.startswith("m="):
        # RFC 5802 has that fail where it is not known; Kafka goes on as if it was not there.
        raise MalformedTokenError("it requires an extension, and none is supported")
    if not part.startswith(f"{name}="):
        raise MalformedTokenError(f"{name}= is not where it should be")
    return part[2:]
