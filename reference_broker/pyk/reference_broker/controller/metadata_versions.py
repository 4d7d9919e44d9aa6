"""What the levels of ``metadata.version`` mean: formats of records, and what they allow. Pure.

Level 7 is 3.3-IV3, the lowest that Apache Kafka 4 runs; 30 is 4.3-IV0.
"""

from __future__ import annotations

LOWEST, HIGHEST = 7, 30

MIGRATION = 8  # 3.4-IV0
SCRAM = 11  # 3.5-IV2
TRANSACTIONS = 13  # 3.6-IV1
DELEGATION_TOKENS = 14  # 3.6-IV2
DIRECTORY_ASSIGNMENT = 17  # 3.7-IV2
ELIGIBLE_LEADER_REPLICAS = 23  # 4.0-IV1
CORDONED_DIRECTORIES = 30  # 4.3-IV0

_WITH_NEW_METADATA = (MIGRATION, SCRAM, TRANSACTIONS, DELEGATION_TOKENS, 15, DIRECTORY_ASSIGNMENT,
                      ELIGIBLE_LEADER_REPLICAS, CORDONED_DIRECTORIES)  # fmt: skip
"""The levels from which there may be metadata that a lower one does not know."""


def may_lose_metadata(current: int, lower: int) -> bool:
    """Return whether a downgrade could meet metadata that the lower level does not know."""
    return any(lower < level <= current for level in _WITH_NEW_METADATA)


def register_broker_version(level: int) -> int:
    """Return the version of RegisterBrokerRecord that is written at a level."""
    if level >= CORDONED_DIRECTORIES:
        return 4
    if level >= DIRECTORY_ASSIGNMENT:
        return 3
    return 2 if level >= MIGRATION else 1


def registration_change_version(level: int) -> int:
    """Return the version of BrokerRegistrationChangeRecord."""
    if level >= CORDONED_DIRECTORIES:
        return 3
    return 2 if level >= DIRECTORY_ASSIGNMENT else 1


def partition_version(level: int) -> int:
    """Return the version of PartitionRecord and PartitionChangeRecord."""
    if level >= ELIGIBLE_LEADER_REPLICAS:
        return 2
    return 1 if level >= DIRECTORY_ASSIGNMENT else 0
