"""Targets of the fuzzer. A target accepts any bytes, and raises if they did harm.

Harm is any exception except a ``ProtocolError``, and any value that differs from the bytes. Seeds
are valid bytes; ``corpora/NAME.txt`` has inputs that did harm in the past, or nearly did.
"""

from __future__ import annotations

import ast
import json
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import cache
from pathlib import Path
from random import Random
from typing import Any, NamedTuple, TypeAlias

from crc32c import crc32c

from compiled.test_record_batches import IS_COMPILED, assert_same, read_everything
from golden.protocol_facts import schemas
from golden.record_vectors import record_vectors
from pyk.protocol import ApiKey, Message, ProtocolError, known_messages, message_class, persisted
from pyk.protocol import records as loaded
from pyk.protocol.connection import ClientConnection, ServerConnection
from pyk.protocol.messages.api_versions import ApiVersionsRequest
from pyk.protocol.messages.consumer_protocol import (
    ConsumerProtocolAssignment,
    ConsumerProtocolSubscription,
)
from pyk.protocol.messages.fetch import FetchRequest
from pyk.protocol.messages.headers import ResponseHeader
from pyk.protocol.messages.metadata import MetadataRequest
from pyk.protocol.negotiation import response_header_version
from pyk.protocol.records import Compression, RecordBatchError
from pyk.protocol.records.compression import compress, decompress
from pyk.protocol.registry import request_class
from pyk.protocol.sasl import (
    ClientFinal,
    ClientFirst,
    OAuthBearerFailure,
    OAuthBearerResponse,
    PlainToken,
    ServerFinal,
    ServerFirst,
)
from pyk.protocol.sasl.jaas import JaasError, jaas_entry, parse_jaas
from pyk.protocol.schema import MessageKind
from support.broken_messages import Sample, sample_of
from support.record_batches import record
from support.scram import ANSWER, CLIENT_FIRST, FIRST, SERVER_FIRST, UNPROVEN
from support.table_codec import Reader, varint

from .logins import (
    hostile_broker_seeds,
    hostile_client_seeds,
    log_in_to_hostile_broker,
    serve_hostile_client,
)
from .tokens import (
    bearer_token_seeds,
    provider_answer_seeds,
    read_bearer_token,
    read_provider_answer,
)

Mutate: TypeAlias = Callable[[bytes, int], bytes]

COMPILED = "compiled_"  # prefix of targets that do not run in the plain form
CORPORA = Path(__file__).parent / "corpora"
LONGEST = 4096  # limit for the bytes of an input
MOST_DECOMPRESSED = 1 << 20
CORRELATION_ID = 7
ASKED = [(ApiVersionsRequest(), 3), (MetadataRequest(), 12), (FetchRequest(), 12)]


class Target(NamedTuple):
    run: Callable[[bytes], None]
    seeds: Callable[[], Iterator[bytes]]
    share: int = 1
    """Of the time, beside the shares of the others."""
    mutate: Callable[[bytes, Random, Mutate], bytes] | None = None
    """Change what may be changed, if that is not all of an input."""


def corpus_name(name: str) -> str:
    """Return the name of a target's corpus, which both forms of a module share."""
    return name.removeprefix(COMPILED)


def corpus(name: str) -> list[bytes]:
    """Return the inputs of a corpus file, which has one bytes literal per line."""
    path = CORPORA / f"{corpus_name(name)}.txt"
    lines = path.read_text("ascii").splitlines() if path.exists() else []
    return [ast.literal_eval(line) for line in lines if line.startswith("b")]


# Messages: a line with name and version, then the body.


def read_message(data: bytes) -> None:
    line, _, body = data.partition(b"\n")
    if line not in _versions():
        return
    cls, version = _versions()[line]
    try:
        message = cls.decode(body, version)
    except ProtocolError:
        return
    written = message.encode(version)
    assert cls.decode(written, version).encode(version) == written
    judged = Reader(schemas()[cls.__name__], version, body).message()
    assert _text(message.to_json(version)) == _text(judged)


