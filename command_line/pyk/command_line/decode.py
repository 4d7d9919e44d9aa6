"""``pyk decode``: bytes of the Kafka protocol as text."""

from __future__ import annotations

import io
from collections.abc import Container, Iterable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, BinaryIO

import click

from pyk.command_line.disk.log_segment import is_segment
from pyk.command_line.frame.commands import PlainCommand, settings_of
from pyk.command_line.frame.suggestions import did_you_mean
from pyk.command_line.readable import Style
from pyk.command_line.standard_input import standard_input
from pyk.command_line.text import printable, to_line
from pyk.command_line.wire.capture import Capture, CapturedEntry
from pyk.command_line.wire.conversation import (
    Direction,
    WireMessage,
    decode_request,
    decode_response,
)
from pyk.command_line.wire.frames import SIZE
from pyk.command_line.wire.packet_files import CaptureError, is_capture, read_packets
from pyk.protocol import (
    ApiKey,
    MalformedMessageError,
    Message,
    ProtocolError,
    UnknownMessageError,
    known_messages,
    message_class,
)
from pyk.runtime import slotted

LARGEST_INPUT = 256 << 20
"""The most bytes of a source that is not a capture; a capture is read packet by packet."""

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_HEX_TEXT = frozenset(b"0123456789abcdefABCDEF \t\r\n")


@click.command(cls=PlainCommand)
@click.argument(
    "words", nargs=-1, required=True, metavar="[MESSAGE VERSION] SOURCE", type=click.Path()
)
@click.option("--api", metavar="NAME", help="SOURCE is a response of this API, such as Fetch.")
@click.option("--version", type=int, help="The version of the request that was answered.")
@click.option(
    "--request", metavar="SOURCE", type=click.Path(), help="SOURCE is the response to this frame."
)
@click.option(
    "--port",
    default="9092",
    show_default=True,
    metavar="PORT[,PORT…]|any",
    help="Where the brokers of a capture listen.",
)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object per line.")
@click.option("--full", is_flag=True, help="Show all bytes and all records.")
@click.option("--show-secrets", is_flag=True, help="Also show passwords and tokens.")
def decode(
    *,
    words: tuple[str, ...],
    api: str | None,
    version: int | None,
    request: str | None,
    port: str,
    as_json: bool,
    full: bool,
    show_secrets: bool,
) -> None:
    """Show bytes of the Kafka protocol as text.

    SOURCE is hex text, a file (hex text, binary, or a capture in pcap or pcapng), or - for standard
    input. It holds frames, each with its header, with or without the length before it. A request
    names its API and version; for a response give --api and --version, or --request. After a
    MESSAGE and its VERSION, such as FetchRequest 12, SOURCE is that message without a header.

    Of a capture, the messages on connections to --port are shown, each response with the time since
    its request.
    """
    printer = _Printer(
        Style(is_full=full, shows_secrets=show_secrets), as_json or settings_of().as_json
    )
    try:
        if len(words) > 2 and words[1].isdigit() and not _is_hex(words[0].encode()):
            printer.body(words[0], int(words[1]), _bytes_of(words[2:]))
            return
        with _open(words) as file:
            start = file.read(4)
            if is_capture(start):
                _decode_capture(printer, file, start, port)
            else:
                data = _all_bytes(file, start)
                if is_segment(data):
                    raise click.ClickException(
                        "these are the batches of a log, not messages; show them with  "
                        "pyk dump-log --print-data-log FILE.log"
                    )
                _decode_frames(printer, data, _answered(api, version, request))
    except (ProtocolError, CaptureError) as error:
        raise click.ClickException(str(error)) from error


def _decode_frames(printer: _Printer, data: bytes, answered: tuple[ApiKey, int] | None) -> None:
    for frame in _frames(data):
        message = decode_response(frame, *answered) if answered else decode_request(frame)
        if message.body is None:
            hint = "" if answered else "; if it is a response, give --api and --version"
            raise MalformedMessageError(f"{message.problem}{hint}")
        printer.message(message)


def _decode_capture(printer: _Printer, file: BinaryIO, start: bytes, port: str) -> None:
    capture = Capture(_ports(port))
    try:
        for entry in capture.read(read_packets(file, start)):
            printer.captured(entry)
    finally:
        for entry in capture.finish():
            printer.captured(entry)
    if capture.connection_count == 0:
        if not capture.segment_count:
            raise CaptureError("the capture has no TCP connection")
        where = "begins with a request" if port == "any" else f"goes to port {port}"
        raise CaptureError(f"no connection in the capture {where}: see --port")


