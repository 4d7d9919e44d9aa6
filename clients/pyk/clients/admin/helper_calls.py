"""Calls that Kafka's Admin does not have, made of those that it has."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from pyk.clients.admin.arguments import checked_name, checked_partitions
from pyk.clients.admin.calls import Calls
from pyk.clients.admin.config_calls import ConfigCalls
from pyk.clients.admin.configs import AlterConfig, ConfigResource, ConfigSource
from pyk.clients.admin.group_offset_calls import GroupOffsetCalls
from pyk.clients.admin.offset_calls import OffsetCalls
from pyk.clients.admin.offset_resets import (
    OffsetReset,
    ResetTo,
    checked_choice,
    checked_reset,
    offset_spec,
    reset_offset,
)
from pyk.clients.offsets import ListedOffset, OffsetSpec
from pyk.clients.topic_partition import TopicPartition
from pyk.runtime.checked_arguments import checked_flag


class HelperCalls:
    """Carries out the helpers; :class:`AsyncHelperAdmin` documents them."""

    def __init__(
        self, calls: Calls, configs: ConfigCalls, groups: GroupOffsetCalls, offsets: OffsetCalls
    ) -> None:
        self._calls = calls
        self._configs = configs
        self._groups = groups
        self._offsets = offsets

    async def reset_offsets(
        self,
        group_id: str,
        *,
        to: ResetTo,
        partitions: Iterable[TopicPartition] | None,
        dry_run: bool,
        timeout: float | None,
    ) -> dict[TopicPartition, OffsetReset]:
        dry_run = checked_flag(dry_run, "dry_run")
        to = checked_reset(to)
        chosen = checked_choice(to, None if partitions is None else checked_partitions(partitions))
        deadline = await self._calls.begin(timeout)
        before = await self._groups.of_group(
            group_id, None, require_stable=False, timeout=self._calls.remaining(deadline)
        )
        given: Mapping[TopicPartition, int] = to if isinstance(to, Mapping) else {}
        if chosen is None:
            chosen = list(given or before)
        if not chosen:
            return {}
        spec = offset_spec(to, self._calls.client.clock.time_ms())
        found = await self._list(chosen, spec, deadline)
        begins = await self._list(chosen, OffsetSpec.EARLIEST, deadline)
        ends = await self._list(chosen, OffsetSpec.LATEST, deadline)
        resets = {}
        for one in chosen:
            begin, end, old = begins[one], ends[one], before.get(one)
            assert begin is not None
            assert end is not None
            after = reset_offset(given.get(one), found[one], begin, end)
            resets[one] = OffsetReset(None if old is None else old.offset, after)
        if not dry_run:
            await self._groups.alter_consumer_group_offsets(
                group_id,
                {one: reset.after for one, reset in resets.items()},
                timeout=self._calls.remaining(deadline),
            )
        return resets

    async def _list(
        self, partitions: Iterable[TopicPartition], spec: OffsetSpec | int, deadline: float
    ) -> dict[TopicPartition, ListedOffset | None]:
        return await self._offsets.list_offsets(
            dict.fromkeys(partitions, spec),
            read_committed=False,
            timeout=self._calls.remaining(deadline),
        )

    async def copy_topic_config(
        self, source: str, target: str, *, timeout: float | None
    ) -> dict[str, str | None]:
        of_source = ConfigResource.topic(checked_name(source, "a topic"))
        of_target = ConfigResource.topic(checked_name(target, "a topic"))
        deadline = await self._calls.begin(timeout)
        described = await self._configs.describe_configs(
            [of_source],
            documentation=False,
            synonyms=False,
            timeout=self._calls.remaining(deadline),
        )
        own = {
            name: entry.value
            for name, entry in described[of_source].items()
            if entry.source is ConfigSource.TOPIC
        }
        if own:
            changes = {of_target: [AlterConfig(name, value) for name, value in own.items()]}
            await self._configs.incremental_alter_configs(
                changes, validate_only=False, timeout=self._calls.remaining(deadline)
            )
        return own
