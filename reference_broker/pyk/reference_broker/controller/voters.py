"""The voters of the quorum as the log names them, once ``kraft.version`` is 1 (KIP-853). Pure."""

from __future__ import annotations

from pyk.protocol.messages.raft_records import (
    Endpoint,
    KRaftVersionFeature,
    KRaftVersionRecord,
    Voter,
    VotersRecord,
)
from pyk.protocol.schema import Message

from .features import FEATURES_BY_NAME, KRAFT_VERSION
from .image import MetadataImage
from .quorum import Quorum, quorum_endpoints


def voter_set(quorum: Quorum, image: MetadataImage) -> tuple[Message, Message]:
    """Return the records that set ``kraft.version`` to 1, with this node as the only voter."""
    feature = FEATURES_BY_NAME[KRAFT_VERSION]
    voter = Voter(
        voter_id=quorum.node_id,
        voter_directory_id=quorum.directory_id,
        endpoints=[
            Endpoint(name=one.listener, host=one.host, port=one.port)
            for one in quorum_endpoints(quorum, image)
        ],
        k_raft_version_feature=KRaftVersionFeature(
            min_supported_version=feature.lowest, max_supported_version=feature.highest
        ),
    )
    return KRaftVersionRecord(k_raft_version=feature.highest), VotersRecord(voters=[voter])
