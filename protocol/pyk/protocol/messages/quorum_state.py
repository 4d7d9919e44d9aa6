"""The file in which a member of the metadata quorum keeps what it must not forget."""

from __future__ import annotations

from uuid import UUID

from pyk.protocol.schema import Message, Struct, array, data, int32, int64, string, struct, uuid


@struct
class Voter(Struct):
    """A voter of a quorum whose voters are given by the configuration."""

    voter_id: int = int32()


@data(versions="0-1", flexible="0+")
class QuorumStateData(Message):
    """The epoch of a member, the leader it follows and the candidate it has voted for (KIP-595).

    The file ``quorum-state`` holds it as JSON, with its version as ``data_version``.
    """

    cluster_id: str = string(versions="0")
    leader_id: int = int32(default=-1)
    """-1 as long as none is known."""
    leader_epoch: int = int32(default=-1)
    voted_id: int = int32(default=-1)
    """-1 if it has not voted."""
    voted_directory_id: UUID = uuid(versions="1+")
    applied_offset: int = int64(versions="0")
    current_voters: list[Voter] | None = array(Voter, versions="0", nullable="0")
