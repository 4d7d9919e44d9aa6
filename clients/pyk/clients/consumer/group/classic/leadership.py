"""The state of a member that leads its group: the members, and the topics that it divides. Pure.

The coordinator names one member the leader, and tells it what all members subscribe to. It needs
the layouts of their topics, some of which only other members may have asked for so far. Later it
compares the layouts with those that it divided: if they differ, the group has to rebalance.
"""

from __future__ import annotations

from collections.abc import Mapping

from pyk.clients.consumer.group.classic import leader
from pyk.clients.consumer.group.classic.subscription import Assignor, Subscription, TopicLayout
from pyk.clients.consumer.group.classic.topic_layouts import TopicLayouts
from pyk.clients.consumer.group.membership import MetadataNeeds
from pyk.clients.engine.metadata import MetadataImage
from pyk.protocol.messages.join_group import JoinGroupResponse
from pyk.protocol.messages.sync_group import SyncGroupRequestAssignment

# How long to wait for metadata of topics that other members subscribe to.
LAYOUT_SECONDS = 5.0


class Leadership:
    """Whether a member leads its group, and what it does then."""

    def __init__(self) -> None:
        self.is_leader = False
        self._members: list[Subscription] = []
        self._image = MetadataImage()
        self._layouts: Mapping[str, TopicLayout] = {}
        self._divided_layouts: Mapping[str, TopicLayout] = {}
        self._topic_layouts = TopicLayouts()
        self._skips_assignment = False
        self.divide_by = 0.0
        """When to divide although the metadata of some topics is missing."""

    def begin(self, response: JoinGroupResponse, now: float) -> None:
        """Lead the group: learn the layouts of the topics of all members."""
        self.is_leader = True
        self._members = leader.read_members(response.members)
        self._skips_assignment = response.skip_assignment
        uses_racks = any(member.rack is not None for member in self._members)
        self._topic_layouts.watch(leader.topics_of(self._members), uses_racks=uses_racks)
        self.divide_by = now + LAYOUT_SECONDS

    def end(self) -> None:
        """Stop leading, because another member leads, or this one has left."""
        self.is_leader = False
        self._members = []
        self._topic_layouts.watch(frozenset(), uses_racks=False)

    @property
    def needs(self) -> MetadataNeeds:
        """The topics of all members, whose metadata is requested until they can be read."""
        topics = self._topic_layouts.topics
        return MetadataNeeds(topics, self.is_leader and self._image.awaits(topics))

    def metadata_changed(self, image: MetadataImage, now: float) -> None:
        """Apply new metadata of the topics."""
        self._image = image
        if self.is_leader:
            self._layouts = self._topic_layouts.observe(image, now)

    def can_divide(self, now: float) -> bool:
        """Return whether all topics are known, or the wait for them is over."""
        found = map(self._image.topic, self._topic_layouts.topics)
        return now >= self.divide_by or all(topic is not None for topic in found)

    def divide(self, assignor: Assignor, now: float) -> list[SyncGroupRequestAssignment]:
        """Return the assignments of all members as the topics are now.

        Empty for a static leader that is back so soon that nothing has changed (KIP-814).
        """
        self._layouts = self._divided_layouts = self._topic_layouts.observe(self._image, now)
        if self._skips_assignment:
            return []
        return leader.divide(assignor, self._layouts, self._members)

    @property
    def must_divide_again(self) -> bool:
        """Return whether the topics have changed since they were divided."""
        return self.is_leader and self._layouts != self._divided_layouts
