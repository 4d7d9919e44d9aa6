"""Look at the controller, at topics and at groups by an admin client, and tell what is found."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Mapping, Sequence

from pyk.clients import AsyncAdmin, ConfigResource, OffsetSpec, TopicPartition
from pyk.clients.errors import KafkaError
from pyk.command_line.checks.cluster_state import clock_findings, controller_clock_findings
from pyk.command_line.checks.finding import Finding
from pyk.command_line.checks.groups import (
    Described,
    Lags,
    group_findings,
    is_rebalancing,
    listed_finding,
)
from pyk.command_line.checks.topics import (
    PartitionState,
    TopicState,
    offsets_findings,
    topic_findings,
)
from pyk.protocol.messages.metadata import MetadataResponse, MetadataResponseTopic
from pyk.runtime import slotted
from pyk.runtime.clock import Clock

OFFSETS_TOPIC = "__consumer_offsets"
"""Where brokers keep the offsets of groups: groups need it to work."""
LOOKED_AT_EVERY_SECONDS = 1.0
"""How often a group that rebalances is looked at again."""


@slotted.frozen
class ClusterDiagnosis:
    """What can be seen by an admin client; ``tell`` gets the findings of each check."""

    admin: AsyncAdmin
    clock: Clock
    timeout: float
    """Seconds to wait for a rebalance to end."""
    tell: Callable[[Iterable[Finding]], object]

    async def run(
        self, metadata: MetadataResponse, topics: Sequence[str], groups: Sequence[str]
    ) -> None:
        """Check the clock of the controller, and these topics and groups."""
        await self._controller_clock()
        known = await self.admin.list_topics(internal=True) if topics else {}
        for topic in metadata.topics:
            await self._topic(_topic_state(topic), known, is_named=topic.name in topics)
        for group_id in groups:
            await self._group(group_id)

    async def _controller_clock(self) -> None:
        """Compare clocks: the controller stamps its own entry when it describes the quorum."""
        try:
            quorum = await self.admin.describe_metadata_quorum()
        except KafkaError:  # brokers before 3.0 have none, and others may refuse to describe it
            return
        leader = next((one for one in quorum.voters if one.replica_id == quorum.leader_id), None)
        theirs = None if leader is None else leader.last_fetch_timestamp
        self.tell(controller_clock_findings(theirs, self.clock.time_ms()))

    async def _topic(
        self, state: TopicState, known: Mapping[str, object], *, is_named: bool
    ) -> None:
        minimum = await self._min_in_sync(state)
        if not is_named:
            self.tell(offsets_findings(state, minimum))
            return
        self.tell(topic_findings(state, minimum, known))
        await self._newest_record(state)

    async def _min_in_sync(self, topic: TopicState) -> int | None:
        """Return ``min.insync.replicas`` of a topic, None if the client may not see it."""
        if topic.error_code:
            return None
        resource = ConfigResource.topic(topic.name)
        try:
            entries = (await self.admin.describe_configs([resource]))[resource]
            return int(entries["min.insync.replicas"].value or "")
        except (KafkaError, KeyError, ValueError):
            return None

    async def _newest_record(self, topic: TopicState) -> None:
        led = [TopicPartition(topic.name, p.partition) for p in topic.partitions if p.leader >= 0]
        try:
            found = await self.admin.list_offsets(dict.fromkeys(led, OffsetSpec.MAX_TIMESTAMP))
        except KafkaError:  # brokers before 3.0 do not know it, and others may refuse it
            return
        times = [at.timestamp for at in found.values() if at is not None and at.timestamp]
        self.tell(clock_findings(topic.name, max(times, default=None), self.clock.time_ms()))

    async def _group(self, group_id: str) -> None:
        try:
            described, waited = await self._settled(group_id)
            lags = await self.admin.lag(group_id)
        except KafkaError as error:
            if not await self._share_group(group_id):
                await self._other_group(group_id, error)
        else:
            self.tell(group_findings(group_id, described, lags, waited))

    async def _settled(self, group_id: str) -> tuple[Described, float]:
        """Return a group once it does not rebalance any more, and how long it still did."""
        began = self.clock.now()
        while True:
            found = await self.admin.describe_consumer_groups(
                [group_id], authorized_operations=True
            )
            waited = self.clock.now() - began
            if not is_rebalancing(found[group_id]) or waited >= self.timeout:
                return found[group_id], waited
            await asyncio.sleep(LOOKED_AT_EVERY_SECONDS)

    async def _share_group(self, group_id: str) -> bool:
        """Return whether that is a share group; tell what was found out about it."""
        try:
            found = await self.admin.describe_share_groups([group_id], authorized_operations=True)
            offsets = await self.admin.list_share_group_offsets(group_id)
        except KafkaError:  # brokers before 4.1 have no share groups
            return False
        lags: Lags = {one: at for one, at in offsets.items() if at is not None}
        self.tell(group_findings(group_id, found[group_id], lags))
        return True

    async def _other_group(self, group_id: str, error: KafkaError) -> None:
        try:
            listed = {one.group_id: one for one in await self.admin.list_groups()}
        except KafkaError:
            listed = {}
        self.tell([listed_finding(group_id, error, listed.get(group_id))])


def _topic_state(topic: MetadataResponseTopic) -> TopicState:
    return TopicState(
        topic.name or "",
        topic.error_code,
        tuple(
            PartitionState(
                one.partition_index,
                one.leader_id,
                tuple(one.replica_nodes),
                tuple(one.isr_nodes),
            )
            for one in sorted(topic.partitions, key=lambda one: one.partition_index)
        ),
        topic.topic_authorized_operations,
    )
