"""``python -m pyk.command_line`` is the ``pyk`` command."""

from pyk.command_line.start import start

start()