def mutate_message(data: bytes, chance: Random, mutate: Mutate) -> bytes:
    line, _, body = data.partition(b"\n")
    if line not in _versions() or chance.random() < 0.02:
        line = chance.choice(list(_versions()))
    return line + b"\n" + mutate(body or b"\0", LONGEST - len(line) - 1)


def message_seeds() -> Iterator[bytes]:
    """Return every message in its newest version; mutating the first line gives other ones."""
    for name in known_messages():
        newest = _newest(name)
        yield f"{name} {newest.version}\n".encode() + newest.data


def _newest(name: str) -> Sample:
    return sample_of(name, message_class(name).versions.highest)


@cache
def _versions() -> dict[bytes, tuple[type[Message], int]]:
    classes = map(message_class, known_messages())
    return {f"{cls.__name__} {v}".encode(): (cls, v) for cls in classes for v in cls.versions}


def _text(value: Any) -> str:
    return json.dumps(value, sort_keys=True)  # in which all NaN are equal


# Frames: requests to a server, and responses to a client.


def receive_frame(frame: bytes) -> None:
    with suppress(ProtocolError):
        ServerConnection(_served()).receive(frame)
    for request, version in ASKED:
        client = ClientConnection("me", first_correlation_id=CORRELATION_ID)
        client.send(request, version)
        with suppress(ProtocolError):
            client.receive(frame)


def frame_seeds() -> Iterator[bytes]:
    for api_key in _served():
        request = _newest(request_class(api_key).__name__)
        message = request.cls.decode(request.data, request.version)
        _, parts = ClientConnection("me").send(message, request.version)
        yield b"".join(map(bytes, parts))[4:]
    for asked, version in ASKED:
        response = sample_of(type(asked).__name__.replace("Request", "Response"), version)
        header_version = response_header_version(ApiKey(asked.api_key), version)
        header = ResponseHeader(correlation_id=CORRELATION_ID)
        yield header.encode(header_version) + response.data


@cache
def _served() -> dict[ApiKey, Any]:
    names = {name for name in known_messages() if name.endswith("Request")}
    apis = [key for key in ApiKey if f"{key.api_name}Request" in names]
    return {key: request_class(key).versions for key in apis}


# Values of records and byte fields that begin with a type and a version.


def read_persisted(data: bytes) -> None:
    for topic in ("__consumer_offsets", "__transaction_state", "__share_group_state"):
        with suppress(ProtocolError):
            persisted.decode_coordinator_key(data, topic)
    for topic in ("__cluster_metadata", "__remote_log_metadata"):
        with suppress(ProtocolError):
            persisted.decode_metadata_record(data, topic)
    for cls in (ConsumerProtocolAssignment, ConsumerProtocolSubscription):
        with suppress(ProtocolError):
            persisted.decode_versioned(cls, data, accept_newer=True)
    persisted.decode_sticky_user_data(data)


def persisted_seeds() -> Iterator[bytes]:
    for cls in map(message_class, known_messages()):
        if cls.kind in (MessageKind.COORDINATOR_KEY, MessageKind.METADATA, MessageKind.DATA):
            sample = _newest(cls.__name__)
            if cls.kind is MessageKind.COORDINATOR_KEY:
                yield cls.api_key.to_bytes(2) + sample.data
            elif cls.kind is MessageKind.METADATA:
                yield b"\1" + varint(cls.api_key) + varint(sample.version) + sample.data
            else:
                yield sample.version.to_bytes(2) + sample.data
                yield sample.data


# Record batches: with any CRC, and with correct CRCs, without which nothing else is decoded.


def read_records(data: bytes) -> None:
    for batches in (data, with_right_crcs(data)):
        read_everything(batches)(loaded)


def read_records_in_both_forms(data: bytes) -> None:
    assert_same(read_everything(with_right_crcs(data)))


def with_right_crcs(data: bytes) -> bytes:
    """Return the data with the correct CRC in every complete batch."""
    repaired, position = bytearray(data), 0
    while len(data) - position >= 61:
        end = position + 12 + int.from_bytes(data[position + 8 : position + 12], signed=True)
        if data[position + 16] != 2 or not position + 61 <= end <= len(data):
            break
        repaired[position + 17 : position + 21] = crc32c(data[position + 21 : end]).to_bytes(4)
        position = end
    return bytes(repaired)


