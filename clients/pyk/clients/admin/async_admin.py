"""The admin client for asyncio."""

from __future__ import annotations

from pyk.clients.admin.access_face import AsyncAccessAdmin
from pyk.clients.admin.cluster_face import AsyncClusterAdmin
from pyk.clients.admin.core import CLOSE_SECONDS
from pyk.clients.admin.face import AdminFace
from pyk.clients.admin.group_face import AsyncGroupAdmin
from pyk.clients.admin.helper_face import AsyncHelperAdmin
from pyk.clients.admin.replica_face import AsyncReplicaAdmin
from pyk.clients.admin.share_group_face import AsyncShareGroupAdmin
from pyk.clients.admin.streams_group_face import AsyncStreamsGroupAdmin
from pyk.clients.admin.topic_face import AsyncTopicAdmin
from pyk.clients.admin.transaction_face import AsyncTransactionAdmin
from pyk.clients.engine.context import AsyncContext


class AsyncAdmin(
    AsyncTopicAdmin,
    AsyncGroupAdmin,
    AsyncShareGroupAdmin,
    AsyncStreamsGroupAdmin,
    AsyncTransactionAdmin,
    AsyncReplicaAdmin,
    AsyncClusterAdmin,
    AsyncAccessAdmin,
    AsyncHelperAdmin,
    AdminFace,
    AsyncContext,
):
    """Manages topics, settings, groups and offsets.

    Every call takes ``timeout`` in seconds, None for ``default_api_timeout_ms``, and retries within
    it after retriable errors. A call about one thing raises its error, a call about several raises
    :class:`~pyk.clients.errors.SeveralErrors`, which holds each error and what succeeded. Connects
    when entered, or with the first call.
    """

    async def start(self, timeout: float | None = None) -> None:
        """Connect. Entering the context manager does it, otherwise the first call.

        Raises :class:`BootstrapError`, which names every address and how far it came, as soon as
        all have failed, at the latest after ``timeout`` seconds (``default_api_timeout_ms``).
        """
        await self._core.start(timeout)

    async def close(self, timeout: float | None = CLOSE_SECONDS) -> None:
        """End all connections; always returns, within ``timeout`` seconds."""
        await self._core.close(timeout)
