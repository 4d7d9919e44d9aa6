"""Records of ``__cluster_metadata`` that a controller writes and replays."""

from __future__ import annotations

from uuid import UUID

from pyk.protocol.schema import (
    Message,
    Struct,
    array,
    boolean,
    int8,
    int16,
    int32,
    int64,
    metadata_record,
    string,
    struct,
    uint16,
    uuid,
)


@struct
class BrokerEndpoint(Struct):
    """A listener of a broker."""

    name: str = string()
    host: str = string()
    port: int = uint16()
    security_protocol: int = int16()


@struct
class BrokerFeature(Struct):
    """The levels of a feature that a broker's software could run."""

    name: str = string()
    min_supported_version: int = int16()
    max_supported_version: int = int16()


@metadata_record(0, versions="0-4", flexible="0+")
class RegisterBrokerRecord(Message):
    """A broker has registered; it starts fenced until it has caught up."""

    broker_id: int = int32()
    is_migrating_zk_broker: bool = boolean(versions="2+")
    incarnation_id: UUID = uuid()
    """New with every start of the broker process."""
    broker_epoch: int = int64()
    """New with every registration; the offset of this record."""
    end_points: list[BrokerEndpoint] = array(BrokerEndpoint)
    features: list[BrokerFeature] = array(BrokerFeature)
    rack: str | None = string(nullable="0+")
    fenced: bool = boolean(default=True)
    """A fenced broker leads nothing and clients do not see it."""
    in_controlled_shutdown: bool = boolean(versions="1+")
    log_dirs: list[UUID] = array(uuid, versions="3+", tag=0)
    cordoned_log_dirs: list[UUID] | None = array(
        uuid, versions="4+", nullable="4+", tag=1, default=None
    )
    """Directories that take no new partitions."""


@metadata_record(17, versions="0-3", flexible="0+")
class BrokerRegistrationChangeRecord(Message):
    """Part of a broker's registration has changed; what is not set stays as it was."""

    broker_id: int = int32()
    broker_epoch: int = int64()
    fenced: int = int8(tag=0)
    """-1 no longer, 0 unchanged, 1 now."""
    in_controlled_shutdown: int = int8(versions="1+", tag=1)
    """0 unchanged, 1 now."""
    log_dirs: list[UUID] = array(uuid, versions="2+", tag=2)
    cordoned_log_dirs: list[UUID] | None = array(
        uuid, versions="3+", nullable="3+", tag=3, default=None
    )


@metadata_record(1, versions="0", flexible="0+")
class UnregisterBrokerRecord(Message):
    """A broker has been removed from the cluster for good."""

    broker_id: int = int32()
    broker_epoch: int = int64()


@metadata_record(2, versions="0", flexible="0+")
class TopicRecord(Message):
    """A topic exists."""

    name: str = string()
    topic_id: UUID = uuid()


@metadata_record(3, versions="0-2", flexible="0+")
class PartitionRecord(Message):
    """A partition exists, in this state."""

    partition_id: int = int32(default=-1)
    topic_id: UUID = uuid()
    replicas: list[int] = array(int32)
    isr: list[int] = array(int32)
    removing_replicas: list[int] = array(int32)
    adding_replicas: list[int] = array(int32)
    leader: int = int32(default=-1)
    leader_recovery_state: int = int8(tag=0)
    """1 after an unclean election, until the leader has recovered."""
    leader_epoch: int = int32(default=-1)
    partition_epoch: int = int32(default=-1)
    """Grows with every change of the partition."""
    directories: list[UUID] = array(uuid, versions="1+")
    """The log directory of each replica, in the order of ``replicas``."""
    eligible_leader_replicas: list[int] | None = array(
        int32, versions="2+", nullable="2+", tag=1, default=None
    )
    last_known_elr: list[int] | None = array(
        int32, versions="2+", nullable="2+", tag=2, default=None
    )


@metadata_record(5, versions="0-2", flexible="0+")
class PartitionChangeRecord(Message):
    """Part of a partition's state has changed; what is not set stays as it was."""

    partition_id: int = int32(default=-1)
    topic_id: UUID = uuid()
    isr: list[int] | None = array(int32, nullable="0+", tag=0, default=None)
    leader: int = int32(tag=1, default=-2)
    """-1: no leader; -2: unchanged."""
    replicas: list[int] | None = array(int32, nullable="0+", tag=2, default=None)
    removing_replicas: list[int] | None = array(int32, nullable="0+", tag=3, default=None)
    adding_replicas: list[int] | None = array(int32, nullable="0+", tag=4, default=None)
    leader_recovery_state: int = int8(tag=5, default=-1)
    """-1: unchanged."""
    directories: list[UUID] | None = array(uuid, versions="1+", nullable="1+", tag=8, default=None)
    eligible_leader_replicas: list[int] | None = array(
        int32, versions="2+", nullable="2+", tag=6, default=None
    )
    last_known_elr: list[int] | None = array(
        int32, versions="2+", nullable="2+", tag=7, default=None
    )


@metadata_record(28, versions="0", flexible="0+")
class ClearElrRecord(Message):
    """Eligible leader replicas are forgotten: the rule that made them so has changed (KIP-966)."""

    topic_name: str = string()
    """Empty: of all topics."""


@metadata_record(4, versions="0", flexible="0+")
class ConfigRecord(Message):
    """A dynamic setting of a resource has this value."""

    resource_type: int = int8()
    resource_name: str = string()
    name: str = string()
    value: str | None = string(nullable="0+", secret=True)
    """None deletes the setting."""


@metadata_record(9, versions="0", flexible="0+")
class RemoveTopicRecord(Message):
    """A topic is gone, with all its partitions and settings."""

    topic_id: UUID = uuid()


@metadata_record(12, versions="0", flexible="0+")
class FeatureLevelRecord(Message):
    """The cluster runs a feature at this level; 0 switches it off."""

    name: str = string()
    feature_level: int = int16()


@metadata_record(15, versions="0", flexible="0+")
class ProducerIdsRecord(Message):
    """A block of producer ids has been handed to a broker."""

    broker_id: int = int32()
    broker_epoch: int = int64(default=-1)
    next_producer_id: int = int64()
    """The first id that is still free."""
