from __future__ import annotations

import subprocess
import sys

import pytest

from pyk.protocol import (
    ApiKey,
    UnknownMessageError,
    known_messages,
    message_class,
    request_class,
    response_class,
)


def test_every_known_message_is_found_by_its_name() -> None:
    assert [message_class(name).__name__ for name in known_messages()] == known_messages()


def test_requests_and_responses_are_found_by_their_api_key() -> None:
    assert request_class(ApiKey.FETCH).__name__ == "FetchRequest"
    assert response_class(ApiKey.OFFSET_FOR_LEADER_EPOCH).__name__ == "OffsetForLeaderEpochResponse"


@pytest.mark.parametrize(
    "name", ["Fetch", "fetchRequest", "NoSuchRequest", "", "..", "HeadersRequest"]
)
def test_an_unknown_name_is_an_error(name: str) -> None:
    with pytest.raises(UnknownMessageError):
        message_class(name)


def test_a_message_is_imported_only_when_it_is_used() -> None:
    script = (
        "import sys; import pyk.protocol; from pyk.protocol import message_class; "
        "message_class('HeartbeatRequest'); "
        "print(*sorted(m for m in sys.modules if m.startswith('pyk.protocol.messages.')))"
    )

    printed = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True
    ).stdout

    assert printed.split() == ["pyk.protocol.messages.heartbeat"]
