"""The errors of the clients.

    KafkaError                          .code .retriable .fatal .txn_requires_abort .definite
    ├── BrokerError                     an answer of a broker: one class per Kafka error code
    │   ├── AuthenticationError         SaslAuthenticationFailedError, SslAuthenticationError, …
    │   ├── AuthorizationError          TopicAuthorizationFailedError, …
    │   ├── UnknownTopicOrPartitionError, NotLeaderOrFollowerError, …
    │   ├── OffsetOutOfRangeError
    │   │   └── TopicRecreatedError     the topic of the offset is gone
    │   ├── RecordTooLargeError, UnsupportedVersionError   found out by the client as well
    │   ├── RequestTimeoutError         no answer in time; also a KafkaTimeoutError
    │   ├── NetworkError
    │   │   ├── NodeUnavailableError    not connected: certainly not applied
    │   │   └── NodeDisconnectedError   connection lost under way
    │   └── UnknownCodeError            a code that this release does not know
    ├── KafkaTimeoutError               (TimeoutError)
    │   └── BufferExhaustedError
    ├── TransactionAbortedError         a record that was not sent because of an abort
    ├── PreparedTransactionEndedError   it cannot be ended as asked any more
    ├── BootstrapError                  (ConnectionError) with .attempts: ConnectionAttempt, Stage
    ├── TooManyOpenFilesError           (OSError)
    ├── MalformedResponseError          bytes that break the protocol
    ├── SeveralErrors                   (ExceptionGroup) with .errors and .results
    ├── ConfigurationError              (ValueError)
    ├── SerializationError              (ValueError)
    │   └── DeserializationError
    ├── CommitFailedError, NoOffsetForPartitionError, LogTruncatedError, WakeupError
    └── StateError                      (RuntimeError)
        ├── ClosedError
        ├── ConcurrentUseError
        └── ForkedClientError

The class of a code is its name in CamelCase: ``GROUP_ID_NOT_FOUND`` is
:class:`GroupIdNotFoundError`. Five are worded otherwise: ``CORRUPT_MESSAGE``
:class:`CorruptRecordError`, ``INVALID_TOPIC_EXCEPTION`` :class:`InvalidTopicError`,
``MESSAGE_TOO_LARGE`` :class:`RecordTooLargeError`, ``NETWORK_EXCEPTION`` :class:`NetworkError`,
``REQUEST_TIMED_OUT`` :class:`RequestTimeoutError`.
"""

from __future__ import annotations

