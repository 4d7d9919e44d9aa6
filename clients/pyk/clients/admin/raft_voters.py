"""Voters of the quorum of the metadata log, added and removed (KIP-853). Pure."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any
from uuid import UUID

from pyk.clients.admin.arguments import checked_number
from pyk.clients.errors import KafkaError, error_for
from pyk.protocol.errors import ErrorCode
from pyk.protocol.messages.add_raft_voter import (
    AddRaftVoterRequest,
    AddRaftVoterResponse,
    Listener,
)
from pyk.protocol.messages.remove_raft_voter import RemoveRaftVoterRequest, RemoveRaftVoterResponse
from pyk.runtime import slotted

HIGHEST_PORT = 65_535


@slotted.frozen
class RaftVoterEndpoint:
    """Where the other voters reach a controller, by the name of its listener."""

    listener: str
    host: str
    port: int

    def __attrs_post_init__(self) -> None:
        for what in ("listener", "host"):
            value = getattr(self, what)
            if not isinstance(value, str):
                raise TypeError(f"{what} of RaftVoterEndpoint must be a str, not {value!r}")
        if not 0 < checked_number(self.port, "port of RaftVoterEndpoint") <= HIGHEST_PORT:
            raise ValueError(
                f"port of RaftVoterEndpoint must be from 1 to {HIGHEST_PORT}, not {self.port}"
            )


@slotted.frozen
class RaftVoter:
    """A controller, and which of its disks it votes with."""

    voter_id: int
    directory_id: UUID


def checked_voter(voter_id: Any, directory_id: Any) -> RaftVoter:
    """Return a voter."""
    if not isinstance(directory_id, UUID):
        raise TypeError(
            "a directory id must be a UUID, as describe_metadata_quorum returns it, "
            f"not {directory_id!r}"
        )
    return RaftVoter(checked_number(voter_id, "a voter id"), directory_id)


def checked_endpoints(given: Any) -> list[RaftVoterEndpoint]:
    """Return endpoints; accept a single one as well."""
    if isinstance(given, RaftVoterEndpoint):
        return [given]
    form = "RaftVoterEndpoint(listener, host, port)"
    if isinstance(given, str | bytes) or not isinstance(given, Iterable):
        raise TypeError(f"give a sequence of {form}, not {given!r}")
    found = list(given)
    for one in found:
        if not isinstance(one, RaftVoterEndpoint):
            raise TypeError(f"an endpoint must be {form}, not {one!r}")
    return found


def add_request(
    voter: RaftVoter,
    endpoints: Iterable[RaftVoterEndpoint],
    cluster_id: str | None,
    timeout_ms: int,
) -> AddRaftVoterRequest:
    return AddRaftVoterRequest(
        cluster_id=cluster_id,
        timeout_ms=timeout_ms,
        voter_id=voter.voter_id,
        voter_directory_id=voter.directory_id,
        listeners=[Listener(name=one.listener, host=one.host, port=one.port) for one in endpoints],
    )


def remove_request(voter: RaftVoter, cluster_id: str | None) -> RemoveRaftVoterRequest:
    return RemoveRaftVoterRequest(
        cluster_id=cluster_id, voter_id=voter.voter_id, voter_directory_id=voter.directory_id
    )


def outcome(response: AddRaftVoterResponse | RemoveRaftVoterResponse) -> KafkaError | None:
    """Return the error of a response, None if the voter was added or removed."""
    if response.error_code == ErrorCode.NONE:
        return None
    return error_for(response.error_code, response.error_message, api_key=response.api_key)
