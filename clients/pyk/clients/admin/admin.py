"""The blocking admin client."""

from __future__ import annotations

import sys
import warnings

from pyk.clients.admin.access_face import AccessAdmin
from pyk.clients.admin.cluster_face import ClusterAdmin
from pyk.clients.admin.core import CLOSE_SECONDS, AdminCore
from pyk.clients.admin.face import AdminFace
from pyk.clients.admin.group_face import GroupAdmin
from pyk.clients.admin.helper_face import HelperAdmin
from pyk.clients.admin.replica_face import ReplicaAdmin
from pyk.clients.admin.share_group_face import ShareGroupAdmin
from pyk.clients.admin.streams_group_face import StreamsGroupAdmin
from pyk.clients.admin.topic_face import TopicAdmin
from pyk.clients.admin.transaction_face import TransactionAdmin
from pyk.clients.arguments import checked_timeout
from pyk.clients.engine.context import BlockingContext
from pyk.clients.engine.thread import LoopThread


class Admin(
    TopicAdmin,
    GroupAdmin,
    ShareGroupAdmin,
    StreamsGroupAdmin,
    TransactionAdmin,
    ReplicaAdmin,
    ClusterAdmin,
    AccessAdmin,
    HelperAdmin,
    AdminFace,
    BlockingContext,
):
    """Manages topics, settings, groups and offsets; :class:`AsyncAdmin` is its asyncio twin.

    Any number of threads may share one.
    """

    def _set_up(self, core: AdminCore) -> None:
        super()._set_up(core)
        self._thread = LoopThread("admin")

    def start(self, timeout: float | None = None) -> None:
        """Connect. Entering the context manager does it, otherwise the first call.

        Raises :class:`BootstrapError`, which names every address and how far it came, as soon as
        all have failed, at the latest after ``timeout`` seconds (``default_api_timeout_ms``).
        """
        self._thread.call(self._core.start(timeout))

    def close(self, timeout: float | None = CLOSE_SECONDS) -> None:
        """End all connections; always returns, within ``timeout`` seconds."""
        limit = checked_timeout(timeout)
        if self._thread.guard.is_forked or self._thread.has_ended:
            return
        if self._thread.loop is None:  # it never began
            self._thread.close()
            return
        try:
            self._thread.call(self._core.close(limit))
        finally:
            self._thread.close()

    def __del__(self) -> None:
        """End in the background."""
        thread = getattr(self, "_thread", None)
        if thread is None or thread.loop is None or thread.is_closed or thread.guard.is_forked:
            return
        warnings.warn(f"unclosed {self!r}", ResourceWarning, source=self, stacklevel=2)
        if not sys.is_finalizing():
            thread.end_after(self._core.close)
