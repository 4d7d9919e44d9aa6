"""RemoveRaftVoter: remove a controller from the voters of the metadata quorum (KIP-853)."""

from __future__ import annotations

from uuid import UUID

from pyk.protocol.schema import ApiKey, Message, int16, int32, request, response, string, uuid


@request(ApiKey.REMOVE_RAFT_VOTER, versions="0", flexible="0+")
class RemoveRaftVoterRequest(Message):
    """Ask the leader of the quorum to remove a voter; the leader itself can go, too."""

    cluster_id: str | None = string(nullable="0+")
    voter_id: int = int32()
    voter_directory_id: UUID = uuid()
    """Which of the voters that had this id, each with a disk of its own."""


@response(ApiKey.REMOVE_RAFT_VOTER, versions="0", flexible="0+")
class RemoveRaftVoterResponse(Message):
    """Return whether the voter was removed."""

    throttle_time_ms: int = int32()
    error_code: int = int16()
    error_message: str | None = string(nullable="0+", ignorable=True)
