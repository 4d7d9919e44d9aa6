"""Calls about consumer groups, and groups of all types."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from pyk.clients.admin import groups, members
from pyk.clients.admin.arguments import checked_name, checked_names
from pyk.clients.admin.calls import Calls
from pyk.clients.admin.groups import (
    ClassicGroupDescription,
    ConsumerGroupDescription,
)
from pyk.clients.admin.routes import ToCoordinators
from pyk.clients.errors import (
    GroupIdNotFoundError,
    KafkaError,
    UnsupportedVersionError,
)
from pyk.protocol.messages.consumer_group_describe import ConsumerGroupDescribeRequest
from pyk.protocol.messages.delete_groups import DeleteGroupsRequest
from pyk.protocol.messages.describe_groups import DescribeGroupsRequest

FIRST_VERSION_WITH_OPERATIONS = 3
FIRST_VERSION_WITH_SEVERAL_MEMBERS = 3


class GroupCalls:
    """Carries out the calls about groups; :class:`AsyncAdmin` documents them."""

    def __init__(self, calls: Calls) -> None:
        self._calls = calls

    async def describe_consumer_groups(
        self, group_ids: Iterable[str], *, authorized_operations: bool, timeout: float | None
    ) -> dict[str, ConsumerGroupDescription]:
        group_ids = checked_names(group_ids, "a group id")
        deadline = await self._calls.begin(timeout)

        async def ask(node_id: int, some: Sequence[str]) -> Any:
            answers = await self._described(node_id, some, deadline, authorized_operations)
            # A coordinator does not know a group of another type, so ask by the other request.
            missing = [one for one in some if isinstance(answers.get(one), GroupIdNotFoundError)]
            if missing:
                answers |= await self._described_by_the_new_request(
                    node_id, missing, deadline, authorized_operations
                )
            return answers

        return await self._calls.settle(
            group_ids, ToCoordinators(self._calls.client), ask, deadline
        )

    async def describe_classic_groups(
        self, group_ids: Iterable[str], *, authorized_operations: bool, timeout: float | None
    ) -> dict[str, ClassicGroupDescription]:
        group_ids = checked_names(group_ids, "a group id")
        deadline = await self._calls.begin(timeout)

        async def ask(node_id: int, some: Sequence[str]) -> Any:
            answers = await self._described(node_id, some, deadline, authorized_operations)
            return {one: groups.classic_group(found) for one, found in answers.items()}

        return await self._calls.settle(
            group_ids, ToCoordinators(self._calls.client), ask, deadline
        )

    async def _described(
        self, node_id: int, group_ids: Sequence[str], deadline: float, with_operations: bool
    ) -> dict[str, ConsumerGroupDescription | KafkaError]:
        """Describe groups of the type ``classic``."""
        request = DescribeGroupsRequest(
            groups=list(group_ids), include_authorized_operations=with_operations
        )
        min_version = FIRST_VERSION_WITH_OPERATIONS if with_operations else None
        response = await self._calls.send(node_id, request, deadline, min_version=min_version)
        return groups.described_groups(response, node_id)

    async def _described_by_the_new_request(
        self, node_id: int, group_ids: Sequence[str], deadline: float, with_operations: bool
    ) -> dict[str, ConsumerGroupDescription | KafkaError]:
        """Describe groups that follow KIP-848; nothing where the broker has no such groups."""
        request = ConsumerGroupDescribeRequest(
            group_ids=list(group_ids), include_authorized_operations=with_operations
        )
        try:
            response = await self._calls.send(node_id, request, deadline)
        except UnsupportedVersionError:
            return {}
        return groups.described_consumer_groups(response, node_id)

    async def delete_consumer_groups(
        self, group_ids: Iterable[str], *, timeout: float | None
    ) -> None:
        group_ids = checked_names(group_ids, "a group id")
        deadline = await self._calls.begin(timeout)

        async def ask(node_id: int, some: Sequence[str]) -> Any:
            request = DeleteGroupsRequest(groups_names=list(some))
            return groups.deleted_groups(await self._calls.send(node_id, request, deadline))

        await self._calls.change(
            group_ids,
            ToCoordinators(self._calls.client),
            ask,
            deadline,
            already_done=GroupIdNotFoundError,
        )

    async def remove_members_from_consumer_group(
        self,
        group_id: str,
        instance_ids: Iterable[str] | None,
        *,
        reason: str | None,
        timeout: float | None,
    ) -> None:
        group_id = checked_name(group_id, "a group id")
        reason = None if reason is None else checked_name(reason, "a reason")
        leaving = None
        if instance_ids is not None:
            leaving = members.static_members(checked_names(instance_ids, "an instance id"))
        deadline = await self._calls.begin(timeout)
        if leaving is None:
            described = await self.describe_consumer_groups(
                [group_id], authorized_operations=False, timeout=self._calls.remaining(deadline)
            )
            leaving = members.all_members(described[group_id])
        by_name = leaving

        async def ask(node_id: int, names: Sequence[str]) -> Any:
            request = members.removal_request(group_id, map(by_name.__getitem__, names), reason)
            response = await self._calls.send(
                node_id, request, deadline, min_version=FIRST_VERSION_WITH_SEVERAL_MEMBERS
            )
            return members.removed_members(response, names, group_id)

        await self._calls.change(
            by_name, ToCoordinators(self._calls.client, group_id), ask, deadline
        )
