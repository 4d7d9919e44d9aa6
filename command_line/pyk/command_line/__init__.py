"""The ``pyk`` command."""

from pyk.protocol.version import __version__ as __version__
