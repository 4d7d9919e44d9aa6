"""Kafka's error codes with what each allows a client to do, and the errors that bad bytes raise."""

from __future__ import annotations

from enum import Flag, IntEnum, auto
from typing import Self


class ErrorFact(Flag):
    """The facts that an error code tells; Kafka's exception hierarchy, flattened."""

    NOTHING = 0
    RETRIABLE = auto()
    REFRESH = auto()
    INVALIDATES_METADATA = auto()
    TRANSACTION_ABORTABLE = auto()
    APPLICATION_RECOVERABLE = auto()
    INVALID_CONFIGURATION = auto()
    AUTHORIZATION = auto()
    AUTHENTICATION = auto()


NOTHING = ErrorFact.NOTHING
RETRIABLE = ErrorFact.RETRIABLE
REFRESH = RETRIABLE | ErrorFact.REFRESH
STALE_METADATA = REFRESH | ErrorFact.INVALIDATES_METADATA
ABORTABLE = ErrorFact.TRANSACTION_ABORTABLE
RECOVERABLE = ErrorFact.APPLICATION_RECOVERABLE
CONFIGURATION = ErrorFact.INVALID_CONFIGURATION
AUTHORIZATION = ErrorFact.AUTHORIZATION
AUTHENTICATION = ErrorFact.AUTHENTICATION


