"""The controller as an event-sourced shard: requests become metadata records, records the image."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING
from uuid import UUID

from pyk.protocol.messages.metadata_records import (
    BrokerEndpoint,
    BrokerFeature,
    ConfigRecord,
    FeatureLevelRecord,
    PartitionChangeRecord,
    ProducerIdsRecord,
    RegisterBrokerRecord,
)
from pyk.protocol.schema import Message
from pyk.reference_broker.coordinator.decision import Decision
from pyk.runtime.timers import Moment

from .configs import ALL_BROKERS, MIN_INSYNC_REPLICAS, Configs
from .features import FEATURES, update_features
from .image import BROKER_RESOURCE, MetadataImage
from .records import MetadataRecord
from .topics import TopicDefaults, Topics

if TYPE_CHECKING:
    from pyk.protocol.messages.allocate_producer_ids import (
        AllocateProducerIdsRequest,
        AllocateProducerIdsResponse,
    )
    from pyk.protocol.messages.alter_configs import AlterConfigsRequest, AlterConfigsResponse
    from pyk.protocol.messages.broker_registration import (
        BrokerRegistrationRequest,
        BrokerRegistrationResponse,
    )
    from pyk.protocol.messages.create_partitions import (
        CreatePartitionsRequest,
        CreatePartitionsResponse,
    )
    from pyk.protocol.messages.create_topics import CreateTopicsRequest, CreateTopicsResponse
    from pyk.protocol.messages.delete_topics import DeleteTopicsRequest, DeleteTopicsResponse
    from pyk.protocol.messages.incremental_alter_configs import (
        IncrementalAlterConfigsRequest,
        IncrementalAlterConfigsResponse,
    )
    from pyk.protocol.messages.update_features import (
        UpdateFeaturesRequest,
        UpdateFeaturesResponse,
    )

    from .topic_requests import DescribeTopic

PRODUCER_ID_BLOCK_SIZE = 1000


class ControllerShard:
    """All decisions about metadata. Replaying changes the image and nothing else."""

    def __init__(
        self,
        new_uuid: Callable[[], UUID],
        defaults: TopicDefaults,
        describe_topic: DescribeTopic,
    ) -> None:
        self.image = MetadataImage()
        self._topics = Topics(self.image, new_uuid, defaults)
        self._configs = Configs(self.image)
        self._defaults = defaults
        self._describe_topic = describe_topic

    # The modules for whole requests are imported with the first one: a broker must start fast.

    # -- topics ----------------------------------------------------------------------------------

    def create_topics(self, request: CreateTopicsRequest) -> tuple[CreateTopicsResponse, Decision]:
        from .topic_requests import create_topics

        response, records = create_topics(self._topics, request, self._describe_topic)
        return response, _decision(records)

    def create_partitions(
        self, request: CreatePartitionsRequest
    ) -> tuple[CreatePartitionsResponse, Decision]:
        from .topic_requests import create_partitions

        response, records = create_partitions(self._topics, request)
        return response, _decision(records)

    def delete_topics(self, request: DeleteTopicsRequest) -> tuple[DeleteTopicsResponse, Decision]:
        from .topic_requests import delete_topics

        response, records = delete_topics(self._topics, request)
        return response, _decision(records)

    # -- configurations --------------------------------------------------------------------------

    def replace_configs(
        self, request: AlterConfigsRequest
    ) -> tuple[AlterConfigsResponse, Decision]:
        from .config_requests import replace_configs

        response, records = replace_configs(self._configs, request)
        return response, _decision(records)

    def alter_configs(
        self, request: IncrementalAlterConfigsRequest
    ) -> tuple[IncrementalAlterConfigsResponse, Decision]:
        from .config_requests import alter_incrementally

        response, records = alter_incrementally(self._configs, request)
        return response, _decision(records)

    def update_features(
        self, request: UpdateFeaturesRequest
    ) -> tuple[UpdateFeaturesResponse, Decision]:
        """Finalize other levels of features, all of them or none (KIP-584)."""
        response, records = update_features(self.image.features, request)
        return response, _decision(records)

    # -- brokers ---------------------------------------------------------------------------------

    def register_broker(
        self, request: BrokerRegistrationRequest
    ) -> tuple[BrokerRegistrationResponse, Decision]:
        """Give the broker a new epoch; a new cluster also agrees on what all brokers share."""
        from pyk.protocol.messages.broker_registration import BrokerRegistrationResponse

        records: list[Message] = []
        if not self.image.features:
            records += [
                FeatureLevelRecord(name=feature.name, feature_level=feature.finalized)
                for feature in FEATURES
                if feature.finalized
            ]
            records.append(self._min_insync_replicas())
        epoch = self.image.record_count + len(records)  # the offset of the registration
        records.append(_registration(request, epoch))
        return BrokerRegistrationResponse(broker_epoch=epoch), _decision(records)

    def begin_leader_epochs(self, node_id: int) -> tuple[None, Decision]:
        """Let a node lead its partitions in a new epoch: it may have lost records that were read.

        Clients find that out by the epoch (KIP-320). Kafka elects leaders again after each restart.
        """
        records = [
            PartitionChangeRecord(partition_id=number, topic_id=topic.topic_id, leader=node_id)
            for topic in self.image.topics.values()
            for number, partition in topic.partitions.items()
            if partition.leader == node_id
        ]
        return None, _decision(records)

    def _min_insync_replicas(self) -> Message:
        # KIP-966: brokers may not differ in this, so Kafka sets it for all of them.
        return ConfigRecord(
            resource_type=BROKER_RESOURCE,
            resource_name=ALL_BROKERS,
            name=MIN_INSYNC_REPLICAS,
            value=str(self._defaults.min_insync_replicas),
        )

    def allocate_producer_ids(
        self, request: AllocateProducerIdsRequest
    ) -> tuple[AllocateProducerIdsResponse, Decision]:
        """Give a broker the next block of producer ids to hand out."""
        from pyk.protocol.messages.allocate_producer_ids import AllocateProducerIdsResponse

        first = self.image.next_producer_id
        record = ProducerIdsRecord(
            broker_id=request.broker_id,
            broker_epoch=request.broker_epoch,
            next_producer_id=first + PRODUCER_ID_BLOCK_SIZE,
        )
        response = AllocateProducerIdsResponse(
            producer_id_start=first, producer_id_len=PRODUCER_ID_BLOCK_SIZE
        )
        return response, _decision([record])

    # -- replay ----------------------------------------------------------------------------------

    def decode(self, key: bytes | None, value: bytes | None) -> MetadataRecord:
        return MetadataRecord.decode(value)

    def replay(self, record: MetadataRecord) -> None:
        self.image.replay(record.message)

    def loaded(self, moment: Moment) -> list[Decision]:
        return []

    def unloaded(self) -> None:
        """Do nothing: no request waits inside the controller."""


def _registration(request: BrokerRegistrationRequest, epoch: int) -> RegisterBrokerRecord:
    return RegisterBrokerRecord(
        broker_id=request.broker_id,
        incarnation_id=request.incarnation_id,
        broker_epoch=epoch,
        end_points=[
            BrokerEndpoint(name=each.name, host=each.host, port=each.port)
            for each in request.listeners
        ],
        features=[
            BrokerFeature(
                name=feature.name,
                min_supported_version=feature.min_supported_version,
                max_supported_version=feature.max_supported_version,
            )
            for feature in request.features
        ],
        rack=request.rack,
        fenced=False,
    )


def _decision(records: Iterable[Message]) -> Decision:
    return Decision([MetadataRecord(message) for message in records])
