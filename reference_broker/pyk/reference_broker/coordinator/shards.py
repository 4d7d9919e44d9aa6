"""The shards of a broker: one for each partition of an internal topic that it leads."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any
from uuid import UUID

from pyk.protocol.errors import ErrorCode
from pyk.protocol.topics import TopicPartition
from pyk.reference_broker.config import BrokerConfig
from pyk.reference_broker.errors import ApiError
from pyk.runtime import slotted

from .runtime import ShardRuntime
from .shard_kind import Act, BrokerEnvironment, ShardEnvironment, ShardKind, TopicIdOf
from .shard_log import ShardLog


def partition_for(key: str, partition_count: int) -> int:
    """Return the partition of an internal topic that a key belongs to, as Kafka does."""
    code = 0
    encoded = key.encode("utf-16-be", "surrogatepass")
    for high, low in zip(encoded[::2], encoded[1::2], strict=True):
        code = (31 * code + (high << 8 | low)) & 0xFFFFFFFF  # String.hashCode()
    if code < 1 << 31:
        return code % partition_count
    return ((1 << 32) - code & 0x7FFFFFFF) % partition_count  # as Utils.abs() of a negative int


class Shards:
    """The kinds of shards, and the shards of each kind that this broker runs."""

    def __init__(
        self,
        kinds: Iterable[ShardKind],
        config: Callable[[], BrokerConfig],
        new_uuid: Callable[[], UUID],
        environment: BrokerEnvironment,
    ) -> None:
        self.kinds = {kind.topic: kind for kind in kinds}
        self._config = config
        self._new_uuid = new_uuid
        self._environment = environment
        self._acts: dict[str, Act] = {}
        self._runtimes: dict[TopicPartition, ShardRuntime[Any]] = {}
        self._loading: set[TopicPartition] = set()

    def kind_of_keys(self, key_type: int) -> ShardKind | None:
        """Return the kind whose keys FindCoordinator calls ``key_type``, None if there is none."""
        return next((kind for kind in self.kinds.values() if kind.key_type == key_type), None)

    def find(self, topic: str, key: str, partition_count: int) -> ShardRuntime[Any]:
        """Return the shard of a key; raise :class:`ApiError` if this broker runs none for it."""
        if not partition_count:
            raise ApiError(ErrorCode.COORDINATOR_NOT_AVAILABLE)
        name = TopicPartition(topic, partition_for(key, partition_count))
        if name in self._loading:
            raise ApiError(ErrorCode.COORDINATOR_LOAD_IN_PROGRESS)
        runtime = self._runtimes.get(name)
        if runtime is None:
            raise ApiError(ErrorCode.NOT_COORDINATOR)
        return runtime

    def of_topic(self, topic: str) -> list[ShardRuntime[Any]]:
        """Return all shards over partitions of a topic."""
        return [runtime for name, runtime in self._runtimes.items() if name.topic == topic]

    def is_loading(self, topic: str) -> bool:
        """Return whether a shard over a partition of a topic is being loaded."""
        return any(name.topic == topic for name in self._loading)

    def load(
        self, name: TopicPartition, shard_log: ShardLog, topic_id_of: TopicIdOf
    ) -> Iterator[int]:
        """Begin to serve a partition; yield now and then while its log is read.

        What belongs to topics that no longer exist is forgotten: the broker may have ended before
        it did so. Raises ``StorageError`` if the log cannot be read.
        """
        runtime = self._new_runtime(name, shard_log)
        self._loading.add(name)
        try:
            yield from runtime.load()
        finally:
            self._loading.discard(name)
        self._runtimes[name] = runtime
        runtime.tell(lambda shard, _: shard.forget_deleted_topics(topic_id_of))

    def _new_runtime(self, name: TopicPartition, shard_log: ShardLog) -> ShardRuntime[Any]:
        kind = self.kinds[name.topic]
        return ShardRuntime(
            str(name),
            shard_log,
            self._environment.timers,
            self._environment.moment,
            lambda timers: kind.new_shard(
                ShardEnvironment(
                    config=self._config(),
                    current_config=self._config,
                    timers=timers,
                    new_uuid=self._new_uuid,
                    leader_epoch=shard_log.leader_epoch,
                    feature_level=self._feature_level,
                    image=self._environment.image,
                )
            ),
            write_error=kind.write_error,
            act=self._act(kind),
        )

    def _act(self, kind: ShardKind) -> Act:
        """Return what carries out the actions of a kind: one for all of its shards."""
        act = self._acts.get(kind.topic)
        if act is None:
            act = self._acts[kind.topic] = kind.new_act(self._environment)
        return act

    def _feature_level(self, name: str) -> int:
        return self._environment.image.features.get(name, 0)

    def unload(self, name: TopicPartition) -> None:
        """Stop serving a partition, and send all waiters elsewhere."""
        runtime = self._runtimes.pop(name, None)
        if runtime is not None:
            runtime.unload()

    def unload_all(self) -> None:
        """Stop serving everything: the broker ends."""
        for name in list(self._runtimes):
            self.unload(name)

    def high_watermark_moved(self, name: TopicPartition) -> None:
        """Answer what is committed now."""
        runtime = self._runtimes.get(name)
        if runtime is not None:
            runtime.high_watermark_moved()

    def transaction_ended(self, name: TopicPartition, producer_id: int, *, is_commit: bool) -> None:
        """Replay a marker that was appended to the log of a partition.

        A shard that is not loaded yet finds it in its log.
        """
        runtime = self._runtimes.get(name)
        if runtime is not None:
            runtime.transaction_ended(producer_id, is_commit=is_commit)

    def forget_deleted_topics(self, topic_id_of: TopicIdOf) -> None:
        """Let all shards forget what belongs to topics that exist no longer.

        Raises :class:`ApiError` where that could not be written; it can be repeated.
        """
        results: list[ErrorCode] = []
        for runtime in self._runtimes.values():
            runtime.tell(
                lambda shard, _: slotted.evolve(
                    shard.forget_deleted_topics(topic_id_of), when_written=results.append
                )
            )
        for code in filter(None, results):
            raise ApiError(code)
