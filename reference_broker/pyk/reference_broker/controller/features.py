"""The features that a cluster agrees on (KIP-584), and their levels. Pure."""

from __future__ import annotations

from pyk.runtime import slotted

from . import metadata_versions

METADATA_VERSION = "metadata.version"
KRAFT_VERSION = "kraft.version"
TRANSACTION_VERSION = "transaction.version"
GROUP_VERSION = "group.version"
SHARE_VERSION = "share.version"
STREAMS_VERSION = "streams.version"
ELR_VERSION = "eligible.leader.replicas.version"


@slotted.frozen(kw_only=True)
class Feature:
    """A feature, the levels this software can run, and the one a new cluster is finalized at."""

    name: str
    lowest: int
    highest: int
    finalized: int


FEATURES = (
    Feature(
        name=METADATA_VERSION,
        lowest=metadata_versions.LOWEST,
        highest=metadata_versions.HIGHEST,
        finalized=metadata_versions.HIGHEST,
    ),
    Feature(name=KRAFT_VERSION, lowest=0, highest=1, finalized=0),
    Feature(name=ELR_VERSION, lowest=0, highest=1, finalized=1),
    Feature(name=GROUP_VERSION, lowest=0, highest=1, finalized=1),
    Feature(name=SHARE_VERSION, lowest=0, highest=1, finalized=1),
    Feature(name=STREAMS_VERSION, lowest=0, highest=1, finalized=1),
    Feature(name=TRANSACTION_VERSION, lowest=0, highest=2, finalized=2),
)
"""Those of Apache Kafka 4.3.1, and what its format command finalizes for a fixed quorum.

With ``group.version`` 1 there are groups that the coordinator assigns (KIP-848), with
``share.version`` 1 share groups (KIP-932), with ``streams.version`` 1 streams groups (KIP-1071).

``transaction.version`` 1 keeps more in the records of ``__transaction_state``; with 2 producers add
partitions by writing to them and get a new epoch with each transaction (KIP-890).
``eligible.leader.replicas.version`` 1 is about replicas on other nodes (KIP-966).
"""

FEATURES_BY_NAME = {feature.name: feature for feature in FEATURES}
