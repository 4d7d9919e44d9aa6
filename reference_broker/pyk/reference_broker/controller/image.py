"""The cluster's metadata as of one offset of the metadata log: what replaying its records gives."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TypeVar
from uuid import UUID

from pyk.protocol.messages.access_records import (
    AccessControlEntryRecord,
    ClientQuotaRecord,
    DelegationTokenRecord,
    RemoveAccessControlEntryRecord,
    RemoveDelegationTokenRecord,
    RemoveUserScramCredentialRecord,
    UserScramCredentialRecord,
)
from pyk.protocol.messages.metadata_records import (
    BrokerEndpoint,
    BrokerRegistrationChangeRecord,
    ClearElrRecord,
    ConfigRecord,
    FeatureLevelRecord,
    PartitionChangeRecord,
    PartitionRecord,
    ProducerIdsRecord,
    RegisterBrokerRecord,
    RemoveTopicRecord,
    TopicRecord,
    UnregisterBrokerRecord,
)
from pyk.protocol.messages.raft_records import KRaftVersionRecord, VotersRecord
from pyk.protocol.schema import Message
from pyk.protocol.topics import TopicPartition
from pyk.reference_broker.listeners import Endpoint, SecurityProtocol
from pyk.reference_broker.security.acls import Acl, Acls
from pyk.runtime import slotted

from .client_quotas import ClientQuotasImage
from .features import KRAFT_VERSION, METADATA_VERSION
from .log_dirs import UNASSIGNED_DIRECTORY, is_online_directory
from .metadata_versions import HIGHEST
from .names import unified_name
from .transactions import MetadataTransaction

T = TypeVar("T")

TOPIC_RESOURCE = 2
BROKER_RESOURCE = 4
BROKER_LOGGER_RESOURCE = 8
CLIENT_METRICS_RESOURCE = 16
GROUP_RESOURCE = 32
NO_LEADER = -1
UNCHANGED_LEADER = -2


@slotted.frozen(kw_only=True)
class PartitionImage:
    """The replicas and the leader of a partition."""

    replicas: tuple[int, ...]
    isr: tuple[int, ...]
    leader: int
    leader_epoch: int
    partition_epoch: int
    directories: tuple[UUID, ...] = ()
    """The log directory of each replica, in the order of ``replicas``; none where the log does not
    say."""
    eligible_leader_replicas: tuple[int, ...] = ()
    """Replicas that may lead although they are not in sync (KIP-966)."""
    last_known_elr: tuple[int, ...] = ()

    def directory_of(self, node_id: int) -> UUID:
        """Return the log directory of the replica of a broker."""
        if node_id not in self.replicas or not self.directories:
            return UNASSIGNED_DIRECTORY
        return self.directories[self.replicas.index(node_id)]

    def is_on_failed_directory(self, node_id: int, brokers: Mapping[int, BrokerImage]) -> bool:
        """Return whether the log directory of the replica of a broker has failed."""
        broker = brokers.get(node_id)
        if broker is None:
            return False
        directory = self.directory_of(node_id)
        return not is_online_directory(directory, broker.registration.log_dirs)


@slotted.define(kw_only=True)
class TopicImage:
    """A topic and its partitions by number."""

    name: str
    topic_id: UUID
    partitions: dict[int, PartitionImage] = slotted.field(factory=dict)


@slotted.frozen(kw_only=True)
class BrokerImage:
    """A registered broker and where clients reach it, by listener."""

    node_id: int
    epoch: int
    endpoints: Mapping[str, Endpoint]
    rack: str | None
    is_fenced: bool
    registration: RegisterBrokerRecord
    """All that the broker said, for snapshots."""

    @property
    def takes_partitions(self) -> bool:
        """Whether new partitions may go to the broker: not with all directories cordoned."""
        cordoned = set(self.registration.cordoned_log_dirs or ())
        has_room = not cordoned or not cordoned.issuperset(self.registration.log_dirs)
        return has_room and not self.is_fenced


@slotted.frozen
class PartitionChanged:
    """A partition exists, in this state."""

    topic_partition: TopicPartition
    topic_id: UUID
    partition: PartitionImage


@slotted.frozen
class TopicDeleted:
    """A topic and all its partitions are gone."""

    topic: TopicImage


@slotted.frozen
class ConfigChanged:
    """A configuration of a resource has a new value, or no value of its own any more."""

    resource_type: int
    resource_name: str


Change = PartitionChanged | TopicDeleted | ConfigChanged


@slotted.define
class MetadataImage:
    """All metadata. Changes only by :meth:`replay`."""

    topics: dict[str, TopicImage] = slotted.field(factory=dict)
    topics_by_id: dict[UUID, TopicImage] = slotted.field(factory=dict)
    unified_names: dict[str, str] = slotted.field(factory=dict)
    """The topic of each :func:`~.names.unified_name`: there is at most one."""
    brokers: dict[int, BrokerImage] = slotted.field(factory=dict)
    configs: dict[tuple[int, str], dict[str, str]] = slotted.field(factory=dict)
    """Own values by resource type and name; the empty broker name means all brokers."""
    features: dict[str, int] = slotted.field(factory=dict)
    """The levels that are finalized, without those that are 0."""
    voters: VotersRecord | None = None
    """The voters of the quorum, if the log names them: since ``kraft.version`` is 1."""
    scram_credentials: dict[tuple[str, int], UserScramCredentialRecord] = slotted.field(
        factory=dict
    )
    """By user and number of the mechanism."""
    delegation_tokens: dict[str, DelegationTokenRecord] = slotted.field(factory=dict)
    """By id."""
    acls: Acls = slotted.field(factory=Acls)
    client_quotas: ClientQuotasImage = slotted.field(factory=ClientQuotasImage)
    client_metrics_generation: int = 0
    """How often subscriptions to client metrics have changed."""
    next_producer_id: int = 0
    record_count: int = 0
    """The offset of the next record: how many were replayed, also before a snapshot."""
    transaction: MetadataTransaction = slotted.field(factory=MetadataTransaction)

    def frozen(self) -> MetadataImage:
        """Return a copy whose brokers, topics and partitions stay as they are now."""
        topics = {
            name: slotted.evolve(topic, partitions=dict(topic.partitions))
            for name, topic in dict(self.topics).items()
        }
        return slotted.evolve(
            self,
            topics=topics,
            topics_by_id={topic.topic_id: topic for topic in topics.values()},
            brokers=dict(self.brokers),
        )

    @property
    def metadata_version(self) -> int:
        """The level of ``metadata.version``: what a new cluster begins with is the highest."""
        return self.features.get(METADATA_VERSION, HIGHEST)

    @property
    def partition_count(self) -> int:
        return sum(len(topic.partitions) for topic in self.topics.values())

    def partition(self, topic_partition: TopicPartition) -> PartitionImage | None:
        topic = self.topics.get(topic_partition.topic)
        return topic.partitions.get(topic_partition.partition) if topic else None

    def topic_id(self, name: str) -> UUID | None:
        """Return the id of a topic, None if there is no topic of this name."""
        topic = self.topics.get(name)
        return None if topic is None else topic.topic_id

    def config(self, resource_type: int, resource_name: str) -> dict[str, str]:
        return self.configs.get((resource_type, resource_name), {})

    def replay(self, record: Message) -> list[Change]:
        """Apply one record of the metadata log; return what that changes for brokers."""
        self.record_count += 1
        changes: list[Change] = []
        for each in self.transaction.take(record):
            if apply := _REPLAYS.get(type(each)):
                changes += apply(self, each)
        return changes

    def _topic(self, record: TopicRecord) -> list[Change]:
        topic = TopicImage(name=record.name, topic_id=record.topic_id)
        self.topics[topic.name] = self.topics_by_id[topic.topic_id] = topic
        self.unified_names[unified_name(topic.name)] = topic.name
        return []

    def _partition(self, record: PartitionRecord) -> list[Change]:
        topic = self.topics_by_id[record.topic_id]
        partition = PartitionImage(
            replicas=tuple(record.replicas),
            isr=tuple(record.isr),
            leader=record.leader,
            leader_epoch=record.leader_epoch,
            partition_epoch=record.partition_epoch,
            directories=tuple(record.directories),
            eligible_leader_replicas=tuple(record.eligible_leader_replicas or ()),
            last_known_elr=tuple(record.last_known_elr or ()),
        )
        topic.partitions[record.partition_id] = partition
        name = TopicPartition(topic.name, record.partition_id)
        return [PartitionChanged(name, topic.topic_id, partition)]

    def _partition_change(self, record: PartitionChangeRecord) -> list[Change]:
        topic = self.topics_by_id[record.topic_id]
        known = topic.partitions[record.partition_id]
        has_leader = record.leader != UNCHANGED_LEADER
        partition = slotted.evolve(
            known,
            replicas=_changed(record.replicas, known.replicas),
            isr=_changed(record.isr, known.isr),
            leader=record.leader if has_leader else known.leader,
            leader_epoch=known.leader_epoch + has_leader,
            partition_epoch=known.partition_epoch + 1,
            directories=_changed(record.directories, known.directories),
            eligible_leader_replicas=_changed(
                record.eligible_leader_replicas, known.eligible_leader_replicas
            ),
            last_known_elr=_changed(record.last_known_elr, known.last_known_elr),
        )
        topic.partitions[record.partition_id] = partition
        name = TopicPartition(topic.name, record.partition_id)
        return [PartitionChanged(name, topic.topic_id, partition)]

    def _clear_elr(self, record: ClearElrRecord) -> list[Change]:
        """Forget the eligible leader replicas of a topic, or of all."""
        topics = [self.topics[record.topic_name]] if record.topic_name else self.topics.values()
        changes: list[Change] = []
        for topic in topics:
            for number, known in topic.partitions.items():
                if known.eligible_leader_replicas or known.last_known_elr:
                    change = PartitionChangeRecord(
                        partition_id=number,
                        topic_id=topic.topic_id,
                        eligible_leader_replicas=[],
                        last_known_elr=[],
                    )
                    changes += self._partition_change(change)
        return changes

    def _remove_topic(self, record: RemoveTopicRecord) -> list[Change]:
        topic = self.topics_by_id.pop(record.topic_id)
        del self.topics[topic.name]
        self.unified_names.pop(unified_name(topic.name), None)
        self.configs.pop((TOPIC_RESOURCE, topic.name), None)
        return [TopicDeleted(topic)]

    def _config(self, record: ConfigRecord) -> list[Change]:
        resource = (record.resource_type, record.resource_name)
        self.client_metrics_generation += record.resource_type == CLIENT_METRICS_RESOURCE
        values = self.configs.setdefault(resource, {})
        if record.value is None:
            values.pop(record.name, None)
        else:
            values[record.name] = record.value
        if not values:
            del self.configs[resource]
        return [ConfigChanged(*resource)]

    def _register_broker(self, record: RegisterBrokerRecord) -> list[Change]:
        self.brokers[record.broker_id] = BrokerImage(
            node_id=record.broker_id,
            epoch=record.broker_epoch,
            endpoints={each.name: _endpoint(each) for each in record.end_points},
            rack=record.rack,
            is_fenced=record.fenced,
            registration=record,
        )
        return []

    def _broker_registration_change(self, record: BrokerRegistrationChangeRecord) -> list[Change]:
        known = self.brokers[record.broker_id]
        registration = known.registration
        if record.log_dirs:
            registration = slotted.evolve(registration, log_dirs=list(record.log_dirs))
        if record.cordoned_log_dirs is not None:
            registration = slotted.evolve(
                registration, cordoned_log_dirs=list(record.cordoned_log_dirs)
            )
        self.brokers[record.broker_id] = slotted.evolve(known, registration=registration)
        return []

    def _unregister_broker(self, record: UnregisterBrokerRecord) -> list[Change]:
        self.brokers.pop(record.broker_id, None)
        return []

    def _producer_ids(self, record: ProducerIdsRecord) -> list[Change]:
        self.next_producer_id = record.next_producer_id
        return []

    def _feature_level(self, record: FeatureLevelRecord) -> list[Change]:
        if record.feature_level:
            self.features[record.name] = record.feature_level
        else:
            self.features.pop(record.name, None)  # switched off
        return []

    def _kraft_version(self, record: KRaftVersionRecord) -> list[Change]:
        self.features[KRAFT_VERSION] = record.k_raft_version
        return []

    def _voters(self, record: VotersRecord) -> list[Change]:
        self.voters = record
        return []

    def _scram_credential(self, record: UserScramCredentialRecord) -> list[Change]:
        self.scram_credentials[record.name, record.mechanism] = record
        return []

    def _remove_scram_credential(self, record: RemoveUserScramCredentialRecord) -> list[Change]:
        self.scram_credentials.pop((record.name, record.mechanism), None)
        return []

    def _delegation_token(self, record: DelegationTokenRecord) -> list[Change]:
        self.delegation_tokens[record.token_id] = record
        return []

    def _remove_delegation_token(self, record: RemoveDelegationTokenRecord) -> list[Change]:
        self.delegation_tokens.pop(record.token_id, None)
        return []

    def _acl(self, record: AccessControlEntryRecord) -> list[Change]:
        acl = Acl(
            resource_type=record.resource_type,
            resource_name=record.resource_name,
            pattern_type=record.pattern_type,
            principal=record.principal,
            host=record.host,
            operation=record.operation,
            permission_type=record.permission_type,
        )
        self.acls.add(record.id, acl)
        return []

    def _remove_acl(self, record: RemoveAccessControlEntryRecord) -> list[Change]:
        self.acls.remove(record.id)
        return []

    def _client_quota(self, record: ClientQuotaRecord) -> list[Change]:
        self.client_quotas.replay(record)
        return []


def _changed(new: list[T] | None, known: tuple[T, ...]) -> tuple[T, ...]:
    return known if new is None else tuple(new)


def _endpoint(record: BrokerEndpoint) -> Endpoint:
    return Endpoint(
        listener=record.name,
        protocol=SecurityProtocol(record.security_protocol),
        host=record.host,
        port=record.port,
    )


# A record holds what is known of a credential, and its repr hides the secrets.
_REPLAYS: dict[type[Message], Callable[..., list[Change]]] = {
    TopicRecord: MetadataImage._topic,
    PartitionRecord: MetadataImage._partition,
    PartitionChangeRecord: MetadataImage._partition_change,
    ClearElrRecord: MetadataImage._clear_elr,
    RemoveTopicRecord: MetadataImage._remove_topic,
    ConfigRecord: MetadataImage._config,
    RegisterBrokerRecord: MetadataImage._register_broker,
    BrokerRegistrationChangeRecord: MetadataImage._broker_registration_change,
    UnregisterBrokerRecord: MetadataImage._unregister_broker,
    ProducerIdsRecord: MetadataImage._producer_ids,
    FeatureLevelRecord: MetadataImage._feature_level,
    KRaftVersionRecord: MetadataImage._kraft_version,
    VotersRecord: MetadataImage._voters,
    UserScramCredentialRecord: MetadataImage._scram_credential,
    RemoveUserScramCredentialRecord: MetadataImage._remove_scram_credential,
    DelegationTokenRecord: MetadataImage._delegation_token,
    RemoveDelegationTokenRecord: MetadataImage._remove_delegation_token,
    AccessControlEntryRecord: MetadataImage._acl,
    RemoveAccessControlEntryRecord: MetadataImage._remove_acl,
    ClientQuotaRecord: MetadataImage._client_quota,
}
