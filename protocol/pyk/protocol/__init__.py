"""Kafka's wire protocol: messages, record batches, connections as state machines.

Names are imported when they are first used, so that a program loads only the messages it speaks.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyk.runtime.first_use import loaded_on_first_use

from .version import __version__ as __version__

if TYPE_CHECKING:
    from .api_keys import ApiKey
    from .errors import (
        EncodeError,
        ErrorCode,
        MalformedMessageError,
        ProtocolError,
        UnknownMessageError,
        UnsupportedVersionError,
    )
    from .registry import known_messages, message_class, request_class, response_class
    from .schema import Message, MessageKind, Struct
    from .versions import VersionRange

__all__ = [
    "ApiKey",
    "EncodeError",
    "ErrorCode",
    "MalformedMessageError",
    "Message",
    "MessageKind",
    "ProtocolError",
    "Struct",
    "UnknownMessageError",
    "UnsupportedVersionError",
    "VersionRange",
    "known_messages",
    "message_class",
    "request_class",
    "response_class",
]

_MODULES = {
    "api_keys": ("ApiKey",),
    "errors": (
        "EncodeError",
        "ErrorCode",
        "MalformedMessageError",
        "ProtocolError",
        "UnknownMessageError",
        "UnsupportedVersionError",
    ),
    "registry": ("known_messages", "message_class", "request_class", "response_class"),
    "schema": ("Message", "MessageKind", "Struct"),
    "versions": ("VersionRange",),
}
_HOMES = {name: module for module, names in _MODULES.items() for name in names}

__getattr__ = loaded_on_first_use(globals(), _HOMES)
