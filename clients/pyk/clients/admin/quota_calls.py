"""Calls about quotas."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from pyk.clients.admin import quotas
from pyk.clients.admin.access_arguments import checked_quota_alterations, checked_quota_filter
from pyk.clients.admin.calls import Calls
from pyk.clients.admin.quotas import ClientQuotaAlteration, ClientQuotaEntity, ClientQuotaFilter
from pyk.clients.admin.routes import ToAnyNode, ToController
from pyk.runtime.checked_arguments import checked_flag


class QuotaCalls:
    """Carries out the calls about quotas; :class:`AsyncAdmin` documents them."""

    def __init__(self, calls: Calls) -> None:
        self._calls = calls

    async def describe_client_quotas(
        self, wanted: ClientQuotaFilter | None, *, timeout: float | None
    ) -> dict[ClientQuotaEntity, dict[str, float]]:
        item = checked_quota_filter(ClientQuotaFilter.all() if wanted is None else wanted)
        deadline = await self._calls.begin(timeout)

        async def ask(node_id: int, _: Sequence[ClientQuotaFilter]) -> Any:
            request = quotas.describe_request(item)
            return {item: quotas.described(await self._calls.send(node_id, request, deadline))}

        found = await self._calls.settle([item], ToAnyNode(self._calls.client), ask, deadline)
        described: dict[ClientQuotaEntity, dict[str, float]] = found[item]
        return described

    async def alter_client_quotas(
        self,
        alterations: Iterable[ClientQuotaAlteration],
        *,
        validate_only: bool,
        timeout: float | None,
    ) -> None:
        listed = checked_quota_alterations(alterations)
        validate_only = checked_flag(validate_only, "validate_only")
        deadline = await self._calls.begin(timeout)

        async def ask(node_id: int, some: Sequence[ClientQuotaEntity]) -> Any:
            request = quotas.alter_request(
                [listed[entity] for entity in some], validate_only=validate_only
            )
            return quotas.altered(await self._calls.send(node_id, request, deadline))

        await self._calls.change(listed, ToController(self._calls.client), ask, deadline)
