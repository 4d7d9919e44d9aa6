"""The file that tells clients how to connect is read back by every client."""

from __future__ import annotations

import stat
from pathlib import Path

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from pyk.clients.config.properties import parse_properties
from pyk.command_line.broker_users import write_client_properties


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.dictionaries(st.text(min_size=1), st.text()))
def test_properties_are_read_back_as_they_were_written(
    tmp_path: Path, properties: dict[str, str]
) -> None:
    path = tmp_path / "client.properties"

    write_client_properties(str(path), properties)

    assert parse_properties(path.read_text("ascii")) == properties


def test_a_link_is_replaced_and_not_followed(tmp_path: Path) -> None:
    path, elsewhere = tmp_path / "client.properties", tmp_path / "elsewhere"
    elsewhere.write_text("kept")
    path.symlink_to(elsewhere)

    write_client_properties(str(path), {"a": "b"})

    assert (path.read_text(), path.is_symlink()) == ("a=b\n", False)
    assert elsewhere.read_text() == "kept"
    assert sorted(tmp_path.iterdir()) == [path, elsewhere]
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_characters_beyond_16_bits_are_written_as_by_java(tmp_path: Path) -> None:
    path = tmp_path / "client.properties"

    write_client_properties(str(path), {"password": "\N{GRINNING FACE}"})

    assert path.read_text() == "password=\\ud83d\\ude00\n"
