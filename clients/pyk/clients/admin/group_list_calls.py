"""Calls that list groups of all types."""

from __future__ import annotations

from collections.abc import Iterable

from pyk.clients.admin import group_listings
from pyk.clients.admin.all_brokers import from_all_brokers
from pyk.clients.admin.arguments import checked_names, checked_words
from pyk.clients.admin.calls import Calls
from pyk.clients.admin.group_listings import GroupListing
from pyk.clients.engine.connection import VersionedRequest
from pyk.clients.errors import error_for
from pyk.protocol.errors import ErrorCode
from pyk.protocol.messages.list_groups import ListGroupsRequest, ListGroupsResponse


class GroupListCalls:
    """Carries out the calls that list groups; :class:`AsyncAdmin` documents them."""

    def __init__(self, calls: Calls) -> None:
        self._calls = calls

    async def list_groups(
        self,
        *,
        states: Iterable[str],
        types: Iterable[str],
        protocol_types: Iterable[str],
        timeout: float | None,
    ) -> list[GroupListing]:
        wanted_states = checked_words(states, group_listings.STATES, "a state")
        wanted_types = checked_words(types, group_listings.TYPES, "a type")
        protocols = checked_names(protocol_types, "a protocol type")
        request = VersionedRequest(
            ListGroupsRequest,
            lambda version: group_listings.list_request(wanted_states, wanted_types, version),
        )
        min_version = group_listings.first_list_version(wanted_states, wanted_types)

        async def ask(node_id: int, deadline: float) -> list[GroupListing]:
            answer: ListGroupsResponse = await self._calls.send(
                node_id, request, deadline, min_version=min_version
            )
            if answer.error_code != ErrorCode.NONE:
                raise error_for(answer.error_code, node_id=node_id, api_key=answer.api_key)
            return group_listings.group_listings(answer.groups, node_id)

        listings = group_listings.once_each(await from_all_brokers(self._calls, ask, timeout))
        return [one for one in listings if not protocols or one.protocol_type in protocols]

    async def list_consumer_groups(
        self, *, states: Iterable[str], types: Iterable[str], timeout: float | None
    ) -> list[GroupListing]:
        wanted = checked_words(
            types, group_listings.TYPES_OF_CONSUMERS, "a type of groups of consumers"
        )
        return await self.list_groups(
            states=states,
            types=wanted or group_listings.TYPES_OF_CONSUMERS,
            protocol_types=("", group_listings.CONSUMER),
            timeout=timeout,
        )
