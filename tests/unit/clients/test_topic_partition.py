"""What applications give as offsets."""

from __future__ import annotations

from typing import Any

import pytest

from pyk.clients import OffsetAndMetadata
from pyk.clients.topic_partition import INT32_MAX, INT64_MAX, checked_offset


@pytest.mark.parametrize("offset", [0, INT64_MAX])
def test_a_number_is_an_offset_without_metadata(offset: int) -> None:
    assert checked_offset(offset) == OffsetAndMetadata(offset)


@pytest.mark.parametrize("epoch", [None, -1, 0, INT32_MAX])
def test_an_offset_may_have_metadata_and_an_epoch(epoch: int | None) -> None:
    offset = OffsetAndMetadata(5, "note", epoch)

    assert checked_offset(offset) is offset


@pytest.mark.parametrize(
    ("offset", "error", "words"),
    [
        ("5", TypeError, "the offset of a-0 must be an int or OffsetAndMetadata, not '5'"),
        (True, TypeError, "the offset of a-0 must be an int or OffsetAndMetadata, not True"),
        (OffsetAndMetadata("5"), TypeError, "the offset of a-0 must be an int"),  # type: ignore[arg-type]
        (-1, ValueError, "the offset of a-0 must be 0 or more, of 64 bits at most, not -1"),
        (INT64_MAX + 1, ValueError, "the offset of a-0 must be 0 or more, of 64 bits"),
        (OffsetAndMetadata(1, 5), TypeError, "the metadata of the offset of a-0 must be a str"),  # type: ignore[arg-type]
        (OffsetAndMetadata(1, None), TypeError, "must be a str, not None"),  # type: ignore[arg-type]
        (OffsetAndMetadata(1, "\udc80"), ValueError, "metadata of the offset of a-0 cannot be enc"),
        (OffsetAndMetadata(1, "", "2"), TypeError, "leader_epoch of the offset of a-0 must be an"),  # type: ignore[arg-type]
        (OffsetAndMetadata(1, "", True), TypeError, "leader_epoch of the offset of a-0 must be"),
        (OffsetAndMetadata(1, "", -2), ValueError, "leader_epoch of the offset of a-0 must be -1"),
        (OffsetAndMetadata(1, "", INT32_MAX + 1), ValueError, "must be -1 to 2147483647, not"),
    ],
)
def test_what_a_request_cannot_carry_is_refused(
    offset: Any, error: type[Exception], words: str
) -> None:
    with pytest.raises(error, match=words):
        checked_offset(offset, "the offset of a-0")