class ErrorCode(IntEnum):
    """The error codes of responses.

    ``ErrorCode(code)`` never fails: a code that a newer broker invented gives an unlisted member
    that allows nothing.
    """

    facts: ErrorFact

    def __new__(cls, code: int, facts: ErrorFact = NOTHING) -> Self:
        member = int.__new__(cls, code)
        member._value_ = code
        member.facts = facts
        return member

    @classmethod
    def _missing_(cls, value: object) -> ErrorCode | None:
        if not isinstance(value, int):
            return None
        unknown = int.__new__(cls, value)
        unknown._name_ = f"UNKNOWN_CODE_{value}"
        unknown._value_ = value
        unknown.facts = NOTHING
        return unknown

    @property
    def retriable(self) -> bool:
        """The same request may succeed later."""
        return ErrorFact.RETRIABLE in self.facts

    @property
    def refresh(self) -> bool:
        """Retriable once metadata or the coordinator has been looked up again."""
        return ErrorFact.REFRESH in self.facts

    @property
    def invalidates_metadata(self) -> bool:
        """The cached leader is wrong."""
        return ErrorFact.INVALIDATES_METADATA in self.facts

    @property
    def transaction_abortable(self) -> bool:
        """The transaction must be aborted; its producer may go on."""
        return ErrorFact.TRANSACTION_ABORTABLE in self.facts

    @property
    def application_recoverable(self) -> bool:
        """This member or producer cannot go on; a new one can take over."""
        return ErrorFact.APPLICATION_RECOVERABLE in self.facts

    @property
    def invalid_configuration(self) -> bool:
        """The request fails until a configuration is changed."""
        return ErrorFact.INVALID_CONFIGURATION in self.facts

    @property
    def authorization(self) -> bool:
        """The principal may not do this."""
        return ErrorFact.AUTHORIZATION in self.facts

    @property
    def authentication(self) -> bool:
        """The broker did not authenticate the client."""
        return ErrorFact.AUTHENTICATION in self.facts

    UNKNOWN_SERVER_ERROR = -1
    NONE = 0
    OFFSET_OUT_OF_RANGE = 1
    CORRUPT_MESSAGE = 2, RETRIABLE
    UNKNOWN_TOPIC_OR_PARTITION = 3, STALE_METADATA
    INVALID_FETCH_SIZE = 4
    LEADER_NOT_AVAILABLE = 5, STALE_METADATA
    NOT_LEADER_OR_FOLLOWER = 6, STALE_METADATA
    REQUEST_TIMED_OUT = 7, RETRIABLE
    BROKER_NOT_AVAILABLE = 8
    REPLICA_NOT_AVAILABLE = 9, STALE_METADATA
    MESSAGE_TOO_LARGE = 10
    STALE_CONTROLLER_EPOCH = 11
    OFFSET_METADATA_TOO_LARGE = 12
    NETWORK_EXCEPTION = 13, STALE_METADATA
    COORDINATOR_LOAD_IN_PROGRESS = 14, RETRIABLE
    COORDINATOR_NOT_AVAILABLE = 15, REFRESH
    NOT_COORDINATOR = 16, REFRESH
    INVALID_TOPIC_EXCEPTION = 17, CONFIGURATION
    RECORD_LIST_TOO_LARGE = 18, CONFIGURATION
    NOT_ENOUGH_REPLICAS = 19, RETRIABLE
    NOT_ENOUGH_REPLICAS_AFTER_APPEND = 20, RETRIABLE
    INVALID_REQUIRED_ACKS = 21, CONFIGURATION
    ILLEGAL_GENERATION = 22, RECOVERABLE
    INCONSISTENT_GROUP_PROTOCOL = 23
    INVALID_GROUP_ID = 24
    UNKNOWN_MEMBER_ID = 25, RECOVERABLE
    INVALID_SESSION_TIMEOUT = 26
    REBALANCE_IN_PROGRESS = 27
    INVALID_COMMIT_OFFSET_SIZE = 28
    TOPIC_AUTHORIZATION_FAILED = 29, CONFIGURATION | AUTHORIZATION
    GROUP_AUTHORIZATION_FAILED = 30, CONFIGURATION | AUTHORIZATION
    CLUSTER_AUTHORIZATION_FAILED = 31, CONFIGURATION | AUTHORIZATION
    INVALID_TIMESTAMP = 32
    UNSUPPORTED_SASL_MECHANISM = 33, CONFIGURATION | AUTHENTICATION
    ILLEGAL_SASL_STATE = 34, CONFIGURATION | AUTHENTICATION
    UNSUPPORTED_VERSION = 35, CONFIGURATION
    TOPIC_ALREADY_EXISTS = 36
    INVALID_PARTITIONS = 37
    INVALID_REPLICATION_FACTOR = 38, CONFIGURATION
    INVALID_REPLICA_ASSIGNMENT = 39
    INVALID_CONFIG = 40, CONFIGURATION
    NOT_CONTROLLER = 41, RETRIABLE
    INVALID_REQUEST = 42
    UNSUPPORTED_FOR_MESSAGE_FORMAT = 43, CONFIGURATION
    POLICY_VIOLATION = 44
    OUT_OF_ORDER_SEQUENCE_NUMBER = 45
    DUPLICATE_SEQUENCE_NUMBER = 46
    INVALID_PRODUCER_EPOCH = 47, RECOVERABLE
    INVALID_TXN_STATE = 48
    INVALID_PRODUCER_ID_MAPPING = 49, RECOVERABLE
    INVALID_TRANSACTION_TIMEOUT = 50
    CONCURRENT_TRANSACTIONS = 51, RETRIABLE
    TRANSACTION_COORDINATOR_FENCED = 52
    TRANSACTIONAL_ID_AUTHORIZATION_FAILED = 53, CONFIGURATION | AUTHORIZATION
    SECURITY_DISABLED = 54
    OPERATION_NOT_ATTEMPTED = 55
    KAFKA_STORAGE_ERROR = 56, STALE_METADATA
    LOG_DIR_NOT_FOUND = 57
    SASL_AUTHENTICATION_FAILED = 58, CONFIGURATION | AUTHENTICATION
    UNKNOWN_PRODUCER_ID = 59
    REASSIGNMENT_IN_PROGRESS = 60
    DELEGATION_TOKEN_AUTH_DISABLED = 61
    DELEGATION_TOKEN_NOT_FOUND = 62
    DELEGATION_TOKEN_OWNER_MISMATCH = 63
    DELEGATION_TOKEN_REQUEST_NOT_ALLOWED = 64
    DELEGATION_TOKEN_AUTHORIZATION_FAILED = 65, CONFIGURATION | AUTHORIZATION
    DELEGATION_TOKEN_EXPIRED = 66
    INVALID_PRINCIPAL_TYPE = 67
    NON_EMPTY_GROUP = 68
    GROUP_ID_NOT_FOUND = 69
    FETCH_SESSION_ID_NOT_FOUND = 70, RETRIABLE
    INVALID_FETCH_SESSION_EPOCH = 71, RETRIABLE
    LISTENER_NOT_FOUND = 72, STALE_METADATA
    TOPIC_DELETION_DISABLED = 73
    FENCED_LEADER_EPOCH = 74, STALE_METADATA
    UNKNOWN_LEADER_EPOCH = 75, RETRIABLE
    UNSUPPORTED_COMPRESSION_TYPE = 76
    STALE_BROKER_EPOCH = 77
    OFFSET_NOT_AVAILABLE = 78, RETRIABLE
    MEMBER_ID_REQUIRED = 79
    PREFERRED_LEADER_NOT_AVAILABLE = 80, STALE_METADATA
    GROUP_MAX_SIZE_REACHED = 81
    FENCED_INSTANCE_ID = 82, RECOVERABLE
    ELIGIBLE_LEADERS_NOT_AVAILABLE = 83, STALE_METADATA
    ELECTION_NOT_NEEDED = 84, STALE_METADATA
    NO_REASSIGNMENT_IN_PROGRESS = 85
    GROUP_SUBSCRIBED_TO_TOPIC = 86
    INVALID_RECORD = 87, CONFIGURATION
    UNSTABLE_OFFSET_COMMIT = 88, RETRIABLE
    THROTTLING_QUOTA_EXCEEDED = 89, RETRIABLE
    PRODUCER_FENCED = 90, RECOVERABLE
    RESOURCE_NOT_FOUND = 91
    DUPLICATE_RESOURCE = 92
    UNACCEPTABLE_CREDENTIAL = 93
    INCONSISTENT_VOTER_SET = 94
    INVALID_UPDATE_VERSION = 95
    FEATURE_UPDATE_FAILED = 96
    PRINCIPAL_DESERIALIZATION_FAILURE = 97
    SNAPSHOT_NOT_FOUND = 98
    POSITION_OUT_OF_RANGE = 99
    UNKNOWN_TOPIC_ID = 100, STALE_METADATA
    DUPLICATE_BROKER_REGISTRATION = 101
    BROKER_ID_NOT_REGISTERED = 102
    INCONSISTENT_TOPIC_ID = 103, STALE_METADATA
    INCONSISTENT_CLUSTER_ID = 104
    TRANSACTIONAL_ID_NOT_FOUND = 105
    FETCH_SESSION_TOPIC_ID_ERROR = 106, RETRIABLE
    INELIGIBLE_REPLICA = 107
    NEW_LEADER_ELECTED = 108
    OFFSET_MOVED_TO_TIERED_STORAGE = 109
    FENCED_MEMBER_EPOCH = 110
    UNRELEASED_INSTANCE_ID = 111
    UNSUPPORTED_ASSIGNOR = 112
    STALE_MEMBER_EPOCH = 113
    MISMATCHED_ENDPOINT_TYPE = 114
    UNSUPPORTED_ENDPOINT_TYPE = 115
    UNKNOWN_CONTROLLER_ID = 116
    UNKNOWN_SUBSCRIPTION_ID = 117
    TELEMETRY_TOO_LARGE = 118
    INVALID_REGISTRATION = 119
    TRANSACTION_ABORTABLE = 120, ABORTABLE
    INVALID_RECORD_STATE = 121
    SHARE_SESSION_NOT_FOUND = 122, RETRIABLE
    INVALID_SHARE_SESSION_EPOCH = 123, RETRIABLE
    FENCED_STATE_EPOCH = 124
    INVALID_VOTER_KEY = 125
    DUPLICATE_VOTER = 126
    VOTER_NOT_FOUND = 127
    INVALID_REGULAR_EXPRESSION = 128
    REBOOTSTRAP_REQUIRED = 129
    STREAMS_INVALID_TOPOLOGY = 130
    STREAMS_INVALID_TOPOLOGY_EPOCH = 131
    STREAMS_TOPOLOGY_FENCED = 132
    SHARE_SESSION_LIMIT_REACHED = 133, RETRIABLE
    GROUP_DELETION_FAILED = 134
    STREAMS_TOPOLOGY_DESCRIPTION_UPDATE_FAILED = 135
    CONTROLLER_ID_NOT_REGISTERED = 136


class ProtocolError(Exception):
    """The peer's bytes break the protocol; the connection that carried them is lost."""


class MalformedMessageError(ProtocolError):
    """Bytes that are not a valid message of the expected kind; the text says where."""


class UnsupportedVersionError(ProtocolError, ValueError):
    """A version that the message does not have, or that the two sides do not share."""


class UnknownMessageError(ProtocolError, LookupError):
    """A message, API key or record type that pyk has no class for."""


class EncodeError(ValueError):
    """The caller's value does not fit its field, or the version to encode has no room for it."""
