"""Requests about offsets, and what their answers say; for admin clients and consumers. Pure."""

from __future__ import annotations

from pyk.clients.offsets.consumed import (
    ConsumedOffsets,
    ConsumerGroupMetadata,
    TransactionDoubt,
    TransactionOutcome,
    TransactionReads,
)
from pyk.clients.offsets.groups import (
    FIRST_COMMIT_VERSION,
    FIRST_FETCH_VERSION,
    LAST_COMMIT_VERSION,
    LAST_FETCH_VERSION,
    OUTSIDER,
    Identity,
    committed_offsets,
    deleted_offsets,
    fetched_offsets,
    offset_commit_request,
    offset_delete_request,
    offset_fetch_request,
)
from pyk.clients.offsets.logs import (
    FIRST_LIST_VERSION,
    FIRST_VERSION_OF_EPOCH_ENDS,
    EpochQuestion,
    ListedOffset,
    OffsetSpec,
    delete_records_request,
    deleted_records,
    epoch_ends,
    epoch_ends_request,
    list_offsets_request,
    listed_offsets,
)

__all__ = [
    "FIRST_COMMIT_VERSION",
    "FIRST_FETCH_VERSION",
    "FIRST_LIST_VERSION",
    "FIRST_VERSION_OF_EPOCH_ENDS",
    "LAST_COMMIT_VERSION",
    "LAST_FETCH_VERSION",
    "OUTSIDER",
    "ConsumedOffsets",
    "ConsumerGroupMetadata",
    "EpochQuestion",
    "Identity",
    "ListedOffset",
    "OffsetSpec",
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
    "list_offsets_request",
    "listed_offsets",
    "offset_commit_request",
    "offset_delete_request",
    "offset_fetch_request",
]
