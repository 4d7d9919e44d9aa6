"""The core of an admin client, on its event loop; the blocking and the asyncio face use it."""

from __future__ import annotations

from typing import Unpack

from pyk.clients.admin.acl_calls import AclCalls
from pyk.clients.admin.calls import Calls
from pyk.clients.admin.cluster_calls import ClusterCalls
from pyk.clients.admin.config_calls import ConfigCalls
from pyk.clients.admin.group_calls import GroupCalls
from pyk.clients.admin.group_offset_calls import GroupOffsetCalls
from pyk.clients.admin.helper_calls import HelperCalls
from pyk.clients.admin.offset_calls import OffsetCalls
from pyk.clients.admin.quota_calls import QuotaCalls
from pyk.clients.admin.replica_calls import ReplicaCalls
from pyk.clients.admin.share_group_calls import ShareGroupCalls
from pyk.clients.admin.streams_group_calls import StreamsGroupCalls
from pyk.clients.admin.token_calls import TokenCalls
from pyk.clients.admin.topic_calls import TopicCalls
from pyk.clients.admin.transaction_calls import TransactionCalls
from pyk.clients.admin.user_calls import UserCalls
from pyk.clients.admin.watch_calls import WatchCalls
from pyk.clients.arguments import checked_timeout
from pyk.clients.config import AdminConfig
from pyk.clients.engine.client import Client
from pyk.clients.engine.environment import ClientEnvironment

CLOSE_SECONDS = 5.0


class AdminCore:
    """The client of one admin client, and its calls, by what they are about."""

    def __init__(self, config: AdminConfig, **environment: Unpack[ClientEnvironment]) -> None:
        self.config = config
        self.client = Client(config, **environment)
        self._calls = Calls(self.client, config)
        self.topics = TopicCalls(self._calls)
        self.configs = ConfigCalls(self._calls)
        self.offsets = OffsetCalls(self._calls)
        self.groups = GroupCalls(self._calls)
        self.group_offsets = GroupOffsetCalls(self._calls, self.offsets)
        self.streams_groups = StreamsGroupCalls(self._calls)
        self.share_groups = ShareGroupCalls(self._calls, self.groups)
        self.transactions = TransactionCalls(self._calls)
        self.acls = AclCalls(self._calls)
        self.users = UserCalls(self._calls)
        self.tokens = TokenCalls(self._calls)
        self.quotas = QuotaCalls(self._calls)
        self.replicas = ReplicaCalls(self._calls)
        self.cluster = ClusterCalls(self._calls)
        self.watch = WatchCalls(
            self._calls, self.topics, self.groups, self.group_offsets, self.offsets
        )
        self.helpers = HelperCalls(self._calls, self.configs, self.group_offsets, self.offsets)

    async def start(self, timeout: float | None) -> None:
        """Connect, within ``timeout`` seconds (``default_api_timeout_ms``)."""
        await self._calls.begin(timeout)

    async def close(self, timeout: float | None = CLOSE_SECONDS) -> None:
        """End all connections, within ``timeout`` seconds."""
        seconds = checked_timeout(timeout)
        await self.client.close(CLOSE_SECONDS if seconds is None else seconds)