@slotted.frozen
class _Printer:
    """Prints messages one after the other, as text or as JSON."""

    style: Style
    as_json: bool

    def body(self, name: str, version: int, data: bytes) -> None:
        message = _class_of(name).decode(data, version)
        if self.as_json:
            click.echo(to_line(self.style.json_form(message, version)))
            return
        click.echo(f"{name} v{version}, {len(data)} bytes")
        self._indented(self.style.lines(message, version))

    def message(self, message: WireMessage) -> None:
        if self.as_json:
            click.echo(to_line(self._message_form(message)))
            return
        click.echo(_title(message))
        self._message_text(message)

    def captured(self, entry: CapturedEntry) -> None:
        """Print a message or a note of a capture."""
        time, content = _time(entry.time_ns), entry.content
        if self.as_json:
            form = {"time": time, "client": f"{entry.client}", "server": f"{entry.server}"}
            if isinstance(content, WireMessage):
                form |= self._message_form(content)
            else:
                form["note"] = content
            click.echo(to_line(form))
        elif isinstance(content, WireMessage):
            arrow = "→" if content.direction is Direction.REQUEST else "←"
            click.echo(f"{time} {entry.client} {arrow} {entry.server} {_title(content)}")
            self._message_text(content)
        else:
            click.echo(f"{time} {entry.client} — {entry.server} {content}")

    def _message_text(self, message: WireMessage) -> None:
        if message.body is not None:
            self._indented(self.style.lines(message.body, message.body_version))
        if message.problem is not None:
            self._indented([f"({printable(message.problem)})"])

    def _message_form(self, message: WireMessage) -> dict[str, Any]:
        api = message.api_key
        form: dict[str, Any] = {
            "type": message.direction.value,
            "api": None if api is None else api.api_name,
            "version": message.version,
            "correlationId": message.correlation_id,
            "clientId": message.client_id,
            "size": message.size,
            "waitedMs": None if message.waited_ns is None else message.waited_ns / 1e6,
            "problem": message.problem,
        }
        form = {name: value for name, value in form.items() if value is not None}
        if message.body is not None:
            form["body"] = self.style.json_form(message.body, message.body_version)
        return form

    def _indented(self, lines: Iterable[str]) -> None:
        for line in lines:
            click.echo(f"    {line}")


def _class_of(name: str) -> type[Message]:
    try:
        return message_class(name)
    except UnknownMessageError as error:
        advice = did_you_mean(name, known_messages())
        raise click.ClickException(f"{error}; {advice}" if advice else str(error)) from None


def _title(message: WireMessage) -> str:
    api = "" if message.api_key is None else f"{message.api_key.api_name} v{message.version} "
    number = "" if message.correlation_id is None else f" {message.correlation_id}"
    client = "" if message.client_id is None else f" of {message.client_id!r}"
    waited = "" if message.waited_ns is None else f", after {message.waited_ns / 1e6:.3f} ms"
    return f"{api}{message.direction.value}{number}{client}, {message.size} bytes{waited}"


def _time(time_ns: int) -> str:
    try:
        at = _EPOCH + timedelta(microseconds=time_ns // 1000)
    except OverflowError:
        return f"{time_ns} ns"
    return at.isoformat(timespec="microseconds").replace("+00:00", "Z")


def _ports(text: str) -> Container[int] | None:
    if text == "any":
        return None
    try:
        return {int(port) for port in text.split(",")}
    except ValueError:
        raise click.BadParameter(f"{text!r} is not a port", param_hint="--port") from None


def _answered(
    api: str | None, version: int | None, request: str | None
) -> tuple[ApiKey, int] | None:
    """Return API and version of the responses to decode; None to decode requests."""
    if request is not None:
        message = decode_request(next(_frames(_bytes_of((request,)))))
        if message.api_key is None or message.version is None:
            raise MalformedMessageError(f"--request: {message.problem}")
        return message.api_key, message.version
    if api is None and version is None:
        return None
    if api is None or version is None:
        raise click.UsageError("--api and --version must be given together")
    names = {each.api_name.lower(): each for each in ApiKey} | {str(int(k)): k for k in ApiKey}
    if api.lower() not in names:
        advice = did_you_mean(api, [each.api_name for each in ApiKey])
        problem = f"{api!r} is not an API of Kafka"
        raise click.BadParameter(f"{problem}; {advice}" if advice else problem, param_hint="--api")
    return names[api.lower()], version


def _frames(data: bytes) -> Iterator[bytes]:
    """Yield the frames in ``data``: several with their lengths, or one without."""
    ends, end = [], 0
    while len(data) - end >= SIZE.size:
        [size] = SIZE.unpack_from(data, end)
        if size < 0:
            break
        ends.append((end + SIZE.size, end := end + SIZE.size + size))
    if end != len(data) or not ends:
        ends = [(0, len(data))]
    for start, stop in ends:
        yield data[start:stop]


def _open(words: tuple[str, ...]) -> BinaryIO:
    """Open the file that SOURCE names, or return hex text as a file."""
    if words == ("-",):
        return standard_input()
    try:
        if len(words) == 1 and (path := Path(words[0])).exists() and not path.is_dir():
            return path.open("rb")
    except OSError as error:
        raise click.ClickException(f"{words[0]}: {error.strerror or error}") from error
    try:
        text = "".join(words)
        bytes.fromhex(text)
        return io.BytesIO(text.encode())
    except ValueError:
        raise click.BadParameter(_no_source(words)) from None


def _no_source(words: tuple[str, ...]) -> str:
    """Return why words are not a source: they may be a message without its version or its bytes."""
    shown = printable(" ".join(words)[:40])
    name = words[0]
    if Path(name).is_dir():
        return f"{shown!r} is a folder; name a file"
    if name in known_messages():
        return f"{shown!r} is neither a file nor hex text; {name} needs its VERSION and SOURCE"
    advice = did_you_mean(name, known_messages())
    return f"{shown!r} is neither a file nor hex text{advice and f'; {advice}'}"


def _bytes_of(words: tuple[str, ...]) -> bytes:
    with _open(words) as file:
        return _all_bytes(file)


def _all_bytes(file: BinaryIO, start: bytes = b"") -> bytes:
    data = start + file.read(LARGEST_INPUT)
    if len(data) >= LARGEST_INPUT:
        raise click.ClickException(
            f"a source that is not a capture must be below {LARGEST_INPUT} bytes"
        )
    if not _is_hex(data):
        return data
    try:
        return bytes.fromhex(data.decode())
    except ValueError as error:
        raise click.ClickException(f"the hex text has an odd number of digits: {error}") from None


def _is_hex(text: bytes) -> bool:
    return _HEX_TEXT.issuperset(text)