def record_seeds() -> Iterator[bytes]:
    for vector in record_vectors():
        data = bytes.fromhex(vector["hex"])
        if len(data) <= LONGEST:
            yield data


# SASL tokens. Signed tokens must be encoded as they were; JSON and Bearer allow several encodings.

SIGNED: list[Callable[[bytes], Any]] = [
    ClientFirst.decode,
    lambda data: ServerFirst.decode(data, CLIENT_FIRST),
    lambda data: ClientFinal.decode(data, CLIENT_FIRST, SERVER_FIRST),
    ServerFinal.decode,
]
UNSIGNED = [PlainToken.decode, OAuthBearerResponse.decode, OAuthBearerFailure.decode]


def read_sasl_token(data: bytes) -> None:
    for decode in (*SIGNED, *UNSIGNED):
        try:
            token = decode(data)
        except ProtocolError:
            continue
        written = token.encode()
        assert decode(written) == token
        assert written == data or decode in UNSIGNED


def sasl_seeds() -> Iterator[bytes]:
    yield b"\0user\0secret"
    for message in (FIRST, ANSWER, UNPROVEN, b"v=AAAA", b"e=other-error"):
        yield message
        yield message + b",tokenauth=true"
    yield b"n,a=a=2Cb=3Dc,n=a=2Cb=3Dc,r=abc"
    yield UNPROVEN + b",ext=value,p=AAAA"
    yield b"n,a=user,\x01auth=Bearer abc==\x01ext=value\x01\x01"
    yield OAuthBearerFailure("invalid_token", "scope", "https://example.com").encode()


# Values of sasl.jaas.config.


def read_jaas(data: bytes) -> None:
    with suppress(JaasError):
        module = parse_jaas(data.decode("utf-8", "replace"))
        name = f"a.{module.name}" if module.name.isidentifier() else "a.Module"
        assert parse_jaas(jaas_entry(name, module.options)).options == module.options


def jaas_seeds() -> Iterator[bytes]:
    for options in ('username="a" password=b', "a='\\'\\101' // b\n", '/* ; */ "=" = ";"', ""):
        yield f"org.apache.kafka.ScramLoginModule required {options};".encode()
    yield b"Module required a=b; Module required;"


# Compressed data.


def decompressing(codec: Compression) -> Callable[[bytes], None]:
    def run(data: bytes) -> None:
        try:
            found = decompress(codec, memoryview(data), MOST_DECOMPRESSED)
        except RecordBatchError:
            return
        assert len(found) <= MOST_DECOMPRESSED
        again = decompress(codec, memoryview(compress(codec, found)), MOST_DECOMPRESSED)
        assert bytes(again) == bytes(found)

    return run


def compressed_seeds(codec: Compression) -> Callable[[], Iterator[bytes]]:
    def seeds() -> Iterator[bytes]:
        for data in (b"", b"x", record() * 30, bytes(300), Random(1).randbytes(300)):
            yield compress(codec, data)
            yield compress(codec, data) * 2

    return seeds


TARGETS = {
    "messages": Target(read_message, message_seeds, share=4, mutate=mutate_message),
    "frames": Target(receive_frame, frame_seeds),
    "persisted": Target(read_persisted, persisted_seeds),
    "records": Target(read_records, record_seeds, share=3),
    "sasl": Target(read_sasl_token, sasl_seeds),
    "jaas": Target(read_jaas, jaas_seeds),
    "bearer_tokens": Target(read_bearer_token, bearer_token_seeds),
    "provider_answers": Target(read_provider_answer, provider_answer_seeds),
    "broker_at_login": Target(log_in_to_hostile_broker, hostile_broker_seeds),
    "client_at_login": Target(serve_hostile_client, hostile_client_seeds),
    **{
        codec.value: Target(decompressing(codec), compressed_seeds(codec))
        for codec in Compression
        if codec is not Compression.NONE
    },
}
if IS_COMPILED:
    TARGETS[f"{COMPILED}records"] = Target(read_records_in_both_forms, record_seeds, share=2)
