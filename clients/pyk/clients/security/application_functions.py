"""Report what functions of the application raise that return tokens, keys and passwords. Pure.

The text of such an exception may hold the secret, or the one that it is asked for with. So errors
have its type and the line of the application that it comes from, and not the exception itself.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator


@contextlib.contextmanager
def without_secrets(what: str, kind: type[Exception]) -> Iterator[None]:
    """Raise what ``what`` raises as a ``kind``, which is raised as it is.

    An exit, too: it would end the thread of the client, and with it all that waits for the client.
    """
    try:
        yield
    except kind:
        raise
    except (Exception, SystemExit) as error:  # a KeyboardInterrupt is the user's
        raise kind(f"{what} raised {type(error).__name__}{_place(error)}") from None


def _place(error: BaseException) -> str:
    """Return where the application's function was when it raised."""
    step = error.__traceback__
    while step is not None:
        module = step.tb_frame.f_globals.get("__name__", "")
        if not module.startswith(("pyk.", "contextlib")):
            file = step.tb_frame.f_code.co_filename.replace("\\", "/").rpartition("/")[2]
            return f" in {file}, line {step.tb_lineno}"
        step = step.tb_next
    return ""
