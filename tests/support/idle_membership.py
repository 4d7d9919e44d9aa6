"""A member of a group that never has anything to do."""

from __future__ import annotations

from typing import Any

from pyk.clients.consumer.group.actions import Action, Leave, Revoke, Send, Wait
from pyk.clients.consumer.group.join_failures import JoinFailures
from pyk.clients.consumer.group.membership import MetadataNeeds, Standing
from pyk.clients.engine.metadata import MetadataImage
from pyk.clients.errors import KafkaError
from pyk.clients.offsets import Identity
from pyk.protocol.messages.leave_group import LeaveGroupRequest, MemberIdentity


class IdleMembership:
    """A member for which nothing is ever due, and that counts how often it is looked at."""

    standing = Standing(
        state="idle", identity=Identity(), is_member=True, is_joining=False, is_rebalancing=False
    )

    def __init__(self) -> None:
        self.error: KafkaError | None = None
        self.failures = JoinFailures(30.0)
        self.needs = MetadataNeeds()
        self.looks = 0
        self.images: list[MetadataImage] = []
        self.polls: list[float] = []

    def next_action(self, now: float) -> Action:
        self.looks += 1
        return Wait(None)

    def application_polled(self, now: float) -> None:
        self.polls.append(now)

    def metadata_changed(self, image: MetadataImage, now: float) -> None:
        self.images.append(image)

    def leave(self, reason: str, leave_group: bool | None = None) -> Leave | None:
        return Leave(LeaveGroupRequest(group_id="g", members=[MemberIdentity(member_id="me")]))

    def subscribe(self, topics: frozenset[str], now: float, pattern: str | None = None) -> None: ...
    def revoked(self, revoke: Revoke) -> None: ...
    def retry(self, now: float) -> None: ...
    def answered(self, sent: Send, response: Any, now: float) -> None: ...
    def request_failed(self, sent: Send, error: KafkaError, now: float) -> None: ...
    def is_absent(self, now: float) -> bool:
        return False
