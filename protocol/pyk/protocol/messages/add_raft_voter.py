"""AddRaftVoter: let a controller vote in the metadata quorum (KIP-853)."""

from __future__ import annotations

from uuid import UUID

from pyk.protocol.schema import (
    ApiKey,
    Message,
    Struct,
    array,
    boolean,
    int16,
    int32,
    request,
    response,
    string,
    struct,
    uint16,
    uuid,
)


@struct
class Listener(Struct):
    """An address at which the other voters can reach the new one."""

    name: str = string()
    host: str = string()
    port: int = uint16()


@request(ApiKey.ADD_RAFT_VOTER, versions="0-1", flexible="0+")
class AddRaftVoterRequest(Message):
    """Ask the leader of the quorum to add a voter, one that has nearly caught up with its log.

    Sent by an operator's tool, or by a controller that adds itself
    (``controller.quorum.auto.join.enable``).
    """

    cluster_id: str | None = string(nullable="0+")
    timeout_ms: int = int32()
    voter_id: int = int32()
    voter_directory_id: UUID = uuid()
    """Identifies the voter together with its id: the same node with another disk is another
    voter."""
    listeners: list[Listener] = array(Listener)
    ack_when_committed: bool = boolean(versions="1+", default=True)
    """False answers as soon as the leader has written the change: a controller that adds itself
    cannot fetch, and so help to commit it, while it waits (KIP-1186)."""


@response(ApiKey.ADD_RAFT_VOTER, versions="0-1", flexible="0+")
class AddRaftVoterResponse(Message):
    """Return whether the voter was added."""

    throttle_time_ms: int = int32()
    error_code: int = int16()
    error_message: str | None = string(nullable="0+", ignorable=True)
