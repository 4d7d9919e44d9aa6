"""Run a benchmark with pyk's hot modules as plain Python: ``python -m benchmarks.clients.plain_form
MODULE ARGUMENTS…``. Compiled modules beside the sources are ignored."""

from __future__ import annotations

import runpy
import sys
from importlib.machinery import SOURCE_SUFFIXES, FileFinder, SourceFileLoader
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]

_find_sources = FileFinder.path_hook((SourceFileLoader, SOURCE_SUFFIXES))


def find_sources_of_pyk(folder: str) -> FileFinder:
    """Find modules of this project in their sources only; part of the import protocol."""
    if ROOT not in Path(folder).parents or ".venv" in Path(folder).parts:
        raise ImportError(folder)
    return _find_sources(folder)


if __name__ == "__main__":
    sys.path_hooks.insert(0, find_sources_of_pyk)
    sys.path_importer_cache.clear()
    del sys.argv[0]
    runpy.run_module(sys.argv[0], run_name="__main__", alter_sys=True)
