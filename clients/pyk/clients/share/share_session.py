"""What a leader remembers of a member of a share group: its share session. Pure.

A session counts its requests in epochs: 0 opens it, -1 ends it and gives back all that the member
has of the leader. Only one request of a session may be in flight, and after one without a response
nobody knows its epoch: then a new one is opened. Ending needs no epoch, so that a session in doubt
can be ended, too.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping

from pyk.clients.consumer.group.modern.assignment import TopicIdPartition, by_topic_id
from pyk.clients.share.acknowledgements import Acknowledgements
from pyk.protocol.errors import ErrorCode
from pyk.protocol.messages import share_acknowledge, share_fetch
from pyk.runtime import slotted

OPENING_EPOCH = 0
CLOSING_EPOCH = -1
LAST_EPOCH = 2**31 - 1

# The leader has no such session: its requests were certainly not applied.
LOST = frozenset({ErrorCode.SHARE_SESSION_NOT_FOUND, ErrorCode.INVALID_SHARE_SESSION_EPOCH})
ABSENT = frozenset({ErrorCode.SHARE_SESSION_NOT_FOUND, ErrorCode.SHARE_SESSION_LIMIT_REACHED})
"""The leader has no session of this member at all."""

AcknowledgementsByPartition = Mapping[TopicIdPartition, Acknowledgements]


@slotted.frozen(kw_only=True)
class FetchTerms:
    """What all ShareFetch requests of a consumer ask for."""

    min_bytes: int = 1
    max_bytes: int = 50 * 1024 * 1024
    max_records: int = 500
    limits_records: bool = False
    """Whether never more than ``max_records`` may be acquired."""


class ShareSession:
    """The session of one member with one leader."""

    def __init__(self, group_id: str, member_id: str, terms: FetchTerms) -> None:
        self._group_id = group_id
        self._member_id = member_id
        self._terms = terms
        self._epoch = OPENING_EPOCH
        self._known: dict[TopicIdPartition, None] = {}
        self.may_exist = False
        """Whether the leader may have a session, and records locked for the member."""

    @property
    def is_open(self) -> bool:
        """Whether the leader has a session, as far as its responses tell."""
        return self._epoch != OPENING_EPOCH

    def fetch(
        self,
        wanted: Collection[TopicIdPartition],
        acknowledgements: AcknowledgementsByPartition,
        wait_ms: int,
        max_records: int,
    ) -> share_fetch.ShareFetchRequest:
        """Return a request for records of all that is ``wanted``, with acknowledgements of what was
        fetched before; the request that opens a session takes none."""
        added = [one for one in wanted if one not in self._known]
        removed = [one for one in self._known if one not in set(wanted)]
        self._known = dict.fromkeys(wanted)
        self.may_exist = True
        terms = self._terms
        return share_fetch.ShareFetchRequest(
            group_id=self._group_id,
            member_id=self._member_id,
            share_session_epoch=self._epoch,
            max_wait_ms=wait_ms,
            min_bytes=terms.min_bytes,
            max_bytes=terms.max_bytes,
            max_records=max_records,
            batch_size=max_records,
            share_acquire_mode=int(terms.limits_records),
            topics=_topics_to_fetch(added, acknowledgements),
            forgotten_topics_data=[
                share_fetch.ForgottenTopic(topic_id=topic.topic_id, partitions=topic.partitions)
                for topic in by_topic_id(removed)
            ],
        )

    def acknowledge(
        self, acknowledgements: AcknowledgementsByPartition, *, ends: bool = False
    ) -> share_acknowledge.ShareAcknowledgeRequest:
        """Return a request that only acknowledges, and may end the session."""
        topics: dict[object, share_acknowledge.AcknowledgeTopic] = {}
        for one, some in sorted(acknowledgements.items(), key=lambda item: item[0]):
            topic = topics.get(one.topic_id)
            if topic is None:
                topic = share_acknowledge.AcknowledgeTopic(topic_id=one.topic_id, partitions=[])
                topics[one.topic_id] = topic
            topic.partitions.append(
                share_acknowledge.AcknowledgePartition(
                    partition_index=one.number,
                    acknowledgement_batches=[
                        share_acknowledge.AcknowledgementBatch(
                            first_offset=first, last_offset=last, acknowledge_types=[kind]
                        )
                        for first, last, kind in some
                    ],
                )
            )
        return share_acknowledge.ShareAcknowledgeRequest(
            group_id=self._group_id,
            member_id=self._member_id,
            share_session_epoch=CLOSING_EPOCH if ends else self._epoch,
            is_renew_ack=any(some.has_renewals for some in acknowledgements.values()),
            topics=list(topics.values()),
        )

    def answered(self, code: ErrorCode) -> None:
        """Take the error code of a response."""
        if code in ABSENT:
            self.may_exist = False
        if code in LOST or code in ABSENT:
            self.reset()
        elif self._epoch != OPENING_EPOCH or code is ErrorCode.NONE:
            self._epoch = 1 if self._epoch == LAST_EPOCH else self._epoch + 1

    def reset(self) -> None:
        """Open another session with the next fetch, because this one is lost or in doubt."""
        self._epoch = OPENING_EPOCH
        self._known.clear()


def _topics_to_fetch(
    added: Collection[TopicIdPartition], acknowledgements: AcknowledgementsByPartition
) -> list[share_fetch.FetchTopic]:
    topics: dict[object, share_fetch.FetchTopic] = {}
    for one in sorted({*added, *acknowledgements}):
        topic = topics.get(one.topic_id)
        if topic is None:
            topic = topics[one.topic_id] = share_fetch.FetchTopic(
                topic_id=one.topic_id, partitions=[]
            )
        topic.partitions.append(
            share_fetch.FetchPartition(
                partition_index=one.number,
                acknowledgement_batches=[
                    share_fetch.AcknowledgementBatch(
                        first_offset=first, last_offset=last, acknowledge_types=[kind]
                    )
                    for first, last, kind in acknowledgements.get(one, ())
                ],
            )
        )
    return list(topics.values())