from pyk.clients.errors.advice import advice_for
from pyk.clients.errors.base import (
    BrokerError,
    KafkaError,
    KafkaTimeoutError,
)
from pyk.clients.errors.client import (
    BootstrapError,
    BufferExhaustedError,
    ClosedError,
    ConfigurationError,
    ConnectionAttempt,
    ForkedClientError,
    MalformedResponseError,
    NodeDisconnectedError,
    NodeUnavailableError,
    PreparedTransactionEndedError,
    SerializationError,
    SeveralErrors,
    Stage,
    StateError,
    TooManyOpenFilesError,
    TransactionAbortedError,
)
from pyk.clients.errors.cluster import (
    BrokerIdNotRegisteredError,
    BrokerNotAvailableError,
    ControllerIdNotRegisteredError,
    DuplicateBrokerRegistrationError,
    DuplicateResourceError,
    DuplicateVoterError,
    ElectionNotNeededError,
    EligibleLeadersNotAvailableError,
    FeatureUpdateFailedError,
    InconsistentClusterIdError,
    InconsistentVoterSetError,
    IneligibleReplicaError,
    InvalidConfigError,
    InvalidPartitionsError,
    InvalidRegistrationError,
    InvalidReplicaAssignmentError,
    InvalidReplicationFactorError,
    InvalidRequestError,
    InvalidUpdateVersionError,
    InvalidVoterKeyError,
    ListenerNotFoundError,
    MismatchedEndpointTypeError,
    NetworkError,
    NoReassignmentInProgressError,
    NotControllerError,
    OperationNotAttemptedError,
    PolicyViolationError,
    PreferredLeaderNotAvailableError,
    ReassignmentInProgressError,
    RebootstrapRequiredError,
    RequestTimeoutError,
    ResourceNotFoundError,
    StaleBrokerEpochError,
    StaleControllerEpochError,
    TelemetryTooLargeError,
    ThrottlingQuotaExceededError,
    TopicAlreadyExistsError,
    TopicDeletionDisabledError,
    UnknownControllerIdError,
    UnknownServerError,
    UnknownSubscriptionIdError,
    UnsupportedEndpointTypeError,
    UnsupportedVersionError,
    VoterNotFoundError,
)
from pyk.clients.errors.consumer import (
    CommitFailedError,
    ConcurrentUseError,
    DeserializationError,
    LogTruncatedError,
    NoOffsetForPartitionError,
    WakeupError,
)
from pyk.clients.errors.group import (
    CoordinatorLoadInProgressError,
    CoordinatorNotAvailableError,
    FencedInstanceIdError,
    FencedMemberEpochError,
    GroupDeletionFailedError,
    GroupIdNotFoundError,
    GroupMaxSizeReachedError,
    GroupSubscribedToTopicError,
    IllegalGenerationError,
    InconsistentGroupProtocolError,
    InvalidCommitOffsetSizeError,
    InvalidGroupIdError,
    InvalidRegularExpressionError,
    InvalidSessionTimeoutError,
    MemberIdRequiredError,
    NonEmptyGroupError,
    NotCoordinatorError,
    OffsetMetadataTooLargeError,
    RebalanceInProgressError,
    StaleMemberEpochError,
    StreamsInvalidTopologyEpochError,
    StreamsInvalidTopologyError,
    StreamsTopologyDescriptionUpdateFailedError,
    StreamsTopologyFencedError,
    UnknownMemberIdError,
    UnreleasedInstanceIdError,
    UnstableOffsetCommitError,
    UnsupportedAssignorError,
)
from pyk.clients.errors.partition import (
    CorruptRecordError,
    FencedLeaderEpochError,
    FencedStateEpochError,
    FetchSessionIdNotFoundError,
    FetchSessionTopicIdError,
    InconsistentTopicIdError,
    InvalidFetchSessionEpochError,
    InvalidFetchSizeError,
    InvalidRecordError,
    InvalidRecordStateError,
    InvalidRequiredAcksError,
    InvalidShareSessionEpochError,
    InvalidTimestampError,
    InvalidTopicError,
    KafkaStorageError,
    LeaderNotAvailableError,
    LogDirNotFoundError,
    NewLeaderElectedError,
    NotEnoughReplicasAfterAppendError,
    NotEnoughReplicasError,
    NotLeaderOrFollowerError,
    OffsetMovedToTieredStorageError,
    OffsetNotAvailableError,
    OffsetOutOfRangeError,
    PositionOutOfRangeError,
    RecordListTooLargeError,
    RecordTooLargeError,
    ReplicaNotAvailableError,
    ShareSessionLimitReachedError,
    ShareSessionNotFoundError,
    SnapshotNotFoundError,
    TopicRecreatedError,
    UnknownLeaderEpochError,
    UnknownTopicIdError,
    UnknownTopicOrPartitionError,
    UnsupportedCompressionTypeError,
    UnsupportedForMessageFormatError,
)
from pyk.clients.errors.security import (
    AuthenticationError,
    AuthorizationError,
    ClusterAuthorizationFailedError,
    DelegationTokenAuthDisabledError,
    DelegationTokenAuthorizationFailedError,
    DelegationTokenExpiredError,
    DelegationTokenNotFoundError,
    DelegationTokenOwnerMismatchError,
    DelegationTokenRequestNotAllowedError,
    GroupAuthorizationFailedError,
    IllegalSaslStateError,
    InvalidPrincipalTypeError,
    PrincipalDeserializationFailureError,
    ProxyAuthenticationError,
    SaslAuthenticationFailedError,
    SecurityDisabledError,
    SslAuthenticationError,
    TopicAuthorizationFailedError,
    TransactionalIdAuthorizationFailedError,
    UnacceptableCredentialError,
    UnsupportedSaslMechanismError,
)
from pyk.clients.errors.transaction import (
    ConcurrentTransactionsError,
    DuplicateSequenceNumberError,
    InvalidProducerEpochError,
    InvalidProducerIdMappingError,
    InvalidTransactionTimeoutError,
    InvalidTxnStateError,
    OutOfOrderSequenceNumberError,
    ProducerFencedError,
    TransactionAbortableError,
    TransactionalIdNotFoundError,
    TransactionCoordinatorFencedError,
    UnknownProducerIdError,
)
from pyk.protocol.errors import ErrorCode

