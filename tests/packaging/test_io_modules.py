"""Only the modules that do I/O open files.

ruff bans modules by their names. It cannot ban the builtin ``open`` and the methods of ``Path``
that do I/O, so this module searches for them.
"""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
MODULES_WITH_IO = (
    "runtime/",
    "spark_connector/pyk/spark_connector/java.py",
    "clients/pyk/clients/config/",  # from_properties(path)
    "clients/pyk/clients/security/assertions.py",
    "clients/pyk/clients/security/tls.py",
    "reference_broker/pyk/reference_broker/security/key_source.py",
    "reference_broker/pyk/reference_broker/security/client_files.py",
    "reference_broker/pyk/reference_broker/security/tls.py",
    "command_line/",
)
FILE_METHODS = {"mkdir", "open", "rename", "rmdir", "touch", "unlink"} | {
    f"{verb}_{what}" for verb in ("read", "write") for what in ("bytes", "text")
}
SOURCES = sorted(
    str(path.relative_to(ROOT))
    for root in (
        "runtime",
        "protocol",
        "clients",
        "reference_broker",
        "spark_connector",
        "command_line",
    )
    for path in (ROOT / root).rglob("*.py")
)


def opened_files(source: str) -> list[int]:
    """Return the lines on which a file is opened by the builtin or through a ``Path``."""
    lines = []
    for node in ast.walk(ast.parse(source)):
        if not isinstance(node, ast.Call):
            continue
        called = node.func
        if isinstance(called, ast.Name) and called.id == "open":
            lines.append(node.lineno)
        is_path = (
            isinstance(called, ast.Attribute)
            and called.attr in FILE_METHODS
            and isinstance(called.value, ast.Call)
            and isinstance(called.value.func, ast.Name)
            and called.value.func.id == "Path"
        )
        if is_path:
            lines.append(node.lineno)
    return lines


@pytest.mark.parametrize("path", [path for path in SOURCES if not path.startswith(MODULES_WITH_IO)])
def test_only_modules_that_do_io_open_files(path: str) -> None:
    assert opened_files((ROOT / path).read_text()) == []


def test_the_check_finds_a_call_of_open() -> None:
    assert opened_files("with open('x') as f: Path('y').read_text()") == [1, 1]
