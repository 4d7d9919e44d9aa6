"""The core of an admin client, on its event loop; the blocking and the asyncio face use it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Unpack

from pyk.clients.admin.calls import Calls
from pyk.clients.arguments import checked_timeout
from pyk.clients.config import AdminConfig
from pyk.clients.engine.client import Client
from pyk.clients.engine.environment import ClientEnvironment
from pyk.clients.interpreter import imported_when_used

if TYPE_CHECKING:
    from pyk.clients.admin.acl_calls import AclCalls
    from pyk.clients.admin.cluster_calls import ClusterCalls
    from pyk.clients.admin.config_calls import ConfigCalls
    from pyk.clients.admin.group_calls import GroupCalls
    from pyk.clients.admin.group_list_calls import GroupListCalls
    from pyk.clients.admin.group_offset_calls import GroupOffsetCalls
    from pyk.clients.admin.helper_calls import HelperCalls
    from pyk.clients.admin.offset_calls import OffsetCalls
    from pyk.clients.admin.quota_calls import QuotaCalls
    from pyk.clients.admin.replica_calls import ReplicaCalls
    from pyk.clients.admin.share_group_calls import ShareGroupCalls
    from pyk.clients.admin.streams_group_calls import StreamsGroupCalls
    from pyk.clients.admin.token_calls import TokenCalls
    from pyk.clients.admin.topic_calls import TopicCalls
    from pyk.clients.admin.topic_list_calls import TopicListCalls
    from pyk.clients.admin.transaction_calls import TransactionCalls
    from pyk.clients.admin.user_calls import UserCalls
    from pyk.clients.admin.watch_calls import WatchCalls

CLOSE_SECONDS = 5.0


class AdminCore:
    """The client of one admin client, and its calls, by what they are about.

    The modules of calls are imported when they are first used: they are many, and most programs
    need few of them.
    """

    def __init__(self, config: AdminConfig, **environment: Unpack[ClientEnvironment]) -> None:
        self.config = config
        self.client = Client(config, **environment)
        self._calls = Calls(self.client, config)

    async def start(self, timeout: float | None) -> None:
        """Connect, within ``timeout`` seconds (``default_api_timeout_ms``)."""
        await self._calls.begin(timeout)

    async def close(self, timeout: float | None = CLOSE_SECONDS) -> None:
        """End all connections, within ``timeout`` seconds."""
        seconds = checked_timeout(timeout)
        await self.client.close(CLOSE_SECONDS if seconds is None else seconds)

    @imported_when_used
    def topics(self) -> TopicCalls:
        from pyk.clients.admin.topic_calls import TopicCalls

        return TopicCalls(self._calls)

    @imported_when_used
    def topic_lists(self) -> TopicListCalls:
        from pyk.clients.admin.topic_list_calls import TopicListCalls

        return TopicListCalls(self._calls)

    @imported_when_used
    def configs(self) -> ConfigCalls:
        from pyk.clients.admin.config_calls import ConfigCalls

        return ConfigCalls(self._calls)

    @imported_when_used
    def offsets(self) -> OffsetCalls:
        from pyk.clients.admin.offset_calls import OffsetCalls

        return OffsetCalls(self._calls)

    @imported_when_used
    def groups(self) -> GroupCalls:
        from pyk.clients.admin.group_calls import GroupCalls

        return GroupCalls(self._calls)

    @imported_when_used
    def group_lists(self) -> GroupListCalls:
        from pyk.clients.admin.group_list_calls import GroupListCalls

        return GroupListCalls(self._calls)

    @imported_when_used
    def group_offsets(self) -> GroupOffsetCalls:
        from pyk.clients.admin.group_offset_calls import GroupOffsetCalls

        return GroupOffsetCalls(self._calls, self.offsets)

    @imported_when_used
    def streams_groups(self) -> StreamsGroupCalls:
        from pyk.clients.admin.streams_group_calls import StreamsGroupCalls

        return StreamsGroupCalls(self._calls)

    @imported_when_used
    def share_groups(self) -> ShareGroupCalls:
        from pyk.clients.admin.share_group_calls import ShareGroupCalls

        return ShareGroupCalls(self._calls, self.groups)

    @imported_when_used
    def transactions(self) -> TransactionCalls:
        from pyk.clients.admin.transaction_calls import TransactionCalls

        return TransactionCalls(self._calls)

    @imported_when_used
    def acls(self) -> AclCalls:
        from pyk.clients.admin.acl_calls import AclCalls

        return AclCalls(self._calls)

    @imported_when_used
    def users(self) -> UserCalls:
        from pyk.clients.admin.user_calls import UserCalls

        return UserCalls(self._calls)

    @imported_when_used
    def tokens(self) -> TokenCalls:
        from pyk.clients.admin.token_calls import TokenCalls

        return TokenCalls(self._calls)

    @imported_when_used
    def quotas(self) -> QuotaCalls:
        from pyk.clients.admin.quota_calls import QuotaCalls

        return QuotaCalls(self._calls)

    @imported_when_used
    def replicas(self) -> ReplicaCalls:
        from pyk.clients.admin.replica_calls import ReplicaCalls

        return ReplicaCalls(self._calls)

    @imported_when_used
    def cluster(self) -> ClusterCalls:
        from pyk.clients.admin.cluster_calls import ClusterCalls

        return ClusterCalls(self._calls)

    @imported_when_used
    def watch(self) -> WatchCalls:
        from pyk.clients.admin.watch_calls import WatchCalls

        return WatchCalls(
            self._calls,
            self.topics,
            self.groups,
            self.group_lists,
            self.group_offsets,
            self.offsets,
        )

    @imported_when_used
    def helpers(self) -> HelperCalls:
        from pyk.clients.admin.helper_calls import HelperCalls

        return HelperCalls(self._calls, self.configs, self.group_offsets, self.offsets)
