"""Check an installation: it must have the codecs, and should have the compiled modules."""

from __future__ import annotations

from pathlib import PurePath
from types import ModuleType

from pyk.protocol.records.compression import Compression, check_available
from pyk.protocol.records.errors import UnsupportedCompressionError
from pyk.spark_connector.errors import InstallationError
from pyk.spark_connector.notices import log_once

EXTRA = "pip install 'pyk-kafka[spark]'"
UNCOMPILED = (
    "pyk runs uncompiled here, many times slower: a zip of --py-files cannot hold compiled "
    "modules, so ship pyk with --archives (docs/spark-deployment.md); an installation has none if "
    "it was built without a C compiler"
)


def check_codecs(*codecs: Compression) -> None:
    """Raise :class:`InstallationError` unless batches of these codecs can be read and written.

    The codecs of a topic are known only when a task reads it. Without this check a missing codec
    would fail a query after hours, when a producer changes its configuration.
    """
    for codec in codecs or tuple(Compression):
        try:
            check_available(codec)
        except UnsupportedCompressionError as error:
            raise InstallationError(f"{error}, or install all that Spark needs: {EXTRA}") from None


def warn_if_uncompiled() -> None:
    """Warn, once per process, if the modules that every record passes through are not compiled."""
    from pyk.protocol.records import reader

    if not is_compiled(reader):
        log_once([UNCOMPILED])


def is_compiled(module: ModuleType) -> bool:
    """Return whether a module is machine code."""
    return PurePath(module.__file__ or "").suffix not in (".py", ".pyc", "")
