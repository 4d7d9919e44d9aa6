"""Find the topics and groups that requests name, for fault rules. Pure.

APIs whose requests name partitions in one shape are in :mod:`.handlers.partitioned`. The others
have topics and groups under a few names, which the schema of a request tells as well: so a rule
that could never match is refused.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from pyk.protocol.api_keys import ApiKey
from pyk.protocol.registry import request_class

_HOLDERS = ("groups", "transactions", "markers", "dirs")
"""Arrays of structs that have topics of their own."""
_TOPICS = ("topics", "v3_and_below_topics", "topic_partitions")
_TOPIC_NAMES = "topic_names"
"""Topics that are names and no structs: DeleteTopics before version 6."""
_NAMES = ("name", "topic", "topic_name")
_GROUPS = ("groups", "groups_names", "group_ids")


def check_is_served(api_key: ApiKey, version: int | None) -> None:
    """Raise ``ValueError`` if the broker serves no request of an API, or none of a version."""
    from .handlers.table import SERVED

    versions = SERVED.get(api_key)
    if versions is None:
        raise ValueError(f"no broker serves {api_key.api_name}: a rule on it cannot match")
    if version is not None and version not in versions:
        raise ValueError(f"{api_key.api_name} has no version {version}; versions: {versions}")


def check_names_topics(api_key: ApiKey) -> None:
    """Raise ``ValueError`` if no request of an API names topics."""
    from .handlers.partitioned import SHAPES

    if api_key not in SHAPES and not _has_topics(request_class(api_key)):
        raise ValueError(
            f"{api_key.api_name} names no topics: a rule with topic= or partition= cannot match"
        )


def check_names_groups(api_key: ApiKey) -> None:
    """Raise ``ValueError`` if no request of an API names groups."""
    names = {field.name for field in request_class(api_key).fields}
    if not names & {"group_id", *_GROUPS}:
        raise ValueError(f"{api_key.api_name} names no group: a rule with group= cannot match")


def _has_topics(struct: Any) -> bool:
    for field in struct.fields:
        element: Any = getattr(getattr(field.kind, "of", None), "struct", None)
        if element is None:
            continue
        if field.name in _HOLDERS and _has_topics(element):
            return True
        if field.name in _TOPICS and {one.name for one in element.fields} & set(_NAMES):
            return True
    return False


def named_topics(body: Any) -> Iterator[tuple[str, Any]]:
    """Yield the name of each topic in a request, empty where it goes by its id, and the topic."""
    holders = [one for name in _HOLDERS for one in getattr(body, name, None) or ()]
    for holder in (body, *holders):
        for topics in _TOPICS:
            for topic in getattr(holder, topics, None) or ():
                given = (getattr(topic, name, None) for name in _NAMES)
                yield next((name for name in given if name), ""), topic
    for name in getattr(body, _TOPIC_NAMES, None) or ():
        yield name, None


def named_groups(body: Any) -> Iterator[str]:
    """Yield the id of each group in a request."""
    if one := getattr(body, "group_id", None):
        yield one
    for name in _GROUPS:
        for group in getattr(body, name, None) or ():
            yield group if isinstance(group, str) else group.group_id
