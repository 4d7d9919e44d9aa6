"""Pages, docstrings and comments name modules and files that exist.

Code moves, and the text about it stays behind. So this module looks up each dotted name
(``pyk.clients.Producer``) and each path (``tests/support/groups.py``), and compares the map of
each ``DESIGN.md`` with the modules of its part, in both directions.
"""

from __future__ import annotations

import importlib
import importlib.util
import re
import subprocess
from collections.abc import Iterator
from fnmatch import fnmatch
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PARTS = (
    "runtime",
    "protocol",
    "clients",
    "reference_broker",
    "spark_connector",
    "command_line",
)
FILES = frozenset(
    subprocess.run(
        ["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=True
    ).stdout.split()
)
FOLDERS = frozenset(str(folder) for file in FILES for folder in Path(file).parents)
# A page of decisions that names the module of its time says that it was superseded.
TEXTS = sorted(
    file
    for file in FILES
    if file.endswith((".md", ".py"))
    and not file.startswith("docs/messages/")
    and not (file.startswith("tests/") and file.endswith(".py"))  # tests make names up
    and (ROOT / file).is_file()
    and "**Superseded by" not in (ROOT / file).read_text()
)
PAGES = [file for file in TEXTS if file.endswith(".md")]

DOTTED_NAME = re.compile(r"(?<![\w./-])pyk(?:\.[A-Za-z]\w*)+\b")
NOT_LOOKED_UP = {
    "pyk.tar.gz",
    "pyk.zip",
    "pyk.protocol.io",  # what decision 0007 replaced
}
CODE = re.compile(r"`([^`\n]+)`")
TOP = "|".join((*PARTS, "tests", "docs", "examples", "benchmarks", "changes", "requirements"))
PATH = re.compile(rf"(?<![\w./*-])(?:{TOP})/[\w./-]*[\w/]")
NOT_KEPT = "benchmarks/results"  # written by a run, not kept in git
COMMAND = re.compile(r"python -m ([A-Za-z_][\w.]*)")
OTHERS_COMMANDS = {"build", "venv"}
MAP = re.compile(r"^\| module \|.*\n((?:\|.*\n)+)", re.MULTILINE)
ENTRY = re.compile(r"`([^`]+)`(:?)")


@cache
def exists(name: str) -> bool:
    """Return whether a dotted name is a module, or an attribute of one."""
    words = name.split(".")
    for count in range(len(words), 1, -1):
        try:
            if importlib.util.find_spec(".".join(words[:count])) is None:
                continue
        except ModuleNotFoundError:
            continue
        return count == len(words) or has_attribute(".".join(words[:count]), words[count:])
    return False


def has_attribute(module: str, path: list[str]) -> bool:
    found: object = importlib.import_module(module)
    for word in path:
        if not hasattr(found, word):
            return False
        found = getattr(found, word)
    return True


def lines(file: str) -> Iterator[tuple[int, str]]:
    yield from enumerate((ROOT / file).read_text().splitlines(), start=1)


def unknown_names(file: str) -> list[str]:
    return [
        f"{file}:{number}: {name}"
        for number, line in lines(file)
        for name in DOTTED_NAME.findall(line)
        if name not in NOT_LOOKED_UP and not exists(name)
    ]


def missing_paths(file: str) -> list[str]:
    return [
        f"{file}:{number}: {path}"
        for number, line in lines(file)
        for code in CODE.findall(line)
        for path in PATH.findall(code)
        if not is_path(path.rstrip("/")) and not path.startswith(NOT_KEPT)
    ]


def is_path(path: str) -> bool:
    """Return whether a path leads to a file, from the top or from the folder of a part."""
    candidates = [path, *(f"{part}/pyk/{path}" for part in PARTS)]
    return any(
        one in FOLDERS or any(f"{one}{suffix}" in FILES for suffix in ("", ".py", ".md"))
        for one in candidates
    )


def modules(part: str) -> list[str]:
    """Return the modules of a part as paths without ``.py``: ``engine/client``."""
    folder = f"{part}/pyk/{part}/"
    return sorted(
        file.removeprefix(folder).removesuffix(".py")
        for file in FILES
        if file.startswith(folder)
        and file.endswith(".py")
        and Path(file).name not in ("__init__.py", "__main__.py")
    )


def entries(part: str) -> tuple[set[str], set[str]]:
    """Return the names in the maps of a part: all that are in code, and those of the first column.

    A folder with a colon after it only says where the names after it are.
    """
    rows = "".join(MAP.findall((ROOT / part / "DESIGN.md").read_text())).splitlines()
    assert rows, f"{part}/DESIGN.md has no table with a column 'module'"
    named = {name for row in rows for name, colon in ENTRY.findall(row) if not colon}
    first = {name for row in rows for name, _ in ENTRY.findall(row.split("|")[1])}
    return {plain(name) for name in named}, {plain(name) for name in first}


def plain(name: str) -> str:
    return name.removeprefix("…/").rstrip("/")


def is_named(path: str, entry: str) -> bool:
    return fnmatch(path, entry) or fnmatch(path, f"*/{entry}")


def unnamed_modules(part: str) -> list[str]:
    """Return the modules that no map names, neither by themselves nor by their folder."""
    named, _ = entries(part)
    return [
        module
        for module in modules(part)
        if not any(
            is_named(path, entry) for entry in named for path in (module, str(Path(module).parent))
        )
    ]


def unknown_entries(part: str) -> list[str]:
    _, first = entries(part)
    known = modules(part)
    paths = {*known, *(str(folder) for module in known for folder in Path(module).parents)}
    beside = {Path(file).stem for file in FILES if file.startswith(f"{part}/")}
    return sorted(
        entry
        for entry in first
        if entry not in beside and not any(is_named(path, entry) for path in paths)
    )


@pytest.mark.parametrize("folder", sorted({file.split("/")[0] for file in TEXTS}))
def test_every_dotted_name_in_the_text_exists(folder: str) -> None:
    files = [file for file in TEXTS if file.split("/")[0] == folder]

    assert [name for file in files for name in unknown_names(file)] == []


@pytest.mark.parametrize("page", PAGES)
def test_every_path_on_a_page_exists(page: str) -> None:
    assert missing_paths(page) == []


def test_every_module_that_a_command_runs_exists() -> None:
    commands = {
        (file, module)
        for file in (*TEXTS, "Makefile")
        for module in COMMAND.findall((ROOT / file).read_text())
    }
    places = ("", "tests/", *(f"{part}/" for part in PARTS))

    unknown = [
        (file, module)
        for file, module in sorted(commands)
        if module not in OTHERS_COMMANDS
        and not any(
            f"{place}{module.replace('.', '/')}{suffix}" in FILES
            for place in places
            for suffix in (".py", "/__main__.py")
        )
    ]

    assert commands
    assert unknown == []


@pytest.mark.parametrize("part", PARTS)
def test_every_entry_of_a_map_is_a_module(part: str) -> None:
    assert unknown_entries(part) == []


@pytest.mark.parametrize("part", PARTS)
def test_every_module_is_on_the_map_of_its_part(part: str) -> None:
    assert unnamed_modules(part) == []


@pytest.mark.parametrize(
    ("name", "is_known"),
    [
        ("pyk.clients", True),
        ("pyk.clients.Producer.send", True),
        ("pyk.clients.producer.faces.send_path", True),
        ("pyk.protocol.slotted", False),
        ("pyk.clients.Producer.produce", False),
    ],
)
def test_a_name_is_a_module_or_what_a_module_has(name: str, *, is_known: bool) -> None:
    assert exists(name) is is_known
