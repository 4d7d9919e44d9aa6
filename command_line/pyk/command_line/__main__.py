"""``python -m pyk.command_line`` is the ``pyk`` command."""

from pyk.command_line.main import main

main()
