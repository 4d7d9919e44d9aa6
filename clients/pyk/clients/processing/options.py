"""What an application asks of ``process()``. Pure."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import attrs

from pyk.clients.arguments import checked_count
from pyk.clients.processing.jobs import Ordering


@attrs.frozen(kw_only=True)
class HandlerOptions:
    """The handler of ``process()``, and how it is called. Raises for what is out of range."""

    handler: Callable[[Any], Any]
    concurrency: int
    ordering: Ordering
    deadline: float | None
    """Seconds that a call of the handler may take."""

    @classmethod
    def checked(
        cls,
        handler: Callable[[Any], Any],
        *,
        concurrency: int,
        ordering: str,
        deadline: float | None,
    ) -> HandlerOptions:
        if not callable(handler):
            raise TypeError(f"handler must be callable, not {type(handler).__name__}")
        orders = [one.value for one in Ordering]
        if ordering not in orders:
            raise ValueError(f"ordering must be one of {', '.join(orders)}, not {ordering!r}")
        if deadline is not None and not deadline > 0:
            raise ValueError(f"deadline must be a number of seconds above 0, not {deadline!r}")
        return cls(
            handler=handler,
            concurrency=checked_count(concurrency, "concurrency"),
            ordering=Ordering(ordering),
            deadline=deadline,
        )
