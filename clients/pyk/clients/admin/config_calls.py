"""Calls about the configurations of topics, brokers and groups."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from pyk.clients.admin import configs
from pyk.clients.admin.arguments import checked_changes, checked_resources
from pyk.clients.admin.calls import Calls
from pyk.clients.admin.configs import AlterConfig, ConfigEntry, ConfigResource
from pyk.clients.admin.routes import ToNodes
from pyk.clients.engine.client import Client
from pyk.runtime.checked_arguments import checked_flag


class ConfigCalls:
    """Carries out the calls about configurations; :class:`AsyncAdmin` documents them."""

    def __init__(self, calls: Calls) -> None:
        self._calls = calls

    async def describe_configs(
        self,
        resources: Iterable[ConfigResource],
        *,
        documentation: bool,
        synonyms: bool,
        timeout: float | None,
    ) -> dict[ConfigResource, Mapping[str, ConfigEntry]]:
        asked = checked_resources(resources)
        min_version = configs.first_describe_version(documentation=documentation, synonyms=synonyms)
        deadline = await self._calls.begin(timeout)

        async def ask(node_id: int, some: Sequence[ConfigResource]) -> Any:
            request = configs.describe_configs_request(
                some, documentation=documentation, synonyms=synonyms
            )
            response = await self._calls.send(node_id, request, deadline, min_version=min_version)
            return configs.described_configs(response)

        return await self._calls.settle(asked, _to_owners(self._calls.client, asked), ask, deadline)

    async def incremental_alter_configs(
        self,
        changes: Mapping[ConfigResource, Iterable[AlterConfig]],
        *,
        validate_only: bool,
        timeout: float | None,
    ) -> None:
        listed = checked_changes(changes)
        validate_only = checked_flag(validate_only, "validate_only")
        deadline = await self._calls.begin(timeout)

        async def ask(node_id: int, some: Sequence[ConfigResource]) -> Any:
            request = configs.alter_configs_request(
                {resource: listed[resource] for resource in some}, validate_only=validate_only
            )
            return configs.altered_configs(await self._calls.send(node_id, request, deadline))

        await self._calls.change(listed, _to_owners(self._calls.client, listed), ask, deadline)


def _to_owners(client: Client, resources: Iterable[ConfigResource]) -> ToNodes:
    return ToNodes(client, {resource: resource.node_id for resource in resources})
