"""Calls about users that log in by SCRAM."""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import Iterable, Sequence
from typing import Any

from pyk.clients.admin import scram_users
from pyk.clients.admin.access_arguments import checked_user_alterations
from pyk.clients.admin.arguments import checked_names
from pyk.clients.admin.calls import Calls
from pyk.clients.admin.routes import ToAnyNode, ToController
from pyk.clients.admin.scram_users import (
    UserAndMechanism,
    UserScramCredentialAlteration,
    UserScramCredentialsDescription,
    UserScramCredentialUpsertion,
)
from pyk.clients.errors import ResourceNotFoundError
from pyk.protocol.messages.alter_user_scram_credentials import ScramCredentialUpsertion

SALT_BYTES = 24


class UserCalls:
    """Carries out the calls about users; :class:`AsyncAdmin` documents them."""

    def __init__(self, calls: Calls) -> None:
        self._calls = calls

    async def describe_user_scram_credentials(
        self, users: Iterable[str] | None, *, timeout: float | None
    ) -> dict[str, UserScramCredentialsDescription]:
        names = None if users is None else checked_names(users, "a user")
        if names == []:
            return {}  # for brokers that would mean all of them
        deadline = await self._calls.begin(timeout)
        route = ToAnyNode(self._calls.client)

        async def ask(node_id: int, some: Sequence[str | None]) -> Any:
            asked = [name for name in some if name is not None] or None
            request = scram_users.describe_request(asked)
            found = scram_users.described(await self._calls.send(node_id, request, deadline))
            return found if asked else {None: found}

        found = await self._calls.settle(names or [None], route, ask, deadline)
        return found[None] if names is None else found

    async def alter_user_scram_credentials(
        self, alterations: Iterable[UserScramCredentialAlteration], *, timeout: float | None
    ) -> None:
        listed = checked_user_alterations(alterations)
        deadline = await self._calls.begin(timeout)

        async def ask(node_id: int, some: Sequence[UserAndMechanism]) -> Any:
            outcomes: dict[Any, Any] = {}
            for each in scram_users.rounds(listed[one] for one in some):
                request = scram_users.alter_request(each, await _salted(each))
                response = await self._calls.send(node_id, request, deadline)
                outcomes |= scram_users.altered(response, each)
            return outcomes

        await self._calls.change(
            listed,
            ToController(self._calls.client),
            ask,
            deadline,
            # Of a deletion whose response was lost; nothing else can be missing.
            already_done=ResourceNotFoundError,
        )


async def _salted(some: Iterable[UserScramCredentialAlteration]) -> list[ScramCredentialUpsertion]:
    """Return the upsertions; the loop serves others between them."""
    found = []
    for one in some:
        if isinstance(one, UserScramCredentialUpsertion):
            found.append(scram_users.upsertion(one, one.salt or secrets.token_bytes(SALT_BYTES)))
            await asyncio.sleep(0)
    return found
