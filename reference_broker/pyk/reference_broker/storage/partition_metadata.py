"""The ``partition.metadata`` of a log: which topic it belongs to, whatever that is called now."""

from __future__ import annotations

import base64
import binascii
import re
from uuid import UUID

from pyk.reference_broker.storage.errors import StorageError
from pyk.runtime.filesystem.atomic_write import read_if_exists, write_atomically
from pyk.runtime.filesystem.interface import File, FileSystem

FILE_NAME = "partition.metadata"

_CONTENT = re.compile(r"version: 0\ntopic_id: ([A-Za-z0-9_-]{22})\n?")
_BEGINNING = "version: 0\ntopic_id: "
_WHOLE_LENGTH = len(_BEGINNING) + 22


def read_topic_id(filesystem: FileSystem, directory: str) -> UUID | None:
    """Return the id of the topic whose log is in ``directory``, None if it was not written.

    A file of which a power failure took a part, or all, was never flushed, and neither was its log.
    The part that is missing is cut off, or reads as zeros wherever it was.
    """
    path = f"{directory}/{FILE_NAME}"
    content = (read_if_exists(filesystem, path) or b"").rstrip(b"\0")
    text = content.decode("ascii", "replace")
    found = _CONTENT.fullmatch(text)
    if found is not None:
        return decode_id(found[1])
    is_cut_off = _BEGINNING.startswith(text) or (
        text.startswith(_BEGINNING) and len(text) < _WHOLE_LENGTH
    )
    if is_cut_off or "\0" in text:
        return None
    raise StorageError(
        f"{path} is damaged: restore it, as a line 'version: 0' and a line 'topic_id: ' with the "
        "id of the topic; without the file, a start after a crash sets the log aside"
    )


def write_topic_id(filesystem: FileSystem, directory: str, topic_id: UUID) -> None:
    """Write down which topic the log in ``directory`` belongs to.

    Does not wait for the disk: a new log holds nothing worth waiting for. The first flush of its
    records flushes the file too, see ``open_topic_id``.
    """
    content = f"version: 0\ntopic_id: {encode_id(topic_id)}".encode()
    write_atomically(filesystem, f"{directory}/{FILE_NAME}", content, is_durable=False)


def open_topic_id(filesystem: FileSystem, directory: str) -> list[File]:
    """Return the file that ``write_topic_id`` wrote, to be flushed; nothing if there is none."""
    try:
        return [filesystem.open(f"{directory}/{FILE_NAME}")]
    except FileNotFoundError:
        return []


def encode_id(identifier: UUID) -> str:
    """Return Kafka's text form of an id: URL-safe base64 without padding."""
    return base64.urlsafe_b64encode(identifier.bytes).decode().rstrip("=")


def decode_id(text: str) -> UUID:
    """Return the id of Kafka's text form; raise ``ValueError``."""
    try:
        return UUID(bytes=base64.b64decode(text + "==", altchars=b"-_", validate=True))
    except binascii.Error as error:
        raise ValueError(f"{text[:100]!r} is not an id of 22 characters") from error
