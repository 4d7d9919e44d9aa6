"""Calls that ask again and again: until a condition holds, and for changes of groups."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping
from typing import Any

from pyk.clients.admin.arguments import checked_pause, checked_words
from pyk.clients.admin.calls import Calls
from pyk.clients.admin.conditions import Condition, Subject, checked_condition, last_seen
from pyk.clients.admin.group_calls import GroupCalls
from pyk.clients.admin.group_changes import GroupChange, by_id, group_changes
from pyk.clients.admin.group_list_calls import GroupListCalls
from pyk.clients.admin.group_listings import TYPES, GroupListing
from pyk.clients.admin.group_offset_calls import GroupOffsetCalls
from pyk.clients.admin.offset_calls import OffsetCalls
from pyk.clients.admin.topic_calls import TopicCalls
from pyk.clients.arguments import checked_seconds
from pyk.clients.errors import (
    GroupIdNotFoundError,
    KafkaTimeoutError,
    UnknownTopicOrPartitionError,
)
from pyk.clients.offsets import OffsetSpec
from pyk.clients.wording import because
from pyk.runtime import slotted


@slotted.frozen
class WatchCalls:
    """Carries out the calls that ask again; :class:`AsyncAdmin` documents them."""

    _calls: Calls
    _topics: TopicCalls
    _groups: GroupCalls
    _group_lists: GroupListCalls
    _group_offsets: GroupOffsetCalls
    _offsets: OffsetCalls

    async def wait_until(
        self, condition: Condition[Any], *, every: float, timeout: float | None
    ) -> Any:
        wanted, pause = checked_condition(condition), checked_pause(every)
        deadline = await self._calls.begin(timeout)
        began = self._calls.client.clock.now()
        seen, error = "nothing", None
        while self._calls.remaining(deadline) > 0:
            try:
                found = await self._look(wanted, self._calls.remaining(deadline))
                if wanted.holds(found):
                    return found
                seen, error = last_seen(wanted.subject, found), None
            except KafkaTimeoutError as failure:
                error = failure
            await asyncio.sleep(min(pause, self._calls.remaining(deadline)))
        waited = self._calls.client.clock.now() - began
        raise KafkaTimeoutError(
            f"waited {waited:.1f} s until {wanted}; last seen: {seen}{because(error)}"
        )

    async def _look(self, wanted: Condition[Any], timeout: float) -> Any:
        """Return what a condition is about, None if it does not exist."""
        key = wanted.key
        try:
            match wanted.subject:
                case Subject.TOPIC:
                    return (
                        await self._topics.describe_topics(
                            [key], authorized_operations=False, page_size=2000, timeout=timeout
                        )
                    )[key]
                case Subject.GROUP:
                    return (
                        await self._groups.describe_consumer_groups(
                            [key], authorized_operations=False, timeout=timeout
                        )
                    )[key]
                case Subject.LAG:
                    return await self._group_offsets.lag(key, None, timeout=timeout)
                case Subject.LOG_END:
                    ends = await self._offsets.list_offsets(
                        {key: OffsetSpec.LATEST}, read_committed=False, timeout=timeout
                    )
                    end = ends[key]
                    return None if end is None else end.offset
        except (UnknownTopicOrPartitionError, GroupIdNotFoundError):
            return None

    @staticmethod
    def checked(types: Any, every: Any, timeout: Any) -> tuple[list[str], float]:
        """Return the types of groups to watch, and the seconds between two looks."""
        if timeout is not None:
            checked_seconds(timeout, "timeout")
        return checked_words(types, TYPES, "a type"), checked_pause(every)

    async def changes(
        self,
        before: Mapping[str, GroupListing],
        types: Iterable[str],
        timeout: float | None,
    ) -> tuple[dict[str, GroupListing], list[GroupChange]]:
        """Return the groups as they are now, and what has changed since before."""
        listings = await self._group_lists.list_groups(
            states=(), types=types, protocol_types=(), timeout=timeout
        )
        after = by_id(listings)
        return after, group_changes(before, after)

    async def pause(self, seconds: float) -> None:
        """Wait until it is time to ask again."""
        await asyncio.sleep(seconds)
