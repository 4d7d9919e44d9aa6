"""What files of records hold, and which options are for that. Pure."""

from __future__ import annotations

from collections.abc import Iterable

FORMATS = ("lines", "json", "whole", "parquet", "arrow")
TABLES = ("parquet", "arrow")
SUFFIXES = {
    "jsonl": "json",
    "ndjson": "json",
    "parquet": "parquet",
    "arrow": "arrow",
    "feather": "arrow",
}
USED_BY = {
    "--key-separator": ("lines",),
    "--header-separator": ("lines",),
    "--null": ("lines",),
    "--delimiter": ("lines", "json"),
    "--key": ("lines", "json", "whole"),
    "--header": ("lines", "json", "whole"),
    "--partition": ("lines", "json", "whole"),
}
"""The formats for which an option has a meaning."""
STANDARD_INPUT = "-"


def format_of(name: str, given: str | None) -> str:
    """Return what a file holds: what the user says, or what its name says, or lines."""
    _, dot, suffix = name.rpartition(".")
    return given or (SUFFIXES.get(suffix, "lines") if dot else "lines")


def shown(name: str) -> str:
    """Return how messages name a file."""
    return "standard input" if name == STANDARD_INPUT else name


def check_options(names: Iterable[str], given: str | None, options: Iterable[str]) -> None:
    """Raise ``ValueError`` for an option that a file's format has no use for."""
    wanted = list(options)
    for name in names:
        held = format_of(name, given)
        for option in wanted:
            if held not in USED_BY[option]:
                raise ValueError(f"{option} has no meaning for {shown(name)}, which holds {held}")
