"""Calls about ACLs."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from pyk.clients.admin import acls
from pyk.clients.admin.access_arguments import checked_acl_filter, checked_acl_filters, checked_acls
from pyk.clients.admin.acls import AclBinding, AclBindingFilter
from pyk.clients.admin.calls import Calls
from pyk.clients.admin.routes import ToAnyNode, ToController


class AclCalls:
    """Carries out the calls about ACLs; :class:`AsyncAdmin` documents them."""

    def __init__(self, calls: Calls) -> None:
        self._calls = calls

    async def create_acls(self, bindings: Iterable[AclBinding], *, timeout: float | None) -> None:
        listed = checked_acls(bindings)
        deadline = await self._calls.begin(timeout)

        async def ask(node_id: int, some: Sequence[AclBinding]) -> Any:
            request = acls.create_acls_request(some)
            return acls.created_acls(some, await self._calls.send(node_id, request, deadline))

        await self._calls.change(listed, ToController(self._calls.client), ask, deadline)

    async def describe_acls(
        self, wanted: AclBindingFilter | None, *, timeout: float | None
    ) -> list[AclBinding]:
        item = checked_acl_filter(AclBindingFilter() if wanted is None else wanted)
        deadline = await self._calls.begin(timeout)

        async def ask(node_id: int, _: Sequence[AclBindingFilter]) -> Any:
            request = acls.describe_acls_request(item)
            return {item: acls.described_acls(await self._calls.send(node_id, request, deadline))}

        found = await self._calls.settle([item], ToAnyNode(self._calls.client), ask, deadline)
        described: list[AclBinding] = found[item]
        return described

    async def delete_acls(
        self, filters: Iterable[AclBindingFilter | AclBinding], *, timeout: float | None
    ) -> dict[AclBindingFilter, list[AclBinding]]:
        listed = checked_acl_filters(filters)
        deadline = await self._calls.begin(timeout)

        async def ask(node_id: int, some: Sequence[AclBindingFilter]) -> Any:
            request = acls.delete_acls_request(some)
            return acls.deleted_acls(some, await self._calls.send(node_id, request, deadline))

        return await self._calls.change(listed, ToController(self._calls.client), ask, deadline)
