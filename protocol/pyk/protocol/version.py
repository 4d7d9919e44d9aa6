"""The version of pyk, all parts of it. The build takes it from here."""

__version__ = "0.1.0"
