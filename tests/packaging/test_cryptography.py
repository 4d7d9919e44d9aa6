"""Broken hashes are not used, and what must not be guessed is random."""

from __future__ import annotations

import ast
from pathlib import Path
from random import SystemRandom

import pytest

from pyk.reference_broker import AsyncCluster

ROOT = Path(__file__).resolve().parents[2]
PARTS = ("runtime", "protocol", "clients", "reference_broker", "spark_connector", "command_line")
SOURCES = sorted(
    str(one.relative_to(ROOT)) for part in PARTS for one in (ROOT / part).rglob("*.py")
)
BROKEN = {"md5", "sha1", "md4", "rc4", "des"}


def broken_names(source: str) -> list[str]:
    """Return the broken hashes and ciphers that a module names as a function or as a str."""
    found = []
    for node in ast.walk(ast.parse(source)):
        name = ""
        if isinstance(node, ast.Attribute):
            name = node.attr
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            name = node.value
        if name.lower().replace("-", "") in BROKEN:
            found.append(name)
    return found


@pytest.mark.parametrize("path", SOURCES)
def test_no_module_uses_a_broken_hash(path: str) -> None:
    assert broken_names((ROOT / path).read_text()) == []


def test_the_search_finds_them() -> None:
    assert broken_names("hashlib.md5(b''); hashlib.new('SHA-1')") == ["md5", "SHA-1"]


def test_nonces_of_clients_come_from_the_operating_system() -> None:
    module = ROOT / "clients/pyk/clients/engine/authenticator.py"

    assert "secrets.token_urlsafe(NONCE_BYTES)" in module.read_text()


def test_nonces_salts_and_ids_of_brokers_come_from_the_operating_system() -> None:
    assert isinstance(AsyncCluster()._environment.random, SystemRandom)
