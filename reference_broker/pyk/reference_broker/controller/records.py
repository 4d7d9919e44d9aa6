"""Records of the metadata log, each in the version that ``metadata.version`` asks for."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from pyk.protocol.messages.metadata_records import (
    BrokerRegistrationChangeRecord,
    FeatureLevelRecord,
    PartitionChangeRecord,
    PartitionRecord,
    RegisterBrokerRecord,
)
from pyk.protocol.persisted import decode_metadata_record, encode_metadata_record
from pyk.protocol.schema import Message
from pyk.runtime import slotted

from .control_records import decode_control, encode_control, is_control
from .features import METADATA_VERSION
from .metadata_versions import (
    partition_version,
    register_broker_version,
    registration_change_version,
)

_VERSIONS = {
    RegisterBrokerRecord: register_broker_version,
    BrokerRegistrationChangeRecord: registration_change_version,
    PartitionRecord: partition_version,
    PartitionChangeRecord: partition_version,
}
"""The record types whose version depends on the level; the others have version 0."""


@slotted.frozen
class MetadataRecord:
    """One record of ``__cluster_metadata``."""

    message: Message
    version: int = 0

    def encode(self) -> tuple[bytes | None, bytes | None]:
        if is_control(self.message):
            return encode_control(self.message)
        return None, encode_metadata_record(self.message, self.version)

    @classmethod
    def decode(cls, key: bytes | None, value: bytes | None) -> MetadataRecord:
        """Return the record in a key and a value; raise ``ProtocolError`` if they hold none."""
        if key is not None:
            return cls(decode_control(key, value))
        return cls(decode_metadata_record(value or b""))


def at_level(messages: Iterable[Message], level: int) -> Iterator[MetadataRecord]:
    """Yield the records that are written at a level of ``metadata.version``.

    A record that changes the level counts for those after it.
    """
    for message in messages:
        if isinstance(message, FeatureLevelRecord) and message.name == METADATA_VERSION:
            level = message.feature_level
        version_of = _VERSIONS.get(type(message))
        yield MetadataRecord(message, 0 if version_of is None else version_of(level))
