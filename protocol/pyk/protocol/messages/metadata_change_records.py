"""Records of the cluster metadata log that only Apache Kafka writes: how brokers, partitions and
controllers change.
"""

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
class ControllerEndpoint(Struct):
    """A listener of a controller."""

    name: str = string()
    host: str = string()
    port: int = uint16()
    security_protocol: int = int16()


@struct
class ControllerFeature(Struct):
    """The levels of a feature that a controller's software could run."""

    name: str = string()
    min_supported_version: int = int16()
    max_supported_version: int = int16()


@metadata_record(27, versions="0", flexible="0+")
class RegisterControllerRecord(Message):
    """A controller has registered (KIP-919)."""

    controller_id: int = int32()
    incarnation_id: UUID = uuid()
    """New with every start of the controller process."""
    zk_migration_ready: bool = boolean()
    """The controller is configured to migrate from ZooKeeper (KIP-866)."""
    end_points: list[ControllerEndpoint] = array(ControllerEndpoint)
    features: list[ControllerFeature] = array(ControllerFeature)


@metadata_record(29, versions="0", flexible="0+")
class UnregisterControllerRecord(Message):
    """A controller has been removed from the cluster for good (KIP-1312)."""

    controller_id: int = int32()


@metadata_record(20, versions="0", flexible="0+")
class NoOpRecord(Message):
    """Nothing: written now and then so that followers can tell that they keep up."""


@metadata_record(7, versions="0", flexible="0+")
class FenceBrokerRecord(Message):
    """A broker is fenced; since 3.3 a BrokerRegistrationChangeRecord says so."""

    id: int = int32()
    epoch: int = int64()


@metadata_record(8, versions="0", flexible="0+")
class UnfenceBrokerRecord(Message):
    """A broker is no longer fenced; since 3.3 a BrokerRegistrationChangeRecord says so."""

    id: int = int32()
    epoch: int = int64()


@metadata_record(23, versions="0", flexible="0+")
class BeginTransactionRecord(Message):
    """The records that follow take effect together or not at all (KIP-868).

    So a controller writes what does not fit into one batch.
    """

    name: str | None = string(nullable="0+", tag=0, default=None)
    """What the transaction is for, for people who read the log."""


@metadata_record(24, versions="0", flexible="0+")
class EndTransactionRecord(Message):
    """The records since BeginTransactionRecord take effect."""


@metadata_record(25, versions="0", flexible="0+")
class AbortTransactionRecord(Message):
    """The records since BeginTransactionRecord never take effect."""

    reason: str | None = string(nullable="0+", tag=0, default=None)


@metadata_record(21, versions="0", flexible="0+")
class ZkMigrationStateRecord(Message):
    """The state of the cluster's migration from ZooKeeper (KIP-866)."""

    zk_migration_state: int = int8()
    """0 never was on ZooKeeper, 2 waits for brokers, 1 writes to both, 3 done."""
