"""Tell the peer why a handshake of TLS failed: asyncio closes the connection without the alert.

OpenSSL writes the alert into a buffer, which asyncio drops. Without it, a client that shows no
certificate, or a wrong one, cannot tell its broker from one that has crashed.
"""

from __future__ import annotations

import contextlib
import ssl
import weakref
from collections.abc import Callable
from typing import Any


class AlertingContext:
    """Makes for asyncio what ``context`` makes; ``send`` takes what a failed handshake leaves."""

    def __init__(self, context: ssl.SSLContext, send: Callable[[bytes], object]) -> None:
        self._context = context
        self._send = send

    def wrap_bio(
        self, incoming: ssl.MemoryBIO, outgoing: ssl.MemoryBIO, **arguments: Any
    ) -> ssl.SSLObject:
        """Return what :meth:`ssl.SSLContext.wrap_bio` does, with a handshake that sends alerts."""
        made = self._context.wrap_bio(incoming, outgoing, **arguments)
        # Without a cycle, so that the memory of TLS is free once the connection has ended.
        weak = weakref.ref(made)

        def do_handshake() -> None:
            shaking = weak()
            assert shaking is not None  # this is called by its user
            try:
                ssl.SSLObject.do_handshake(shaking)
            except (ssl.SSLWantReadError, ssl.SSLWantWriteError):
                raise
            except ssl.SSLError:
                with contextlib.suppress(OSError):
                    self._send(outgoing.read())
                raise

        made.do_handshake = do_handshake  # type: ignore[method-assign]
        return made
