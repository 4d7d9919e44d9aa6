"""Build the heartbeats of a member of a share group. Pure."""

from __future__ import annotations

from pyk.clients.consumer.group.actions import Leave
from pyk.clients.consumer.group.modern.heartbeats import LEAVE_EPOCH, MemberOptions, Report
from pyk.clients.errors import KafkaError, UnsupportedVersionError, error_for
from pyk.protocol.api_keys import ApiKey
from pyk.protocol.errors import ErrorCode
from pyk.protocol.messages.share_group_heartbeat import ShareGroupHeartbeatRequest


class ShareHeartbeats:
    """Remembers what the coordinator of a share group was told.

    Partitions are shared, so nobody waits until a member has given one up: it never says what it
    owns.
    """

    def __init__(self, options: MemberOptions) -> None:
        self._options = options
        self._told: frozenset[str] | None = None

    def is_news(self, report: Report) -> bool:
        """Return whether there is something to say before the next heartbeat is due."""
        return report.topics != self._told

    def forget(self) -> None:
        """Say everything with the next heartbeat: the last one may not have arrived."""
        self._told = None

    def next(self, member_epoch: int, report: Report) -> ShareGroupHeartbeatRequest:
        """Return the next heartbeat, which joins if the epoch is 0."""
        request = self._request(member_epoch)
        if self._told is None:
            request.rack_id = self._options.rack
        if self._told != report.topics:
            request.subscribed_topic_names = sorted(report.topics)
        self._told = report.topics
        return request

    def least_version(self, request: ShareGroupHeartbeatRequest) -> int | None:
        """Return None: any version can say it."""
        return None

    def leave(self, leave_group: bool | None) -> Leave | None:
        """Return what to send in order to leave: members of share groups are never static."""
        # Behind a heartbeat in flight, and before one that joins again.
        return Leave(self._request(LEAVE_EPOCH), lane="group")

    def _request(self, member_epoch: int) -> ShareGroupHeartbeatRequest:
        return ShareGroupHeartbeatRequest(
            group_id=self._options.group_id,
            member_id=self._options.member_id,
            member_epoch=member_epoch,
        )

    def refusal(self, code: ErrorCode, message: str | None) -> KafkaError:
        """Return the error of a refused heartbeat, with the coordinator's own words."""
        group_id = self._options.group_id
        if code is ErrorCode.UNSUPPORTED_VERSION:
            return UnsupportedVersionError(
                f"the cluster of group {group_id!r} has share groups switched off: set its feature "
                "share.version to 1 (Kafka 4.2 and later do so for new clusters)",
                group_id=group_id,
            )
        return error_for(code, message, group_id=group_id, api_key=ApiKey.SHARE_GROUP_HEARTBEAT)

    def explained(self, error: KafkaError, pattern: str | None) -> KafkaError:
        """Return the error of a heartbeat that could not be sent, with what to do about it."""
        if not isinstance(error, UnsupportedVersionError):
            return error
        group_id = self._options.group_id
        explanation = UnsupportedVersionError(
            f"the coordinator of group {group_id!r} does not offer share groups ({error}): they "
            "came with Kafka 4.1, and must be switched on there (feature share.version); use a "
            "Consumer until the cluster is upgraded",
            node_id=error.node_id,
            group_id=group_id,
        )
        explanation.__cause__ = error
        return explanation
