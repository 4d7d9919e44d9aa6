"""Errors of brokers about groups, their members and their committed offsets."""

from __future__ import annotations

from pyk.clients.errors.base import BrokerError
from pyk.protocol.errors import ErrorCode


class OffsetMetadataTooLargeError(BrokerError, code=ErrorCode.OFFSET_METADATA_TOO_LARGE):
    """The note committed with an offset is longer than the broker allows."""


class CoordinatorLoadInProgressError(BrokerError, code=ErrorCode.COORDINATOR_LOAD_IN_PROGRESS):
    """The coordinator is still reading the state of its groups or transactions."""


class CoordinatorNotAvailableError(BrokerError, code=ErrorCode.COORDINATOR_NOT_AVAILABLE):
    """No broker coordinates this group or transaction right now."""


class NotCoordinatorError(BrokerError, code=ErrorCode.NOT_COORDINATOR):
    """Another broker coordinates this group or transaction."""


class IllegalGenerationError(BrokerError, code=ErrorCode.ILLEGAL_GENERATION):
    """The group has moved on to another generation: the member must join again."""


class InconsistentGroupProtocolError(BrokerError, code=ErrorCode.INCONSISTENT_GROUP_PROTOCOL):
    """The member's assignors, or its kind of protocol, do not fit those of the group."""


class InvalidGroupIdError(BrokerError, code=ErrorCode.INVALID_GROUP_ID):
    """The group id is not valid."""


class UnknownMemberIdError(BrokerError, code=ErrorCode.UNKNOWN_MEMBER_ID):
    """The group does not know this member: its session ended, and it must join again."""


class InvalidSessionTimeoutError(BrokerError, code=ErrorCode.INVALID_SESSION_TIMEOUT):
    """The session timeout is not what the broker allows.

    Give a ``session_timeout_ms`` from its ``group.min.session.timeout.ms`` to its
    ``group.max.session.timeout.ms``.
    """


class RebalanceInProgressError(BrokerError, code=ErrorCode.REBALANCE_IN_PROGRESS):
    """The group is rebalancing: the member must join again."""


class InvalidCommitOffsetSizeError(BrokerError, code=ErrorCode.INVALID_COMMIT_OFFSET_SIZE):
    """The commit is larger than the broker can store."""


class NonEmptyGroupError(BrokerError, code=ErrorCode.NON_EMPTY_GROUP):
    """The group still has members."""


class GroupIdNotFoundError(BrokerError, code=ErrorCode.GROUP_ID_NOT_FOUND):
    """There is no group of this id."""


class MemberIdRequiredError(BrokerError, code=ErrorCode.MEMBER_ID_REQUIRED):
    """The member must join again with the id it was just given."""


class GroupMaxSizeReachedError(BrokerError, code=ErrorCode.GROUP_MAX_SIZE_REACHED):
    """The group has as many members as it may (``group.max.size``)."""


class FencedInstanceIdError(BrokerError, code=ErrorCode.FENCED_INSTANCE_ID):
    """A newer member has this ``group_instance_id``: close this one, or give each its own."""


class GroupSubscribedToTopicError(BrokerError, code=ErrorCode.GROUP_SUBSCRIBED_TO_TOPIC):
    """The group reads this topic, so its offsets cannot be deleted."""


class UnstableOffsetCommitError(BrokerError, code=ErrorCode.UNSTABLE_OFFSET_COMMIT):
    """A transaction has committed offsets that are not decided yet."""


class FencedMemberEpochError(BrokerError, code=ErrorCode.FENCED_MEMBER_EPOCH):
    """The member's epoch is old: the coordinator has fenced it."""


class UnreleasedInstanceIdError(BrokerError, code=ErrorCode.UNRELEASED_INSTANCE_ID):
    """The ``group.instance.id`` is still in use by another member."""


class UnsupportedAssignorError(BrokerError, code=ErrorCode.UNSUPPORTED_ASSIGNOR):
    """The coordinator, or a member of the group, does not support this assignor."""


class StaleMemberEpochError(BrokerError, code=ErrorCode.STALE_MEMBER_EPOCH):
    """The member's epoch is stale: it must take note of its newer one first."""


class InvalidRegularExpressionError(BrokerError, code=ErrorCode.INVALID_REGULAR_EXPRESSION):
    """The regular expression of the subscription is not valid."""


class StreamsInvalidTopologyError(BrokerError, code=ErrorCode.STREAMS_INVALID_TOPOLOGY):
    """The topology of the streams group is not valid."""


class StreamsInvalidTopologyEpochError(BrokerError, code=ErrorCode.STREAMS_INVALID_TOPOLOGY_EPOCH):
    """The topology's epoch is not the streams group's."""


class StreamsTopologyFencedError(BrokerError, code=ErrorCode.STREAMS_TOPOLOGY_FENCED):
    """The topology's epoch is older than the streams group's."""


class StreamsTopologyDescriptionUpdateFailedError(
    BrokerError, code=ErrorCode.STREAMS_TOPOLOGY_DESCRIPTION_UPDATE_FAILED
):
    """The description of the topology could not be stored."""


class GroupDeletionFailedError(BrokerError, code=ErrorCode.GROUP_DELETION_FAILED):
    """The group could not be deleted."""
