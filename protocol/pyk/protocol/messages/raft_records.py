"""Control records of the metadata log and of its snapshots, which the quorum writes for itself.

No version stands in front of these values: their first field is it.
"""

from __future__ import annotations

from uuid import UUID

from pyk.protocol.schema import (
    Message,
    Struct,
    array,
    data,
    int16,
    int32,
    int64,
    nested,
    string,
    struct,
    uint16,
    uuid,
)


@data(versions="0", flexible="0+")
class KRaftVersionRecord(Message):
    """The level of ``kraft.version`` that the quorum runs; 1 lets voters change (KIP-853)."""

    version: int = int16()
    k_raft_version: int = int16()


@data(versions="0", flexible="0+")
class SnapshotHeaderRecord(Message):
    """The first record of a snapshot (KIP-630)."""

    version: int = int16()
    last_contained_log_timestamp: int = int64()
    """When the last record that the snapshot stands for was appended."""


@data(versions="0", flexible="0+")
class SnapshotFooterRecord(Message):
    """The last record of a snapshot: without it the snapshot is not complete (KIP-630)."""

    version: int = int16()


@struct
class Endpoint(Struct):
    """A listener of a voter."""

    name: str = string()
    host: str = string()
    port: int = uint16()


@struct
class KRaftVersionFeature(Struct):
    """The levels of ``kraft.version`` that a voter's software could run."""

    min_supported_version: int = int16()
    max_supported_version: int = int16()


@struct
class Voter(Struct):
    """A voter of the metadata quorum."""

    voter_id: int = int32()
    voter_directory_id: UUID = uuid()
    endpoints: list[Endpoint] = array(Endpoint)
    k_raft_version_feature: KRaftVersionFeature = nested(KRaftVersionFeature)


@data(versions="0", flexible="0+")
class VotersRecord(Message):
    """The voters from this offset on, even before the record is committed (KIP-853)."""

    version: int = int16()
    voters: list[Voter] = array(Voter)
