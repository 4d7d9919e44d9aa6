"""What a handler knows of a request besides its body."""

from __future__ import annotations

from typing import Any

import attrs

from pyk.protocol.errors import ErrorCode
from pyk.protocol.schema import Message
from pyk.reference_broker.deferred import Deferred

Reply = Message | Deferred[Any] | None
"""The response, one to come, or None where the client expects none."""

NO_OPERATIONS = -2147483648
"""What stands for "not asked for" in fields of authorized operations."""


@attrs.frozen(kw_only=True)
class RequestContext:
    """Who asks, in which version."""

    version: int
    client_id: str
    client_host: str
    """As Kafka tells it of group members: a slash and the address."""


def message_of(code: ErrorCode) -> str | None:
    """Return the text that goes with an error code where a response has room for one."""
    return None if code is ErrorCode.NONE else code.name.replace("_", " ").capitalize() + "."
