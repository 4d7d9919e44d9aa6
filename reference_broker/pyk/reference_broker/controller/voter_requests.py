"""AddRaftVoter and RemoveRaftVoter (KIP-853), as a quorum of one node answers them. Pure.

The only voter cannot be removed, and no other node can become one: clusters have one node.
"""

from __future__ import annotations

from uuid import UUID

from pyk.protocol.errors import ErrorCode
from pyk.protocol.messages.add_raft_voter import (
    AddRaftVoterRequest,
    AddRaftVoterResponse,
    Listener,
)
from pyk.protocol.messages.remove_raft_voter import (
    RemoveRaftVoterRequest,
    RemoveRaftVoterResponse,
)
from pyk.reference_broker.storage.partition_metadata import encode_id

from .features import KRAFT_VERSION
from .image import MetadataImage
from .quorum import Quorum, quorum_endpoints


def add_voter(
    quorum: Quorum, image: MetadataImage, request: AddRaftVoterRequest
) -> AddRaftVoterResponse:
    """Refuse to add a voter, as Kafka does with one that it cannot connect to."""
    voter = _replica_key(request.voter_id, request.voter_directory_id)
    code = ErrorCode.REQUEST_TIMED_OUT
    message = f"New voter {voter} is not ready to receive requests"
    names = [each.listener for each in quorum_endpoints(quorum, image)]
    if not _is_valid(request.voter_id, request.voter_directory_id):
        code, message = ErrorCode.INVALID_REQUEST, "Add voter request didn't include a valid voter"
    elif names and names[0] not in [each.name for each in request.listeners]:
        code = ErrorCode.INVALID_REQUEST
        message = (
            f"Add voter request didn't include the endpoint ({_endpoints(request.listeners)}) for "
            f"the default listener ListenerName({names[0]})"
        )
    elif KRAFT_VERSION not in image.features:
        code, message = ErrorCode.UNSUPPORTED_VERSION, _fixed("adding")
    elif request.voter_id == quorum.node_id:
        code = ErrorCode.DUPLICATE_VOTER
        message = (
            f"The voter id for {voter} is already part of the set of voters {_voters(quorum)}."
        )
    return AddRaftVoterResponse(error_code=code, error_message=message)


def remove_voter(
    quorum: Quorum, image: MetadataImage, request: RemoveRaftVoterRequest
) -> RemoveRaftVoterResponse:
    """Refuse to remove a voter: the only one stays, and others are not known."""
    voter = _replica_key(request.voter_id, request.voter_directory_id)
    code = ErrorCode.VOTER_NOT_FOUND
    message = f"Cannot remove voter {voter} from the set of voters {_voters(quorum)}"
    if not _is_valid(request.voter_id, request.voter_directory_id):
        code = ErrorCode.INVALID_REQUEST
        message = "Remove voter request didn't include a valid voter"
    elif KRAFT_VERSION not in image.features:
        code, message = ErrorCode.UNSUPPORTED_VERSION, _fixed("removing")
    return RemoveRaftVoterResponse(error_code=code, error_message=message)


def _is_valid(voter_id: int, directory_id: UUID) -> bool:
    return voter_id >= 0 and directory_id.int != 0


def _fixed(what: str) -> str:
    return f"Cluster doesn't support {what} voter because the {KRAFT_VERSION} feature is 0"


def _replica_key(node_id: int, directory_id: UUID) -> str:
    return f"ReplicaKey(id={node_id}, directoryId={encode_id(directory_id)})"


def _voters(quorum: Quorum) -> str:
    return f"[{_replica_key(quorum.node_id, quorum.directory_id)}]"


def _endpoints(listeners: list[Listener]) -> str:
    shown = (
        f"ListenerName({each.name})={each.host}/<unresolved>:{each.port}" for each in listeners
    )
    return f"Endpoints(endpoints={{{', '.join(shown)}}})"
