"""Errors of brokers about partitions: their leaders, records, offsets and fetches."""

from __future__ import annotations

from pyk.clients.errors.base import BrokerError
from pyk.protocol.errors import ErrorCode


class OffsetOutOfRangeError(BrokerError, code=ErrorCode.OFFSET_OUT_OF_RANGE):
    """The requested offset is before the start of the log or after its end."""


class TopicRecreatedError(OffsetOutOfRangeError):
    """The topic was deleted and created again, so the offset belongs to another topic.

    Raised only with ``auto_offset_reset="none"``; otherwise the new topic is read from its
    beginning.
    """


class CorruptRecordError(BrokerError, code=ErrorCode.CORRUPT_MESSAGE):
    """A record batch does not have the checksum it claims, or is malformed."""


class UnknownTopicOrPartitionError(BrokerError, code=ErrorCode.UNKNOWN_TOPIC_OR_PARTITION):
    """The broker does not host this partition, or the topic does not exist."""


class InvalidFetchSizeError(BrokerError, code=ErrorCode.INVALID_FETCH_SIZE):
    """The number of bytes to fetch is not valid."""


class LeaderNotAvailableError(BrokerError, code=ErrorCode.LEADER_NOT_AVAILABLE):
    """The partition has no leader right now; an election is under way."""


class NotLeaderOrFollowerError(BrokerError, code=ErrorCode.NOT_LEADER_OR_FOLLOWER):
    """The broker does not lead this partition any more, or holds no replica of it."""


class ReplicaNotAvailableError(BrokerError, code=ErrorCode.REPLICA_NOT_AVAILABLE):
    """The replica is not on this broker."""


class RecordTooLargeError(BrokerError, code=ErrorCode.MESSAGE_TOO_LARGE):
    """A record, or its batch, is larger than the limit of client, topic or broker allows."""


class InvalidTopicError(BrokerError, code=ErrorCode.INVALID_TOPIC_EXCEPTION):
    """The topic's name is not allowed, or clients may not use that topic like this."""


class RecordListTooLargeError(BrokerError, code=ErrorCode.RECORD_LIST_TOO_LARGE):
    """The batch is larger than a segment of the partition may be."""


class NotEnoughReplicasError(BrokerError, code=ErrorCode.NOT_ENOUGH_REPLICAS):
    """Too few replicas are in sync (``min.insync.replicas``); nothing was written."""


class NotEnoughReplicasAfterAppendError(
    BrokerError, code=ErrorCode.NOT_ENOUGH_REPLICAS_AFTER_APPEND
):
    """The records were written, but on fewer replicas than ``min.insync.replicas`` asks for."""


class InvalidRequiredAcksError(BrokerError, code=ErrorCode.INVALID_REQUIRED_ACKS):
    """The broker does not know that value of ``acks``."""


class InvalidTimestampError(BrokerError, code=ErrorCode.INVALID_TIMESTAMP):
    """A record's timestamp is too far from the broker's time."""


class UnsupportedForMessageFormatError(BrokerError, code=ErrorCode.UNSUPPORTED_FOR_MESSAGE_FORMAT):
    """The record format that the broker stores cannot do this."""


class KafkaStorageError(BrokerError, code=ErrorCode.KAFKA_STORAGE_ERROR):
    """The broker's disk failed or is full; unless another replica leads, it needs repair."""


class LogDirNotFoundError(BrokerError, code=ErrorCode.LOG_DIR_NOT_FOUND):
    """The broker has no such log directory."""


class FetchSessionIdNotFoundError(BrokerError, code=ErrorCode.FETCH_SESSION_ID_NOT_FOUND):
    """The broker has forgotten the fetch session."""


class InvalidFetchSessionEpochError(BrokerError, code=ErrorCode.INVALID_FETCH_SESSION_EPOCH):
    """The fetch session is at another epoch than the client believes."""


class FencedLeaderEpochError(BrokerError, code=ErrorCode.FENCED_LEADER_EPOCH):
    """The client's leader epoch is older than the broker's: its metadata is stale."""


class UnknownLeaderEpochError(BrokerError, code=ErrorCode.UNKNOWN_LEADER_EPOCH):
    """The client's leader epoch is newer than the broker's: the broker has not caught up yet."""


class UnsupportedCompressionTypeError(BrokerError, code=ErrorCode.UNSUPPORTED_COMPRESSION_TYPE):
    """The broker, or the version of the request, does not support this compression."""


class OffsetNotAvailableError(BrokerError, code=ErrorCode.OFFSET_NOT_AVAILABLE):
    """A new leader does not know its high watermark yet."""


class InvalidRecordError(BrokerError, code=ErrorCode.INVALID_RECORD):
    """A record breaks a rule of its topic, such as one without a key where the topic compacts."""


class UnknownTopicIdError(BrokerError, code=ErrorCode.UNKNOWN_TOPIC_ID):
    """The broker does not know a topic of this id."""


class InconsistentTopicIdError(BrokerError, code=ErrorCode.INCONSISTENT_TOPIC_ID):
    """The topic has another id: it was deleted and made again."""


class FetchSessionTopicIdError(BrokerError, code=ErrorCode.FETCH_SESSION_TOPIC_ID_ERROR):
    """The fetch session mixes topic names and topic ids."""


class NewLeaderElectedError(BrokerError, code=ErrorCode.NEW_LEADER_ELECTED):
    """Another replica became leader while the request was being served."""


class OffsetMovedToTieredStorageError(BrokerError, code=ErrorCode.OFFSET_MOVED_TO_TIERED_STORAGE):
    """The offset is only in tiered storage, where followers do not read."""


class PositionOutOfRangeError(BrokerError, code=ErrorCode.POSITION_OUT_OF_RANGE):
    """The position in the snapshot does not exist."""


class SnapshotNotFoundError(BrokerError, code=ErrorCode.SNAPSHOT_NOT_FOUND):
    """The broker has no such snapshot."""


class InvalidRecordStateError(BrokerError, code=ErrorCode.INVALID_RECORD_STATE):
    """The record is not in a state that allows this acknowledgement (share groups)."""


class ShareSessionNotFoundError(BrokerError, code=ErrorCode.SHARE_SESSION_NOT_FOUND):
    """The broker has forgotten the share session."""


class InvalidShareSessionEpochError(BrokerError, code=ErrorCode.INVALID_SHARE_SESSION_EPOCH):
    """The share session is at another epoch than the client believes."""


class ShareSessionLimitReachedError(BrokerError, code=ErrorCode.SHARE_SESSION_LIMIT_REACHED):
    """The broker holds as many share sessions as it may."""


class FencedStateEpochError(BrokerError, code=ErrorCode.FENCED_STATE_EPOCH):
    """The share coordinator fenced an older state epoch."""
