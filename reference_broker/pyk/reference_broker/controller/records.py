"""Records of the metadata log, with the version each is written at."""

from __future__ import annotations

from pyk.protocol.messages.metadata_records import RegisterBrokerRecord
from pyk.protocol.persisted import decode_metadata_record, encode_metadata_record
from pyk.protocol.schema import Message
from pyk.runtime import slotted

# The lowest version that carries all we have to say, so that older tools read the log too.
_VERSIONS: dict[type[Message], int] = {RegisterBrokerRecord: 1}


@slotted.frozen
class MetadataRecord:
    """One record of ``__cluster_metadata``."""

    message: Message

    def encode(self) -> tuple[bytes | None, bytes | None]:
        version = _VERSIONS.get(type(self.message), 0)
        return None, encode_metadata_record(self.message, version)

    @classmethod
    def decode(cls, value: bytes | None) -> MetadataRecord:
        """Return the record in a value; raise ``ProtocolError`` if it holds none."""
        return cls(decode_metadata_record(value or b""))
