"""The name of a partition, and the rules for topic names."""

from __future__ import annotations

import re
from typing import NamedTuple

MAX_TOPIC_NAME_LENGTH = 249
"""With the number of a partition after it, a name of this length is still a legal file name."""

TOPIC_NAME = rf"[a-zA-Z0-9._-]{{1,{MAX_TOPIC_NAME_LENGTH}}}"
"""A regular expression for names of topics; ``.`` and ``..`` match it and are not allowed."""

_LEGAL_CHARACTERS = re.compile(r"[a-zA-Z0-9._-]+")


class TopicPartition(NamedTuple):
    """One partition of one topic. Sorts by topic, then number; as a tuple it is a cheap key.

    ``str()`` gives the name that brokers give its directory.
    """

    topic: str
    partition: int

    def __str__(self) -> str:
        return f"{self.topic}-{self.partition}"


def topic_name_error(name: str) -> str | None:
    """Return why ``name`` is invalid, in Kafka's words; None if it is valid.

    The rule is that of Kafka's ``Topic.validate``, the same on every broker.
    """
    if not name:
        return "the empty string is not allowed"
    if name in (".", ".."):
        return f"'{name}' is not allowed"
    if len(name) > MAX_TOPIC_NAME_LENGTH:
        return (
            f"the length of '{name[:MAX_TOPIC_NAME_LENGTH]}' is longer than the max allowed length "
            f"{MAX_TOPIC_NAME_LENGTH}"
        )
    if not _LEGAL_CHARACTERS.fullmatch(name):
        return (
            f"{name!r} contains one or more characters other than ASCII alphanumerics, "
            "'.', '_' and '-'"
        )
    return None


def is_topic_name(name: str) -> bool:
    """Return whether a topic may have this name."""
    return topic_name_error(name) is None
