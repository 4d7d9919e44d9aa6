"""A consumer group with the changes of a decision that is being made."""

from __future__ import annotations

from pyk.reference_broker.coordinator.group.group_draft import GroupDraft

from .consumer_group import ConsumerGroup

Draft = GroupDraft[ConsumerGroup]
