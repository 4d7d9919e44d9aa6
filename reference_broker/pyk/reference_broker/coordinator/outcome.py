"""What a shard answers to one event: records to append, and who is to be told once they are safe."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import attrs

from pyk.protocol.errors import ErrorCode

from .records import CoordinatorRecord


def _nobody(_: ErrorCode) -> None:
    return


@attrs.frozen
class Outcome:
    """Records to append in one batch, all or none; then ``when_written`` is called with the result of that.

    With ``replays`` the shard's state changes by replaying the records once they are in the log. Without, the shard has
    changed already (a classic group's members are soft state), and the records only let a successor catch up.
    """

    records: tuple[CoordinatorRecord, ...] = ()
    when_written: Callable[[ErrorCode], Any] = _nobody
    replays: bool = True


NOTHING = Outcome()
