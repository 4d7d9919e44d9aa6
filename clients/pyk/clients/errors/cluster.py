"""Errors of brokers about the cluster, its topics and settings, and requests in general."""

from __future__ import annotations

from pyk.clients.errors.base import BrokerError, KafkaTimeoutError
from pyk.protocol.errors import ErrorCode


class UnknownServerError(BrokerError, code=ErrorCode.UNKNOWN_SERVER_ERROR):
    """The broker failed in a way it has no code for; its own log says more."""


class RequestTimeoutError(BrokerError, KafkaTimeoutError, code=ErrorCode.REQUEST_TIMED_OUT):
    """No answer came in time, from the broker or from those it waited for."""


class BrokerNotAvailableError(BrokerError, code=ErrorCode.BROKER_NOT_AVAILABLE):
    """The broker is not available."""


class StaleControllerEpochError(BrokerError, code=ErrorCode.STALE_CONTROLLER_EPOCH):
    """The controller has moved to another broker."""


class NetworkError(BrokerError, code=ErrorCode.NETWORK_EXCEPTION):
    """The connection ended before an answer came."""


class UnsupportedVersionError(BrokerError, code=ErrorCode.UNSUPPORTED_VERSION):
    """Client and broker do not share a version of this request that can do what was asked."""


class TopicAlreadyExistsError(BrokerError, code=ErrorCode.TOPIC_ALREADY_EXISTS):
    """There is a topic of this name already."""


class InvalidPartitionsError(BrokerError, code=ErrorCode.INVALID_PARTITIONS):
    """That number of partitions is not possible."""


class InvalidReplicationFactorError(BrokerError, code=ErrorCode.INVALID_REPLICATION_FACTOR):
    """The replication factor is below one, or higher than the number of brokers."""


class InvalidReplicaAssignmentError(BrokerError, code=ErrorCode.INVALID_REPLICA_ASSIGNMENT):
    """The partitions cannot be assigned to brokers like this."""


class InvalidConfigError(BrokerError, code=ErrorCode.INVALID_CONFIG):
    """The value of a setting is not valid, or the setting does not exist."""


class NotControllerError(BrokerError, code=ErrorCode.NOT_CONTROLLER):
    """The broker is not the controller; another one is."""


class InvalidRequestError(BrokerError, code=ErrorCode.INVALID_REQUEST):
    """The request contradicts itself or lacks something: see the broker's log."""


class PolicyViolationError(BrokerError, code=ErrorCode.POLICY_VIOLATION):
    """A policy of the cluster forbids this."""


class OperationNotAttemptedError(BrokerError, code=ErrorCode.OPERATION_NOT_ATTEMPTED):
    """The broker did not try this part because another one failed."""


class ReassignmentInProgressError(BrokerError, code=ErrorCode.REASSIGNMENT_IN_PROGRESS):
    """Partitions of the topic are being moved."""


class ListenerNotFoundError(BrokerError, code=ErrorCode.LISTENER_NOT_FOUND):
    """The partition's leader has no listener of the name through which the client came."""


class TopicDeletionDisabledError(BrokerError, code=ErrorCode.TOPIC_DELETION_DISABLED):
    """Topics cannot be deleted here (``delete.topic.enable``)."""


class StaleBrokerEpochError(BrokerError, code=ErrorCode.STALE_BROKER_EPOCH):
    """The broker has restarted since."""


class PreferredLeaderNotAvailableError(BrokerError, code=ErrorCode.PREFERRED_LEADER_NOT_AVAILABLE):
    """The preferred leader is not available."""


class EligibleLeadersNotAvailableError(BrokerError, code=ErrorCode.ELIGIBLE_LEADERS_NOT_AVAILABLE):
    """No replica that may lead is available."""


class ElectionNotNeededError(BrokerError, code=ErrorCode.ELECTION_NOT_NEEDED):
    """The partition has the leader it should have."""


class NoReassignmentInProgressError(BrokerError, code=ErrorCode.NO_REASSIGNMENT_IN_PROGRESS):
    """No partition is being moved."""


class ThrottlingQuotaExceededError(BrokerError, code=ErrorCode.THROTTLING_QUOTA_EXCEEDED):
    """The client has used up its quota of changes; it should ask again later."""


class ResourceNotFoundError(BrokerError, code=ErrorCode.RESOURCE_NOT_FOUND):
    """There is no such resource."""


class DuplicateResourceError(BrokerError, code=ErrorCode.DUPLICATE_RESOURCE):
    """The request names a resource twice."""


class InconsistentVoterSetError(BrokerError, code=ErrorCode.INCONSISTENT_VOTER_SET):
    """The voters of the request are not those of the quorum."""


class InvalidUpdateVersionError(BrokerError, code=ErrorCode.INVALID_UPDATE_VERSION):
    """That version of the feature is not possible."""


class FeatureUpdateFailedError(BrokerError, code=ErrorCode.FEATURE_UPDATE_FAILED):
    """The feature could not be updated."""


class DuplicateBrokerRegistrationError(BrokerError, code=ErrorCode.DUPLICATE_BROKER_REGISTRATION):
    """Another broker is registered under this id."""


class BrokerIdNotRegisteredError(BrokerError, code=ErrorCode.BROKER_ID_NOT_REGISTERED):
    """No broker of this id is registered."""


class ControllerIdNotRegisteredError(BrokerError, code=ErrorCode.CONTROLLER_ID_NOT_REGISTERED):
    """No controller of this id is registered."""


class InconsistentClusterIdError(BrokerError, code=ErrorCode.INCONSISTENT_CLUSTER_ID):
    """The request is meant for another cluster."""


class IneligibleReplicaError(BrokerError, code=ErrorCode.INELIGIBLE_REPLICA):
    """The replica may not join those in sync."""


class MismatchedEndpointTypeError(BrokerError, code=ErrorCode.MISMATCHED_ENDPOINT_TYPE):
    """The request went to a controller where it meant a broker, or the other way round."""


class UnsupportedEndpointTypeError(BrokerError, code=ErrorCode.UNSUPPORTED_ENDPOINT_TYPE):
    """The endpoint does not know this type of endpoint."""


class UnknownControllerIdError(BrokerError, code=ErrorCode.UNKNOWN_CONTROLLER_ID):
    """There is no controller of this id."""


class UnknownSubscriptionIdError(BrokerError, code=ErrorCode.UNKNOWN_SUBSCRIPTION_ID):
    """The broker does not know this telemetry subscription."""


class TelemetryTooLargeError(BrokerError, code=ErrorCode.TELEMETRY_TOO_LARGE):
    """The telemetry is larger than the broker takes."""


class InvalidRegistrationError(BrokerError, code=ErrorCode.INVALID_REGISTRATION):
    """The registration of the broker or controller is not valid."""


class InvalidVoterKeyError(BrokerError, code=ErrorCode.INVALID_VOTER_KEY):
    """The voter's key is not valid."""


class DuplicateVoterError(BrokerError, code=ErrorCode.DUPLICATE_VOTER):
    """The voter is in the set already."""


class VoterNotFoundError(BrokerError, code=ErrorCode.VOTER_NOT_FOUND):
    """The voter is not in the set."""


class RebootstrapRequiredError(BrokerError, code=ErrorCode.REBOOTSTRAP_REQUIRED):
    """The client must begin again at its bootstrap servers (KIP-1102)."""
