"""The records that an image can be replayed from: what a snapshot holds (KIP-630). Pure."""

from __future__ import annotations

from collections.abc import Iterator

from pyk.protocol.messages.access_records import (
    AccessControlEntryRecord,
    ClientQuotaRecord,
    EntityData,
)
from pyk.protocol.messages.metadata_records import (
    ConfigRecord,
    FeatureLevelRecord,
    PartitionRecord,
    ProducerIdsRecord,
    TopicRecord,
)
from pyk.protocol.messages.raft_records import KRaftVersionRecord
from pyk.protocol.schema import Message
from pyk.reference_broker.security.acls import Acls
from pyk.runtime import slotted

from .client_quotas import ClientQuotasImage
from .features import KRAFT_VERSION, METADATA_VERSION
from .image import MetadataImage, TopicImage

NO_BROKER = -1


def frozen_copy(image: MetadataImage) -> MetadataImage:
    """Return a copy that no later replay changes: a thread may read it. Its values are shared."""
    return MetadataImage(
        topics={
            name: slotted.evolve(topic, partitions=dict(topic.partitions))
            for name, topic in image.topics.items()
        },
        brokers=dict(image.brokers),
        configs={resource: dict(values) for resource, values in image.configs.items()},
        features=dict(image.features),
        voters=image.voters,
        scram_credentials=dict(image.scram_credentials),
        delegation_tokens=dict(image.delegation_tokens),
        acls=Acls(by_id=dict(image.acls.by_id)),
        client_quotas=ClientQuotasImage(
            limits={entity: dict(values) for entity, values in image.client_quotas.limits.items()}
        ),
        next_producer_id=image.next_producer_id,
        record_count=image.record_count,
    )


def quorum_records(image: MetadataImage) -> Iterator[Message]:
    """Yield what a snapshot says of the quorum: nothing while ``kraft.version`` is 0."""
    level = image.features.get(KRAFT_VERSION, 0)
    if level:
        yield KRaftVersionRecord(k_raft_version=level)
        if image.voters is not None:
            yield image.voters


def image_records(image: MetadataImage) -> Iterator[Message]:
    """Yield the records of an image, in the order in which Apache Kafka writes them."""
    yield from _features(image)
    for broker in image.brokers.values():
        yield broker.registration
    for topic in image.topics.values():
        yield from _topic(topic)
    yield from _configs(image)
    yield from _client_quotas(image)
    if image.next_producer_id:
        yield ProducerIdsRecord(
            broker_id=NO_BROKER, broker_epoch=-1, next_producer_id=image.next_producer_id
        )
    yield from _acls(image)
    yield from image.scram_credentials.values()
    yield from image.delegation_tokens.values()


def _features(image: MetadataImage) -> Iterator[Message]:
    # metadata.version is first: it says how the others are to be read.
    names = image.features.keys() - {KRAFT_VERSION}
    for name in sorted(names, key=lambda each: (each != METADATA_VERSION, each)):
        yield FeatureLevelRecord(name=name, feature_level=image.features[name])


def _topic(topic: TopicImage) -> Iterator[Message]:
    yield TopicRecord(name=topic.name, topic_id=topic.topic_id)
    for number, partition in topic.partitions.items():
        yield PartitionRecord(
            partition_id=number,
            topic_id=topic.topic_id,
            replicas=list(partition.replicas),
            isr=list(partition.isr),
            leader=partition.leader,
            leader_epoch=partition.leader_epoch,
            partition_epoch=partition.partition_epoch,
            directories=list(partition.directories),
            eligible_leader_replicas=list(partition.eligible_leader_replicas) or None,
            last_known_elr=list(partition.last_known_elr) or None,
        )


def _configs(image: MetadataImage) -> Iterator[Message]:
    for (resource_type, resource_name), values in image.configs.items():
        for name, value in values.items():
            yield ConfigRecord(
                resource_type=resource_type, resource_name=resource_name, name=name, value=value
            )


def _client_quotas(image: MetadataImage) -> Iterator[Message]:
    for entity, limits in image.client_quotas.limits.items():
        parts = [EntityData(entity_type=kind, entity_name=name) for kind, name in entity]
        for key, value in limits.items():
            yield ClientQuotaRecord(entity=parts, key=key, value=value, remove=False)


def _acls(image: MetadataImage) -> Iterator[Message]:
    for acl_id, acl in image.acls.by_id.items():
        yield AccessControlEntryRecord(
            id=acl_id,
            resource_type=acl.resource_type,
            resource_name=acl.resource_name,
            pattern_type=acl.pattern_type,
            principal=acl.principal,
            host=acl.host,
            operation=acl.operation,
            permission_type=acl.permission_type,
        )
