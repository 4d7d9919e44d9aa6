"""Errors that a consumer finds by itself."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyk.clients.errors.base import KafkaError
from pyk.clients.errors.client import SerializationError, StateError

if TYPE_CHECKING:
    from pyk.protocol.records.record import ConsumerRecord


class CommitFailedError(KafkaError):
    """The offsets were not committed: the partitions may belong to another member by now.

    The member that has the partitions now reads the records since the last commit again.
    """


class DeserializationError(SerializationError):
    """A deserializer refused the key or the value of a record, and is the cause of this error.

    ``topic_partition`` and ``offset`` name the record. The position stays before it:
    ``seek(error.topic_partition, error.offset + 1)`` passes over it.
    """

    record: ConsumerRecord
    """The record as it was fetched, with the bytes of its key and value."""


class NoOffsetForPartitionError(KafkaError):
    """No offset is committed, and ``auto_offset_reset="none"`` does not say where to begin."""


class LogTruncatedError(KafkaError):
    """Records that were read are gone from the log: an unclean leader election (KIP-320).

    ``offset`` is where the log and the records that were read diverge. Raised only with
    ``auto_offset_reset="none"``; otherwise reading goes on from there.
    """


class ConcurrentUseError(StateError):
    """The consumer is being used by another thread or task; only one may at a time."""


class WakeupError(KafkaError):
    """``wakeup`` was called. If it is not ``definite``, a commit may have been stored."""

    retriable = True
