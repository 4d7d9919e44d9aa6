"""Read properties from a file, where a client is given the name of one."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

from pyk.clients.config.properties import parse_properties


def read_properties(source: str | os.PathLike[str] | Mapping[str, object]) -> Mapping[str, object]:
    """Return the properties in a file, or ``source`` itself where it is a mapping.

    Raises ``OSError`` if the file cannot be read.
    """
    if isinstance(source, str | os.PathLike):
        return parse_properties(Path(source).read_text(encoding="utf-8"))
    return source
