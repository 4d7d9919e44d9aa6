"""What a test does in a forked child of its process."""

from __future__ import annotations

import faulthandler
import os
import signal
import sys
import traceback
from collections.abc import Callable
from typing import Any

from pyk.clients.errors import ForkedClientError
from support.real_time import IN_TIME


def status_of_fork(child: Callable[[], int]) -> int:
    """Call a function in a forked child; return what it returns, 255 if it raises.

    A child that waits for ever, maybe for a lock that no thread of it holds, writes where it waits,
    and ends.
    """
    process = os.fork()
    if process == 0:
        status = 255
        try:
            _end_if_it_hangs()
            status = child()
        except BaseException:
            traceback.print_exc(file=sys.__stderr__)
        finally:
            os._exit(status)
    return os.waitstatus_to_exitcode(os.waitpid(process, 0)[1])


def _end_if_it_hangs() -> None:
    signal.signal(signal.SIGALRM, signal.SIG_DFL)
    faulthandler.register(signal.SIGALRM, file=sys.__stderr__, chain=True)
    signal.alarm(IN_TIME)


def refused_in_a_fork(client: Any, *uses: Callable[[], object]) -> int:
    """Return how many of these uses of a client a forked child is refused; it closes it, too."""

    def use_all() -> int:
        refused = sum(_is_refused(use) for use in uses)
        client.close()
        return refused

    return status_of_fork(use_all)


def _is_refused(use: Callable[[], object]) -> bool:
    try:
        use()
    except ForkedClientError:
        return True
    return False
