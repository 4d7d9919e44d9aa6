"""What goes wrong in recorded runs in virtual time."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable
from random import Random

from pyk.protocol.messages.metadata_records import PartitionChangeRecord
from pyk.protocol.messages.update_features import FeatureUpdateKey, UpdateFeaturesRequest
from pyk.reference_broker import AsyncCluster
from pyk.reference_broker.awaiting import value_of
from pyk.reference_broker.broker import Broker
from pyk.reference_broker.controller.records import MetadataRecord
from pyk.reference_broker.coordinator.decision import Decision
from pyk.reference_broker.partition import Partition
from pyk.runtime.simulation import World

GROUP_APIS = (
    *("Produce",) * 4,
    *("Fetch",) * 2,
    *("OffsetCommit",) * 3,
    "ApiVersions",
    "FindCoordinator",
    "Heartbeat",
    "InitProducerId",
    "JoinGroup",
    "ListOffsets",
    "Metadata",
    "OffsetFetch",
    "SyncGroup",
)
TRANSACTION_APIS = (
    *("Produce",) * 3,
    "Fetch",
    "FindCoordinator",
    "Heartbeat",
    "JoinGroup",
    "Metadata",
    "OffsetFetch",
    "SyncGroup",
    *("InitProducerId",) * 2,
    "AddPartitionsToTxn",
    "AddOffsetsToTxn",
    *("TxnOffsetCommit",) * 3,
    *("EndTxn",) * 4,
    *("WriteTxnMarkers",) * 2,
)
COORDINATOR_APIS = {
    "OffsetCommit",
    "OffsetFetch",
    "JoinGroup",
    "SyncGroup",
    "Heartbeat",
    "InitProducerId",
    "AddPartitionsToTxn",
    "AddOffsetsToTxn",
    "TxnOffsetCommit",
    "EndTxn",
}


class Nemesis:
    """What goes wrong with the requests of a cluster, its broker, and the links to it."""

    def __init__(
        self,
        world: World,
        cluster: AsyncCluster,
        random: Random,
        apis: tuple[str, ...] = GROUP_APIS,
        *,
        transaction_versions: tuple[int, ...] = (0, 1, 2),
    ) -> None:
        self.counts: Counter[str] = Counter()
        """How often each kind of fault was ordered."""
        self._world = world
        self._cluster = cluster
        self._random = random
        self._apis = apis
        self._transaction_versions = transaction_versions

    async def run(self, seconds: float) -> None:
        """Let something go wrong every now and then; then all is well again."""
        end = self._world.clock.now() + seconds
        while self._world.clock.now() < end:
            await asyncio.sleep(self._random.uniform(0.1, 1.5))
            await self._pick()()
        self._cluster.faults.clear()
        self._world.network.heal()

    def _pick(self) -> Callable[[], Awaitable[None]]:
        faults = {
            self._break_requests: 14,
            self._reset: 2,
            self._cut: 2,
            self._restart: 1,
            self._move_a_leader: 4,
            self._switch_the_transaction_version: 1 if "EndTxn" in self._apis else 0,
        }
        return self._random.choices(list(faults), list(faults.values()))[0]

    async def _break_requests(self) -> None:
        random, api = self._random, self._random.choice(self._apis)
        rule = self._cluster.faults.on(api).times(random.choice((1, 1, 2, 5)))
        kind = random.choice(
            ("lose the response", "stay silent", "drop", "close", "delay", "error")
        )
        self.counts[f"{api}: {kind}"] += 1
        match kind:
            case "lose the response":
                rule.apply_then_lose_response()
            case "stay silent":
                rule.apply_then_lose_response(half_open=True)
            case "drop":
                rule.drop_before_apply()
            case "close":
                rule.close()
            case "delay":
                rule.delay(random.choice((50, 500, 5_000)))
            case "error":
                rule.error(self._error(api))

    def _error(self, api: str) -> str:
        if api == "Produce":
            return self._random.choice(("NOT_LEADER_OR_FOLLOWER", "NOT_ENOUGH_REPLICAS"))
        if api in COORDINATOR_APIS:
            return self._random.choice(("NOT_COORDINATOR", "COORDINATOR_LOAD_IN_PROGRESS"))
        return "COORDINATOR_NOT_AVAILABLE" if "Coordinator" in api else "NOT_LEADER_OR_FOLLOWER"

    async def _reset(self) -> None:
        self.counts["connections reset"] += 1
        self._world.network.reset("broker")

    async def _cut(self) -> None:
        """Cut a link; other things go wrong until it is healed."""
        client = self._random.choice(self.clients())
        self.counts["links cut"] += 1
        network = self._world.network
        network.cut(client, "broker", one_way=self._random.random() < 0.5)
        seconds = self._random.choice((0.5, 3.0, 15.0))
        asyncio.get_running_loop().call_later(seconds, network.heal, client, "broker")

    async def _restart(self) -> None:
        self.counts["broker killed"] += 1
        await self._cluster.kill()
        await asyncio.sleep(self._random.uniform(0.0, 3.0))
        await self._cluster.start()

    async def _move_a_leader(self) -> None:
        """Let a partition have no leader for a while; then the broker leads it in a new epoch.

        The coordinators of its groups or transactional ids forget all, and load its log again.
        """
        broker = self._cluster._brokers[0]
        open_partitions = broker.services.replicas._partitions
        internal = [name for name in sorted(open_partitions) if name[0] in broker.shards.kinds]
        name = self._random.choice(
            internal if self._random.random() < 0.7 else sorted(open_partitions)
        )
        self.counts[f"leader moved: {name[0]}" if name in internal else "leader moved"] += 1
        partition = open_partitions[name]
        partition.resign(-1, partition.leader_epoch)
        broker.shards.unload(partition.topic_partition)
        await asyncio.sleep(self._random.choice((0.0, 0.5, 3.0)))
        await lead_again(broker, partition)

    async def _switch_the_transaction_version(self) -> None:
        level = self._random.choice(self._transaction_versions)
        self.counts[f"transaction.version {level}"] += 1
        await finalize_transaction_version(self._cluster, level)

    def clients(self) -> list[str]:
        """Return the hosts of clients."""
        return sorted(name for name in self._world._hosts if name != "broker")


async def lead_again(broker: Broker, partition: Partition) -> None:
    """Let a broker lead a partition again that it has resigned from."""
    record = PartitionChangeRecord(
        partition_id=partition.topic_partition.partition,
        topic_id=partition.topic_id,
        leader=broker.node_id,
    )
    await value_of(
        broker.controller.ask(
            lambda _, __: (None, Decision([MetadataRecord(record)])), lambda code: code
        )
    )
    await value_of(broker.follower.caught_up())
    if partition.topic_partition.topic in broker.shards.kinds:
        broker.follower._load_shard(partition)


async def finalize_transaction_version(cluster: AsyncCluster, level: int) -> None:
    """Switch ``transaction.version``."""
    (broker,) = cluster._brokers.values()
    known = broker.image.features.get("transaction.version", 0)
    if known != level:
        update = FeatureUpdateKey(
            feature="transaction.version",
            max_version_level=level,
            upgrade_type=1 if level > known else 2,
        )
        request = UpdateFeaturesRequest(feature_updates=[update])
        response = await value_of(broker.services.controller.send(request))
        assert not response.error_code, response
