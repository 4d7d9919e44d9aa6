"""What a shard decides upon an event: records to append, and whom to tell once they are safe."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Protocol

from pyk.protocol.errors import ErrorCode
from pyk.runtime import slotted


class ShardRecord(Protocol):
    """A record that a shard chooses to append, and replays."""

    def encode(self) -> tuple[bytes | None, bytes | None]:
        """Return key and value as they stand in the log."""


def _nobody(_: ErrorCode) -> None:
    return


@slotted.frozen
class Decision:
    """Records to append; ``when_written`` is told how that went.

    They go into one batch, all or none. Those of a decision that is not atomic go into as many as
    they need: each tombstone counts by itself, and what is left is decided again the next time.
    With ``replays`` the shard's state changes by replaying the records once they are in the log.
    Without, the shard has changed already (a classic group's members are soft state), and the
    records only let a successor catch up.
    """

    records: Sequence[ShardRecord] = ()
    when_written: Callable[[ErrorCode], Any] = _nobody
    replays: bool = True
    is_atomic: bool = True


NOTHING = Decision()
