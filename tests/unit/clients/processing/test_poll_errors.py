"""Which errors of a poll end ``process()``, and which only keep it from reading for now."""

from __future__ import annotations

import pytest

from pyk.clients.errors import (
    AuthorizationError,
    KafkaTimeoutError,
    NetworkError,
    UnknownMemberIdError,
)
from pyk.clients.processing.session import HandlerSession
from pyk.clients.processing.share_handlers import ShareHandlerSession

MINE, SHARED = HandlerSession, ShareHandlerSession


@pytest.mark.parametrize("kind", [MINE, SHARED])
@pytest.mark.parametrize(
    ("error", "goes_on"),
    [
        (KafkaTimeoutError("the group cannot be joined"), True),
        (NetworkError("connection refused"), True),
        (KafkaTimeoutError("orders-0 gets no records", topic="orders"), False),
        (AuthorizationError("denied"), False),
        (LookupError("a bug"), False),
        (TimeoutError("of something else"), False),
    ],
)
def test_reading_goes_on_after_what_keeps_the_whole_member_from_it_for_now(
    kind, error, goes_on, caplog
):
    session = kind.__new__(kind)

    assert session.goes_on_after(error) is goes_on
    assert (str(error) in caplog.text) is goes_on


def test_reading_goes_on_after_the_group_has_left_the_member_out():
    session = MINE.__new__(MINE)

    assert session.goes_on_after(UnknownMemberIdError("left out"))
