"""Remove delegation tokens that have expired, from time to time."""

from __future__ import annotations

from collections.abc import Callable

from pyk.runtime.timers import Moment, TimerQueue

from .controller.requests import expire_tokens
from .controller.shard import ControllerShard
from .coordinator.runtime import ShardRuntime


class TokenExpiry:
    """Asks the controller every ``interval_ms``, from :meth:`schedule` until the timers are
    closed."""

    def __init__(
        self,
        controller: ShardRuntime[ControllerShard],
        timers: TimerQueue,
        moment: Callable[[], Moment],
        interval_ms: int,
    ) -> None:
        self._controller = controller
        self._timers = timers
        self._moment = moment
        self._interval_ms = interval_ms

    def schedule(self) -> None:
        """Wait for the next time."""
        deadline = self._moment().after(self._interval_ms)
        self._timers.schedule("delegation tokens", deadline, self._run)

    def _run(self, _: float) -> None:
        # What cannot be written is tried again the next time.
        self._controller.ask(expire_tokens, lambda _: None)
        self.schedule()
