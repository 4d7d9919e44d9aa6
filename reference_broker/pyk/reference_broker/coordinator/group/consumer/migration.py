"""How a live group may change between the classic and the consumer protocol (KIP-848). Pure."""

from __future__ import annotations

from enum import StrEnum


class MigrationPolicy(StrEnum):
    """The values of ``group.consumer.migration.policy``.

    Whatever it is, an empty group takes the type of the next member that joins.
    """

    BIDIRECTIONAL = "bidirectional"
    UPGRADE = "upgrade"
    DOWNGRADE = "downgrade"
    DISABLED = "disabled"

    @property
    def allows_upgrade(self) -> bool:
        """Whether the first member with the consumer protocol turns a classic group around."""
        return self in (MigrationPolicy.BIDIRECTIONAL, MigrationPolicy.UPGRADE)

    @property
    def allows_downgrade(self) -> bool:
        """Whether a group becomes classic when the last such member goes."""
        return self in (MigrationPolicy.BIDIRECTIONAL, MigrationPolicy.DOWNGRADE)
