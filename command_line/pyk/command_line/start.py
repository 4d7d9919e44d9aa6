"""Start the ``pyk`` command; Ctrl-C ends it quietly also while its modules are imported.

What this module imports itself is not covered, so it imports nothing that Python has not.
"""

import gc
import sys

from pyk.command_line.interrupts import Interrupts

INTERRUPTED = 130
"""``ExitCode.INTERRUPTED``, which is not imported yet."""


def start() -> None:
    """Run the command with the arguments of the process, and end the process."""
    gc.disable()  # modules are no garbage; ``main`` enables it before a command runs
    interrupts = Interrupts()
    try:
        interrupts.install()
        from pyk.command_line.main import main

        main()
    except KeyboardInterrupt:
        sys.stderr.write("\n")  # after the ^C of the terminal
        sys.exit(INTERRUPTED)
    finally:
        interrupts.uninstall()
        gc.freeze()  # the process ends: Python would search everything in it twice
