"""Start the ``pyk`` command; Ctrl-C ends it quietly also while its modules are imported.

What this module imports itself is not covered, so it imports nothing that Python has not.
"""

import gc
import os
import sys

INTERRUPTED = 130
"""``ExitCode.INTERRUPTED``, which is not imported yet."""


def start() -> None:
    """Run the command with the arguments of the process, and end the process."""
    gc.disable()  # modules are no garbage; ``main`` enables it before a command runs
    code: object = 0
    try:
        from pyk.command_line.main import main

        main()
    except KeyboardInterrupt:
        sys.stderr.write("\n")  # after the ^C of the terminal
        code = INTERRUPTED
    except SystemExit as ended:
        code = ended.code
    _end(code)


def _end(code: object) -> None:
    """End the process as Python does, but leave its memory to the system.

    Python would free each object, in 4 of some 110 ms of CPU of a light command.
    """
    if isinstance(code, int) and not _is_awaited():
        import atexit

        atexit._run_exitfuncs()
        if _has_flushed():
            os._exit(code)
    gc.freeze()  # Python would search everything twice
    sys.exit(code)  # type: ignore[arg-type]


def _is_awaited() -> bool:
    """Return whether a thread still works, or a profiler or debugger wants to see the end."""
    import threading

    others = (one for one in threading.enumerate() if one is not threading.main_thread())
    is_observed = sys.getprofile() is not None or sys.gettrace() is not None
    return is_observed or any(not one.daemon for one in others)


def _has_flushed() -> bool:
    """Flush the output; return False if that fails: Python then reports it and exits with 120."""
    try:
        for stream in (sys.stdout, sys.stderr):
            if stream is not None:  # the user has closed it
                stream.flush()
    except (OSError, ValueError):
        return False
    return True