__all__ = [
    "AuthenticationError",
    "AuthorizationError",
    "BootstrapError",
    "BrokerError",
    "BrokerIdNotRegisteredError",
    "BrokerNotAvailableError",
    "BufferExhaustedError",
    "ClosedError",
    "ClusterAuthorizationFailedError",
    "CommitFailedError",
    "ConcurrentTransactionsError",
    "ConcurrentUseError",
    "ConfigurationError",
    "ConnectionAttempt",
    "ControllerIdNotRegisteredError",
    "CoordinatorLoadInProgressError",
    "CoordinatorNotAvailableError",
    "CorruptRecordError",
    "DelegationTokenAuthDisabledError",
    "DelegationTokenAuthorizationFailedError",
    "DelegationTokenExpiredError",
    "DelegationTokenNotFoundError",
    "DelegationTokenOwnerMismatchError",
    "DelegationTokenRequestNotAllowedError",
    "DeserializationError",
    "DuplicateBrokerRegistrationError",
    "DuplicateResourceError",
    "DuplicateSequenceNumberError",
    "DuplicateVoterError",
    "ElectionNotNeededError",
    "EligibleLeadersNotAvailableError",
    "FeatureUpdateFailedError",
    "FencedInstanceIdError",
    "FencedLeaderEpochError",
    "FencedMemberEpochError",
    "FencedStateEpochError",
    "FetchSessionIdNotFoundError",
    "FetchSessionTopicIdError",
    "ForkedClientError",
    "GroupAuthorizationFailedError",
    "GroupDeletionFailedError",
    "GroupIdNotFoundError",
    "GroupMaxSizeReachedError",
    "GroupSubscribedToTopicError",
    "IllegalGenerationError",
    "IllegalSaslStateError",
    "InconsistentClusterIdError",
    "InconsistentGroupProtocolError",
    "InconsistentTopicIdError",
    "InconsistentVoterSetError",
    "IneligibleReplicaError",
    "InvalidCommitOffsetSizeError",
    "InvalidConfigError",
    "InvalidFetchSessionEpochError",
    "InvalidFetchSizeError",
    "InvalidGroupIdError",
    "InvalidPartitionsError",
    "InvalidPrincipalTypeError",
    "InvalidProducerEpochError",
    "InvalidProducerIdMappingError",
    "InvalidRecordError",
    "InvalidRecordStateError",
    "InvalidRegistrationError",
    "InvalidRegularExpressionError",
    "InvalidReplicaAssignmentError",
    "InvalidReplicationFactorError",
    "InvalidRequestError",
    "InvalidRequiredAcksError",
    "InvalidSessionTimeoutError",
    "InvalidShareSessionEpochError",
    "InvalidTimestampError",
    "InvalidTopicError",
    "InvalidTransactionTimeoutError",
    "InvalidTxnStateError",
    "InvalidUpdateVersionError",
    "InvalidVoterKeyError",
    "KafkaError",
    "KafkaStorageError",
    "KafkaTimeoutError",
    "LeaderNotAvailableError",
    "ListenerNotFoundError",
    "LogDirNotFoundError",
    "LogTruncatedError",
    "MalformedResponseError",
    "MemberIdRequiredError",
    "MismatchedEndpointTypeError",
    "NetworkError",
    "NewLeaderElectedError",
    "NoOffsetForPartitionError",
    "NoReassignmentInProgressError",
    "NodeDisconnectedError",
    "NodeUnavailableError",
    "NonEmptyGroupError",
    "NotControllerError",
    "NotCoordinatorError",
    "NotEnoughReplicasAfterAppendError",
    "NotEnoughReplicasError",
    "NotLeaderOrFollowerError",
    "OffsetMetadataTooLargeError",
    "OffsetMovedToTieredStorageError",
    "OffsetNotAvailableError",
    "OffsetOutOfRangeError",
    "OperationNotAttemptedError",
    "OutOfOrderSequenceNumberError",
    "PolicyViolationError",
    "PositionOutOfRangeError",
    "PreferredLeaderNotAvailableError",
    "PreparedTransactionEndedError",
    "PrincipalDeserializationFailureError",
    "ProducerFencedError",
    "ProxyAuthenticationError",
    "ReassignmentInProgressError",
    "RebalanceInProgressError",
    "RebootstrapRequiredError",
    "RecordListTooLargeError",
    "RecordTooLargeError",
    "ReplicaNotAvailableError",
    "RequestTimeoutError",
    "ResourceNotFoundError",
    "SaslAuthenticationFailedError",
    "SecurityDisabledError",
    "SerializationError",
    "SeveralErrors",
    "ShareSessionLimitReachedError",
    "ShareSessionNotFoundError",
    "SnapshotNotFoundError",
    "SslAuthenticationError",
    "Stage",
    "StaleBrokerEpochError",
    "StaleControllerEpochError",
    "StaleMemberEpochError",
    "StateError",
    "StreamsInvalidTopologyEpochError",
    "StreamsInvalidTopologyError",
    "StreamsTopologyDescriptionUpdateFailedError",
    "StreamsTopologyFencedError",
    "TelemetryTooLargeError",
    "ThrottlingQuotaExceededError",
    "TooManyOpenFilesError",
    "TopicAlreadyExistsError",
    "TopicAuthorizationFailedError",
    "TopicDeletionDisabledError",
    "TopicRecreatedError",
    "TransactionAbortableError",
    "TransactionAbortedError",
    "TransactionCoordinatorFencedError",
    "TransactionalIdAuthorizationFailedError",
    "TransactionalIdNotFoundError",
    "UnacceptableCredentialError",
    "UnknownCodeError",
    "UnknownControllerIdError",
    "UnknownLeaderEpochError",
    "UnknownMemberIdError",
    "UnknownProducerIdError",
    "UnknownServerError",
    "UnknownSubscriptionIdError",
    "UnknownTopicIdError",
    "UnknownTopicOrPartitionError",
    "UnreleasedInstanceIdError",
    "UnstableOffsetCommitError",
    "UnsupportedAssignorError",
    "UnsupportedCompressionTypeError",
    "UnsupportedEndpointTypeError",
    "UnsupportedForMessageFormatError",
    "UnsupportedSaslMechanismError",
    "UnsupportedVersionError",
    "VoterNotFoundError",
    "WakeupError",
    "error_for",
]


