"""The file that tells after a crash which of two logs counts, where one was moving (KIP-113).

A log takes the place of another in three steps, and the broker may be killed between any of them:

1. The copy in directory B is complete, and on the disk. It gets a marker: *this log replaces the
   one of the same name*.
2. The copy loses its ``-future`` suffix. From now on both directories have a log of this name.
3. The log in directory A is renamed for deletion. When that is on the disk, the marker goes.

A start that finds two logs of one name keeps the one with the marker. If something fails after step
2, the log in A is used on, and gets a marker first: *the move with this number was given up*. Then
the log in A counts. Apache Kafka has no such file, and refuses to start between the steps 2 and 3.
"""

from __future__ import annotations

from typing import NamedTuple
from uuid import UUID

from pyk.reference_broker.storage.partition_metadata import encode_id
from pyk.runtime.filesystem.atomic_write import read_if_exists, write_atomically
from pyk.runtime.filesystem.interface import FileSystem

FILE_NAME = "move.metadata"
REPLACES = "replaces"
GIVEN_UP = "given-up"


class MoveMarker(NamedTuple):
    """What is written beside a log about one move."""

    state: str
    move_id: str


NO_MARKER = MoveMarker("", "")


def write_marker(filesystem: FileSystem, directory: str, state: str, move_id: UUID) -> None:
    """Write durably what a move means for the log in ``directory``; raise ``OSError``."""
    content = f"{state} {encode_id(move_id)}\n".encode()
    write_atomically(filesystem, f"{directory}/{FILE_NAME}", content)


def read_marker(filesystem: FileSystem, directory: str) -> MoveMarker:
    """Return the marker beside a log; raise ``OSError``."""
    content = read_if_exists(filesystem, f"{directory}/{FILE_NAME}") or b""
    state, _, move_id = content.decode("ascii", "replace").strip().partition(" ")
    return MoveMarker(state, move_id)


def has_marker(filesystem: FileSystem, directory: str) -> bool:
    """Return whether there is a marker beside a log; raise ``OSError``."""
    return filesystem.exists(f"{directory}/{FILE_NAME}")


def remove_marker(filesystem: FileSystem, directory: str) -> None:
    """Remove the marker of an earlier move, durably; raise ``OSError``."""
    if has_marker(filesystem, directory):
        filesystem.remove(f"{directory}/{FILE_NAME}")
        filesystem.sync_directory(directory)


def counts_less(log: MoveMarker, other: MoveMarker) -> bool:
    """Return whether a log is to be deleted for another one of its name, by their markers."""
    if log.state == REPLACES:
        return other == MoveMarker(GIVEN_UP, log.move_id)
    return other.state == REPLACES and log != MoveMarker(GIVEN_UP, other.move_id)
