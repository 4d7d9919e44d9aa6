"""The ``pyk`` command."""


def __getattr__(name: str) -> str:
    # Imported when it is used: until `start` runs, Ctrl-C would show a traceback.
    if name == "__version__":
        from pyk.protocol.version import __version__

        return __version__
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
