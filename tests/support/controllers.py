"""A controller over a log in memory, with one registered broker."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any
from uuid import UUID

from pyk.protocol.messages.alter_configs import AlterableConfig as NewConfig
from pyk.protocol.messages.alter_configs import AlterConfigsRequest
from pyk.protocol.messages.alter_configs import AlterConfigsResource as NewResource
from pyk.protocol.messages.broker_registration import BrokerRegistrationRequest, Listener
from pyk.protocol.messages.create_partitions import CreatePartitionsRequest, CreatePartitionsTopic
from pyk.protocol.messages.create_topics import (
    CreatableReplicaAssignment,
    CreatableTopic,
    CreatableTopicConfig,
    CreatableTopicResult,
    CreateTopicsRequest,
)
from pyk.protocol.messages.delete_topics import DeleteTopicsRequest, DeleteTopicState
from pyk.protocol.messages.incremental_alter_configs import (
    AlterableConfig,
    AlterConfigsResource,
    IncrementalAlterConfigsRequest,
)
from pyk.protocol.schema import Message
from pyk.reference_broker.config import BrokerConfigLayers, parse_topic_configs
from pyk.reference_broker.controller.bootstrap import default_bootstrap
from pyk.reference_broker.controller.configs import ConfigOperation
from pyk.reference_broker.controller.image import Change, MetadataImage
from pyk.reference_broker.controller.records import MetadataRecord
from pyk.reference_broker.controller.requests import begin_to_lead, decide
from pyk.reference_broker.controller.shard import ControllerShard
from pyk.reference_broker.controller.topics import TopicDefaults
from pyk.reference_broker.coordinator.runtime import ShardRuntime
from pyk.runtime.timers import Moment, TimerQueue
from support.groups import MemoryShardLog, Waiting


class Controllers:
    """What administrators do to a controller."""

    def __init__(self) -> None:
        self.log = MemoryShardLog()
        self.changes: list[Change] = []
        self.published = MetadataImage()
        self._last_uuid = 0
        self.runtime = self._new_runtime()
        registration = BrokerRegistrationRequest(
            broker_id=0,
            incarnation_id=UUID(int=9),
            listeners=[Listener(name="PLAINTEXT", host="localhost", port=9092)],
            rack=None,
        )
        self.ask(registration)

    @property
    def shard(self) -> ControllerShard:
        return self.runtime._shard

    def ask(self, request: Message) -> Any:
        deferred = self.runtime.ask(lambda shard, _: decide(shard, request), lambda code: code)
        return Waiting(deferred).response

    def restart(self) -> None:
        self.changes.clear()
        self.published = MetadataImage()
        self.runtime = self._new_runtime()

    def _new_runtime(self) -> ShardRuntime[ControllerShard]:
        layers = BrokerConfigLayers.of({})
        runtime = ShardRuntime(
            "controller",
            self.log,
            TimerQueue(lambda _: None),
            lambda: Moment(0, 0),
            lambda _: ControllerShard(
                self._new_uuid,
                TopicDefaults(partitions=2, replication_factor=1),
                lambda own: layers.describe_topic(parse_topic_configs(own)),
            ),
            publish=self._publish,
        )
        for _ in runtime.load():
            pass
        runtime.tell(lambda shard, _: begin_to_lead(shard, default_bootstrap()))
        return runtime

    def _publish(self, records: Iterable[MetadataRecord]) -> None:
        for record in records:
            self.changes += self.published.replay(record.message)

    def _new_uuid(self) -> UUID:
        self._last_uuid += 1
        return UUID(int=self._last_uuid)

    def create(self, *topics: CreatableTopic, **more: Any) -> list[CreatableTopicResult]:
        request = CreateTopicsRequest(topics=list(topics), **more)
        results: list[CreatableTopicResult] = self.ask(request).topics
        return results

    def add_partitions(self, name: str, count: int, **more: Any) -> Any:
        topic = CreatePartitionsTopic(
            name=name, count=count, assignments=more.pop("assignments", None)
        )
        request = CreatePartitionsRequest(topics=[topic], **more)
        return self.ask(request).results[0]

    def delete(self, *states: DeleteTopicState) -> Any:
        request = DeleteTopicsRequest(topics=list(states))
        return self.ask(request).responses

    def alter(
        self,
        kind: int,
        name: str,
        *operations: tuple[ConfigOperation, str, str | None],
        validate_only: bool = False,
    ) -> Any:
        configs = [
            AlterableConfig(name=key, config_operation=operation, value=value)
            for operation, key, value in operations
        ]
        resource = AlterConfigsResource(resource_type=kind, resource_name=name, configs=configs)
        request = IncrementalAlterConfigsRequest(resources=[resource], validate_only=validate_only)
        return self.ask(request).responses[0]

    def replace(self, kind: int, name: str, configs: dict[str, str]) -> Any:
        resource = NewResource(
            resource_type=kind,
            resource_name=name,
            configs=[NewConfig(name=key, value=value) for key, value in configs.items()],
        )
        request = AlterConfigsRequest(resources=[resource])
        return self.ask(request).responses[0]


def topic(
    name: str,
    partitions: int = 1,
    replication_factor: int = 1,
    assignments: list[list[int]] | None = None,
    **configs: str | None,
) -> CreatableTopic:
    return CreatableTopic(
        name=name,
        num_partitions=partitions if assignments is None else -1,
        replication_factor=replication_factor if assignments is None else -1,
        assignments=[
            CreatableReplicaAssignment(partition_index=number, broker_ids=brokers)
            for number, brokers in enumerate(assignments or ())
        ],
        configs=[
            CreatableTopicConfig(name=key.replace("_", "."), value=value)
            for key, value in configs.items()
        ],
    )
