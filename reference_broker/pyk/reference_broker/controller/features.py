"""The features a cluster agrees on (KIP-584), as far as this broker has them."""

from __future__ import annotations

from pyk.runtime import slotted


@slotted.frozen(kw_only=True)
class Feature:
    """A feature, the levels this software can run, and the one a new cluster is finalized at."""

    name: str
    lowest: int
    highest: int
    finalized: int


TRANSACTION_VERSION = "transaction.version"

FEATURES = (
    # Level 25 is Kafka 4.0's, the first with the record formats that this controller writes.
    Feature(name="metadata.version", lowest=7, highest=25, finalized=25),
    Feature(name="group.version", lowest=0, highest=0, finalized=0),
)
"""``group.version`` 0: only the classic group protocol. ``transaction.version`` is left out."""
