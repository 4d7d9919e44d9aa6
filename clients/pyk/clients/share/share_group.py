"""A share consumer's part in its group."""

from __future__ import annotations

import logging

from pyk.clients.config import ShareConsumerConfig
from pyk.clients.consumer.buffer.read_buffer import EVENT
from pyk.clients.consumer.group.actions import ApplicationEvent, Leave, Lose, Revoke
from pyk.clients.consumer.group.membership_driver import MembershipDriver
from pyk.clients.consumer.group.membership_errors import MembershipErrors
from pyk.clients.consumer.group.protocols import new_share_membership
from pyk.clients.engine.client import Client
from pyk.clients.share.share_buffer import ShareBuffer
from pyk.clients.share.share_fetcher import ShareFetcher
from pyk.clients.share.share_reader import ShareReader
from pyk.clients.wording import counted

log = logging.getLogger(__name__)

# How often the application is looked at while a heartbeat is in flight, in seconds.
LOOK_INTERVAL = 3.0


class ShareGroup:
    """The membership of one share consumer, and what it assigns.

    A rebalance does not reach the application: several members may have the same partition, and
    what was acquired stays acquired when it goes to others.
    """

    def __init__(
        self, client: Client, config: ShareConsumerConfig, buffer: ShareBuffer, reader: ShareReader
    ) -> None:
        assert config.group_id is not None
        self.group_id = config.group_id
        self.membership = new_share_membership(client, config)
        self.fetcher = ShareFetcher(client, config, buffer, self.membership.member_id)
        self._buffer = buffer
        self._reader = reader
        self.driver = MembershipDriver(
            client,
            config.group_id,
            self.membership,
            on_event=self._handle,
            on_failure=lambda: buffer.call_attention(EVENT),
            activity=self._activity,
            look_interval=LOOK_INTERVAL,
        )
        self.errors = MembershipErrors(self.membership, self.driver.retry, client.clock.now)

    def _activity(self) -> int | None:
        return None if self._buffer.is_waiting else self._reader.calls + self._reader.taken

    def _handle(self, event: ApplicationEvent) -> None:
        match event:
            case Lose():
                log.warning(
                    "Lost %s of share group %s: records that were acquired are delivered again",
                    counted(len(event.partitions), "partition"),
                    self.group_id,
                )
            case Revoke():
                self.driver.revoked(event)
        self.fetcher.assign(self.membership.owned)

    def leave(self, reason: str) -> Leave | None:
        """End the membership, and return what is left to tell its coordinator."""
        return self.driver.end_membership(reason)
