"""Requests about offsets, and what their answers say; for admin clients and consumers. Pure.

Each name is loaded when it is first used: who lists offsets does not commit any.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyk.runtime.first_use import loaded_on_first_use

if TYPE_CHECKING:
    from pyk.clients.offsets.consumed import (
        ConsumedOffsets,
        ConsumerGroupMetadata,
        TransactionDoubt,
        TransactionOutcome,
        TransactionReads,
    )
    from pyk.clients.offsets.deletions import (
        delete_records_request,
        deleted_offsets,
        deleted_records,
        offset_delete_request,
    )
    from pyk.clients.offsets.epochs import (
        FIRST_VERSION_OF_EPOCH_ENDS,
        EpochQuestion,
        epoch_ends,
        epoch_ends_request,
    )
    from pyk.clients.offsets.groups import (
        COMMIT_VERSION_WITH_TOPIC_IDS,
        FIRST_COMMIT_VERSION,
        FIRST_FETCH_VERSION,
        LAST_COMMIT_VERSION,
        LAST_FETCH_VERSION,
        NO_IDS,
        OUTSIDER,
        Identity,
        TopicIds,
        committed_offsets,
        fetched_offsets,
        offset_commit_request,
        offset_fetch_request,
    )
    from pyk.clients.offsets.logs import (
        list_offsets_request,
        listed_offsets,
    )
    from pyk.clients.offsets.specs import (
        FIRST_LIST_VERSION,
        ListedOffset,
        OffsetSpec,
        first_list_version,
    )

__all__ = [
    "COMMIT_VERSION_WITH_TOPIC_IDS",
    "FIRST_COMMIT_VERSION",
    "FIRST_FETCH_VERSION",
    "FIRST_LIST_VERSION",
    "FIRST_VERSION_OF_EPOCH_ENDS",
    "LAST_COMMIT_VERSION",
    "LAST_FETCH_VERSION",
    "NO_IDS",
    "OUTSIDER",
    "ConsumedOffsets",
    "ConsumerGroupMetadata",
    "EpochQuestion",
    "Identity",
    "ListedOffset",
    "OffsetSpec",
    "TopicIds",
    "TransactionDoubt",
    "TransactionOutcome",
    "TransactionReads",
    "committed_offsets",
    "delete_records_request",
    "deleted_offsets",
    "deleted_records",
    "epoch_ends",
    "epoch_ends_request",
    "fetched_offsets",
    "first_list_version",
    "list_offsets_request",
    "listed_offsets",
    "offset_commit_request",
    "offset_delete_request",
    "offset_fetch_request",
]

_HOMES = {
    "COMMIT_VERSION_WITH_TOPIC_IDS": "groups",
    "FIRST_COMMIT_VERSION": "groups",
    "FIRST_FETCH_VERSION": "groups",
    "FIRST_LIST_VERSION": "specs",
    "FIRST_VERSION_OF_EPOCH_ENDS": "epochs",
    "LAST_COMMIT_VERSION": "groups",
    "LAST_FETCH_VERSION": "groups",
    "NO_IDS": "groups",
    "OUTSIDER": "groups",
    "ConsumedOffsets": "consumed",
    "ConsumerGroupMetadata": "consumed",
    "EpochQuestion": "epochs",
    "Identity": "groups",
    "ListedOffset": "specs",
    "OffsetSpec": "specs",
    "TopicIds": "groups",
    "TransactionDoubt": "consumed",
    "TransactionOutcome": "consumed",
    "TransactionReads": "consumed",
    "committed_offsets": "groups",
    "delete_records_request": "deletions",
    "deleted_offsets": "deletions",
    "deleted_records": "deletions",
    "epoch_ends": "epochs",
    "epoch_ends_request": "epochs",
    "fetched_offsets": "groups",
    "first_list_version": "specs",
    "list_offsets_request": "logs",
    "listed_offsets": "logs",
    "offset_commit_request": "groups",
    "offset_delete_request": "deletions",
    "offset_fetch_request": "groups",
}

__getattr__ = loaded_on_first_use(globals(), _HOMES)
