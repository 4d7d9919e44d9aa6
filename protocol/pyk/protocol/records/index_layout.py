"""The entries of the index files of a segment, as Kafka stores them.

The offset index and the time index are sorted, hold an entry about every ``index.interval.bytes``,
and count offsets from the base offset of their segment. Kafka allocates the file of an active
segment in advance: zeros may follow its entries. The transaction index has an entry for each
aborted transaction.
"""

from __future__ import annotations

from struct import Struct

OFFSET_INDEX_ENTRY = Struct(">ii")
"""The last offset of a batch, and the position where that batch begins."""
TIME_INDEX_ENTRY = Struct(">qi")
"""A timestamp, and the offset up to which no record is newer."""
TRANSACTION_INDEX_ENTRY = Struct(">hqqqq")
"""The version 0, a producer id, the first offset of its aborted transaction, the offset of the
marker, and the last stable offset behind that."""
