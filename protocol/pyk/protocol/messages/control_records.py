"""Control records: entries of a partition's log that brokers write for themselves."""

from __future__ import annotations

from uuid import UUID

from pyk.protocol.schema import Message, Struct, array, data, int16, int32, struct, uuid


@data(versions="0")
class ControlRecordTypeSchema(Message):
    """The key of a control record: which kind it is."""

    type: int = int16()
    """0 abort, 1 commit, 2 leader change, 3 snapshot header, 4 snapshot footer, 5 kraft version, 6
    voters."""


@data(versions="0")
class EndTxnMarker(Message):
    """The end of a transaction in one partition; the key says whether it committed or aborted."""

    coordinator_epoch: int = int32()
    """Markers of an older coordinator are ignored."""


@struct
class Voter(Struct):
    """A voter of the metadata quorum."""

    voter_id: int = int32()
    voter_directory_id: UUID = uuid(versions="1+")


@data(versions="0-1", flexible="0+")
class LeaderChangeMessage(Message):
    """The first record of a new leader of the metadata quorum."""

    version: int = int16()
    leader_id: int = int32()
    voters: list[Voter] = array(Voter)
    granting_voters: list[Voter] = array(Voter)
