"""Records to send, and how lines of text become them. Pure."""

from __future__ import annotations

from collections.abc import Iterable

from pyk.command_line.text import quoted
from pyk.runtime import slotted

Header = tuple[str, bytes | None]


@slotted.frozen(kw_only=True)
class OutgoingRecord:
    """A record to send."""

    key: bytes | None = None
    value: bytes | None = None
    headers: tuple[Header, ...] = ()
    partition: int | None = None
    timestamp_ms: int | None = None


@slotted.frozen(kw_only=True)
class LineReader:
    """Makes a record of each line."""

    separator: bytes | None = None
    """Between key and value; without it, a line is a value."""
    header_separator: bytes | None = None
    """After ``name=value,name=value``, at the beginning of a line."""
    null: bytes | None = None
    """Keys and values like this are null."""

    @property
    def is_plain(self) -> bool:
        """Whether a line is a value and nothing else."""
        return self.separator is None and self.header_separator is None

    def values(self, lines: Iterable[bytes]) -> Iterable[bytes | None]:
        """Return the values that plain lines are."""
        return lines if self.null is None else map(self._data, lines)

    def read(self, line: bytes) -> OutgoingRecord:
        """Return the record; raise ``ValueError`` if a separator is missing."""
        headers: tuple[Header, ...] = ()
        if self.header_separator is not None:
            text, found, line = line.partition(self.header_separator)
            if not found:
                raise ValueError(
                    f"it has no separator {quoted(self.header_separator)} after the headers"
                )
            headers = tuple(map(_header, text.split(b","))) if text else ()
        if self.separator is None:
            return OutgoingRecord(value=self._data(line), headers=headers)
        key, found, value = line.partition(self.separator)
        if not found:
            raise ValueError(f"it has no separator {quoted(self.separator)} after the key")
        return OutgoingRecord(key=self._data(key), value=self._data(value), headers=headers)

    def _data(self, data: bytes) -> bytes | None:
        return None if data == self.null else data


def _header(text: bytes) -> Header:
    name, found, value = text.partition(b"=")
    if not found or not name:
        raise ValueError(f"a header must be NAME=VALUE, not {quoted(text)}")
    try:
        return name.decode(), value
    except UnicodeDecodeError:
        raise ValueError(f"the name of a header must be UTF-8, not {quoted(name)}") from None


@slotted.frozen(kw_only=True)
class Additions:
    """What the options give to every record that does not have it."""

    key: bytes | None = None
    headers: tuple[Header, ...] = ()
    partition: int | None = None

    def to(self, record: OutgoingRecord) -> OutgoingRecord:
        """Return a record with them."""
        if self.key is None and self.partition is None and not self.headers:
            return record
        return slotted.evolve(
            record,
            key=self.key if record.key is None else record.key,
            headers=record.headers + self.headers,
            partition=self.partition if record.partition is None else record.partition,
        )


@slotted.define
class Pace:
    """Keeps to a number of records per second."""

    rate: float
    started: float
    sent: int = 0

    def next_in(self, now: float) -> float:
        """Count one record, and return the seconds to wait before it."""
        due = self.started + self.sent / self.rate
        self.sent += 1
        return max(0.0, due - now)
