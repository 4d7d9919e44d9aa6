"""UpdateRaftVoter: a voter of the metadata quorum has changed (KIP-853)."""

from __future__ import annotations

from uuid import UUID

from pyk.protocol.schema import (
    ApiKey,
    Message,
    Struct,
    array,
    int16,
    int32,
    nested,
    request,
    response,
    string,
    struct,
    uint16,
    uuid,
)


@struct
class Listener(Struct):
    """An address at which the other voters can reach this one."""

    name: str = string()
    host: str = string()
    port: int = uint16()


@struct
class KRaftVersionFeature(Struct):
    """The levels of ``kraft.version`` that the voter's software could run."""

    min_supported_version: int = int16()
    max_supported_version: int = int16()


@request(ApiKey.UPDATE_RAFT_VOTER, versions="0", flexible="0+")
class UpdateRaftVoterRequest(Message):
    """Tell the leader of the quorum where a voter can be reached now and what it supports.

    Sent by the voter itself, when that differs from the log.
    """

    cluster_id: str | None = string(nullable="0+")
    current_leader_epoch: int = int32()
    voter_id: int = int32()
    voter_directory_id: UUID = uuid()
    listeners: list[Listener] = array(Listener)
    k_raft_version_feature: KRaftVersionFeature = nested(KRaftVersionFeature)


@struct
class CurrentLeader(Struct):
    """The leader that the node knows of, for a voter that asked the wrong one."""

    leader_id: int = int32(default=-1)
    leader_epoch: int = int32(default=-1)
    host: str = string()
    port: int = int32()


@response(ApiKey.UPDATE_RAFT_VOTER, versions="0", flexible="0+")
class UpdateRaftVoterResponse(Message):
    """Return whether the change was written."""

    throttle_time_ms: int = int32()
    error_code: int = int16()
    current_leader: CurrentLeader = nested(CurrentLeader, tag=0)
