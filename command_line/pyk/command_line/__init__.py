"""The ``pyk`` command."""
