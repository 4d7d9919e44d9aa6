"""Log directories as the controller knows them, by ids (KIP-858). Pure."""

from __future__ import annotations

from collections.abc import Container, Sequence
from uuid import UUID

NO_DIRECTORY = UUID(int=0)
"""There is no directory, or the replica is older than their ids."""
UNASSIGNED_DIRECTORY = UUID(int=1)
"""The broker chooses the directory, and tells."""
LOST_DIRECTORY = UUID(int=2)
"""The replica is in a directory that has failed; the broker does not know in which."""


def is_online_directory(directory: UUID, online: Container[UUID]) -> bool:
    """Return whether a replica in a directory can be used, by the directories of its broker."""
    if directory in (NO_DIRECTORY, UNASSIGNED_DIRECTORY) or not online:
        return True
    return directory in online


def default_directory(directories: Sequence[UUID]) -> UUID:
    """Return where a broker with these directories puts a new replica, if that is certain."""
    return directories[0] if len(directories) == 1 else UNASSIGNED_DIRECTORY
