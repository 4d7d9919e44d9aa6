"""Fuzz one target: ``python -m hostile.fuzz.engine TARGET FOLDER SECONDS``.

With atheris the fuzzer sees which code an input reaches, continues from inputs that reach more, and
keeps those in FOLDER. Without atheris, inputs are damaged at random. An input that does harm ends
the run: it is then in ``FOLDER.harm``, and the exit status is not 0.
"""

from __future__ import annotations

# Do not import pyk here: atheris has to instrument these imports, see `guided`.
import hashlib
import os
import sys
import time
import traceback
from collections.abc import Callable
from importlib.machinery import SOURCE_SUFFIXES, FileFinder, SourceFileLoader
from importlib.util import find_spec
from pathlib import Path
from random import Random
from typing import Any

HAS_ATHERIS = find_spec("atheris") is not None
STARTED = time.monotonic()
SLOWEST_SECONDS = 10  # time limit for one input
MOST_MEBIBYTES = 1024


def main(name: str, folder: Path, seconds: int) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    (guided if HAS_ATHERIS else blindly)(name, folder, seconds)


def guided(name: str, folder: Path, seconds: int) -> None:
    """Run atheris, which ends the process."""
    import atheris

    if not name.startswith("compiled_"):
        _use_plain_form()
    with atheris.instrument_imports(include=["pyk"]):
        from .targets import LONGEST, TARGETS

        _instrument_generated_code(atheris.instrument_func)
        target = TARGETS[name]
        _write_seeds(name, folder)
        arguments = {
            "max_total_time": max(1, seconds - round(time.monotonic() - STARTED)),
            "max_len": LONGEST,
            "timeout": SLOWEST_SECONDS,
            "rss_limit_mb": MOST_MEBIBYTES,
            "exact_artifact_path": harm_of(folder),
            "print_final_stats": 1,
        }
        options: dict[str, Any] = {}
        if (mutate := target.mutate) is not None:
            options["custom_mutator"] = lambda data, _, seed: mutate(
                data, Random(seed), atheris.Mutate
            )
        command = [name, *(f"-{key}={value}" for key, value in arguments.items()), str(folder)]
        atheris.Setup(command, target.run, internal_libfuzzer=True, **options)
        atheris.Fuzz()


def _use_plain_form() -> None:
    """Import hot modules from their sources, which atheris can instrument."""
    protocol = find_spec("pyk.protocol")
    assert protocol is not None
    for place in protocol.submodule_search_locations or ():
        for package in ("records", "codec"):
            folder = os.path.join(place, package)
            finder = FileFinder(folder, (SourceFileLoader, SOURCE_SUFFIXES))
            sys.path_importer_cache[folder] = finder


def _instrument_generated_code(instrumented: Callable[[Any], Any]) -> None:
    from pyk.protocol import codec

    compile_decoder = codec.compile_decoder
    codec.compile_decoder = lambda cls, version: instrumented(compile_decoder(cls, version))


def blindly(name: str, folder: Path, seconds: int) -> None:
    """Damage seeds at random until the time is over."""
    from support.broken_messages import spoiled

    from .targets import LONGEST, TARGETS

    target, chance, count = TARGETS[name], Random(time.time_ns()), 0
    seeds = seeds_of(name)
    while time.monotonic() < STARTED + seconds:
        data, count = chance.choice(seeds), count + 1
        if target.mutate is None:
            data = spoiled(data, chance)[:LONGEST]
        else:
            data = target.mutate(data, chance, lambda body, most: spoiled(body, chance)[:most])
        try:
            target.run(data)
        except BaseException:
            harm_of(folder).write_bytes(data)
            traceback.print_exc()
            sys.exit(1)
    print(f"stat::number_of_executed_units: {count}", file=sys.stderr)


def seeds_of(name: str) -> list[bytes]:
    from .targets import TARGETS, corpus

    return [*corpus(name), *TARGETS[name].seeds()]


def harm_of(folder: Path) -> Path:
    """Return the path to which an input that did harm is written."""
    return folder.with_suffix(".harm")


def _write_seeds(name: str, folder: Path) -> None:
    for seed in seeds_of(name):
        (folder / hashlib.sha1(seed).hexdigest()).write_bytes(seed)


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]), int(sys.argv[3]))