INTERNALS = "Request Request("
"""How Apache Kafka begins a message that prints its objects and nothing for users."""


class UnknownCodeError(BrokerError):
    """A code that this release does not know: from a newer broker, or one that is not Kafka."""


def error_for(
    code: int,
    message: str | None = None,
    *,
    topic: str | None = None,
    partition: int | None = None,
    group_id: str | None = None,
    node_id: int | None = None,
    api_key: int | None = None,
) -> BrokerError:
    """Return the error of a code that a broker answered, to be raised or kept; never for code 0.

    ``message`` is the broker's own, where it sent one; ``api_key`` is that of the request.
    """
    if code == ErrorCode.NONE:
        raise ValueError("code 0 is not an error")
    known = BrokerError.by_code.get(code)
    if not message or message.startswith(INTERNALS):
        meaning = _meaning(known or UnknownCodeError)
    else:
        meaning = _shown(message)
    from pyk.clients.errors.needed_acls import needed_acl

    if advice := needed_acl(api_key, code) or advice_for(api_key, code):
        meaning = f"{meaning.rstrip('.')}; {advice}"
    text = f"{ErrorCode(code).name} ({code}): {meaning}"
    error = (known or UnknownCodeError)(
        text, topic=topic, partition=partition, group_id=group_id, node_id=node_id
    )
    error.code = code
    return error


def _meaning(kind: type[BrokerError]) -> str:
    """Return a class's docstring as one line, without its markup."""
    return " ".join((kind.__doc__ or "").split()).replace("``", "").rstrip(".")


def _shown(message: str) -> str:
    """Return a broker's words fit for a log line: at most 256 characters, none that controls."""
    return "".join(c if c.isprintable() else repr(c)[1:-1] for c in message[:256])
