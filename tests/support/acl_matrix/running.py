"""Send every request of the ACL matrix as every user."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Collection
from string import Template
from typing import Any

import attrs

from pyk.protocol.registry import request_class
from pyk.protocol.schema import Message
from support.acl_matrix.all_requests import requests_of
from support.acl_matrix.answers import Answers, Reader
from support.acl_matrix.preparation import (
    Prepared,
    ask_until_ready,
    log_in,
    prepare,
    unknown_topic_id,
)
from support.acl_matrix.requests import Request
from support.acl_matrix.users import users
from support.raw_client import RawClient

AT_ONCE = 8
"""Users that send requests at the same time."""
CLOSED = {"closed": True}
"""The answer of a broker that closes the connection."""


async def answers_of(bootstrap: str, only: Collection[str] = ()) -> Answers:
    """Return the answers of the broker at an address of its listener for SASL.

    With ``only`` these users' answers.
    """
    rules = {name: some for name, some in users().items() if not only or name in only}
    prepared = await prepare(bootstrap, rules)
    turns = asyncio.Semaphore(AT_ONCE)

    async def of(user: str) -> tuple[str, dict[str, Any]]:
        async with turns:
            return user, await UserOfMatrix(bootstrap, user, prepared).answers()

    return dict(await asyncio.gather(*(of(user) for user in rules)))


@attrs.frozen
class UserOfMatrix:
    """Sends the requests of one user."""

    bootstrap: str
    user: str
    prepared: Prepared

    async def answers(self) -> dict[str, Any]:
        """Return the answer to each request that the broker serves."""
        found: dict[str, Any] = {}
        client = await log_in(self.bootstrap, self.user)
        try:
            for name, request in requests_of(self.user).items():
                if not self._is_served(request):
                    continue
                try:
                    found[name] = await self._answer(client, request)
                except (asyncio.IncompleteReadError, ConnectionError):
                    found[name] = CLOSED
                    client = await log_in(self.bootstrap, self.user)
        finally:
            await client.__aexit__()
        return found

    def _is_served(self, request: Request) -> bool:
        served = self.prepared.served
        return request.api_key in served and request.version in served[request.api_key]

    async def _answer(self, client: RawClient, request: Request) -> Any:
        message = self._message(request)
        response = await ask_until_ready(client, message, request.version)
        names = {topic_id: name for name, topic_id in self.prepared.topic_ids.items()}
        return Reader(self.user, names).read(response)

    def _message(self, request: Request) -> Message:
        ids = self.prepared.topic_ids
        names = {
            "user": self.user,
            "orders_id": ids["orders"],
            "secrets_id": ids["secrets"],
            "doomed_id": ids[f"doomed-{self.user}"],
            "unknown_id": unknown_topic_id(),
        }
        form = json.loads(Template(json.dumps(request.form)).substitute(names))
        return request_class(request.api_key).from_json(form, request.version)
