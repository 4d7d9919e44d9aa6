"""What the log of a new cluster begins with, and each epoch of its leader. Pure.

The records of a new cluster are those of ``bootstrap.checkpoint``, which ``kafka-storage format``
writes, too: the levels of features, and the credentials of the first users.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from pyk.protocol.messages.control_records import LeaderChangeMessage, Voter
from pyk.protocol.messages.metadata_records import FeatureLevelRecord
from pyk.protocol.schema import Message

from .configs import min_insync_replicas_record
from .features import ELR_VERSION, FEATURES, FEATURES_BY_NAME, METADATA_VERSION
from .image import MetadataImage
from .image_records import quorum_records
from .metadata_versions import TRANSACTIONS
from .quorum import Quorum


def default_bootstrap() -> list[Message]:
    """Return the records of a new cluster that was not formatted for other features."""
    return [
        FeatureLevelRecord(name=feature.name, feature_level=feature.finalized)
        for feature in FEATURES
        if feature.finalized
    ]


def unsupported_features(levels: Mapping[str, int]) -> list[str]:
    """Return what this broker cannot run of a cluster, as text."""
    return [
        f"{name} {level}"
        for name, level in levels.items()
        if name not in FEATURES_BY_NAME
        or not FEATURES_BY_NAME[name].lowest <= level <= FEATURES_BY_NAME[name].highest
    ]


def levels_in(records: Iterable[Message]) -> dict[str, int]:
    """Return the levels of features that records set."""
    return {each.name: each.feature_level for each in records if type(each) is FeatureLevelRecord}


def first_records_of_epoch(
    quorum: Quorum, image: MetadataImage, bootstrap: list[Message], min_insync_replicas: int
) -> list[Message]:
    """Return the records with which a node begins to lead the metadata log."""
    records: list[Message] = [leader_change(quorum.node_id)]
    if quorum.log_end_offset == 0:
        # Voters in the snapshot that format has made: only the log is replicated.
        records += quorum_records(image)
    if image.transaction.is_open:
        from pyk.protocol.messages.metadata_change_records import AbortTransactionRecord

        records.append(AbortTransactionRecord(reason="The controller that began it has ended"))
    if METADATA_VERSION not in image.features:
        records += _in_transaction(bootstrap, min_insync_replicas)
    return records


def leader_change(node_id: int) -> LeaderChangeMessage:
    """Return the record that says who leads, with the vote of the only voter.

    Kafka has a version with the directories of voters, and does not write it.
    """
    voters = [Voter(voter_id=node_id)]
    return LeaderChangeMessage(leader_id=node_id, voters=voters, granting_voters=voters)


def _in_transaction(bootstrap: list[Message], min_insync_replicas: int) -> list[Message]:
    levels = levels_in(bootstrap)
    records = list(bootstrap)
    if levels.get(ELR_VERSION, 0):
        records.append(min_insync_replicas_record(min_insync_replicas))
    if levels[METADATA_VERSION] < TRANSACTIONS:
        return records
    from pyk.protocol.messages.metadata_change_records import (
        BeginTransactionRecord,
        EndTransactionRecord,
    )

    return [BeginTransactionRecord(name="Bootstrap records"), *records, EndTransactionRecord()]
