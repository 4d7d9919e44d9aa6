"""``pyk decode`` as users see it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from pyk.command_line.main import main
from pyk.protocol.connection import ClientConnection
from pyk.protocol.messages.heartbeat import HeartbeatRequest, HeartbeatResponse
from support.captures import Flow, pcap
from support.record_batches import sealed

REAL = Path(__file__).parent / "data" / "produce_and_consume.pcap"
BODY = HeartbeatRequest(group_id="billing", generation_id=3).encode(4)
FRAME = b"".join(ClientConnection("shop").send(HeartbeatRequest(group_id="billing"), 4)[1])
RESPONSE = bytes(4) + b"\0" + HeartbeatResponse(error_code=25).encode(4)


def decode(*words: str | Path, stdin: bytes = b"") -> Result:
    return CliRunner().invoke(main, ["decode", *map(str, words)], input=stdin)


def test_a_message_without_a_header_is_decoded_by_its_name_and_version() -> None:
    done = decode("HeartbeatRequest", "4", BODY.hex())

    assert done.exit_code == 0
    assert done.stdout.splitlines() == [
        f"HeartbeatRequest v4, {len(BODY)} bytes",
        "    group_id: 'billing'",
        "    generation_id: 3",
        "    member_id: ''",
        "    group_instance_id: null",
    ]


def test_json_has_the_format_of_kafkas_tools() -> None:
    done = decode("--json", "HeartbeatRequest", "4", BODY.hex())

    assert json.loads(done.stdout) == {
        "groupId": "billing", "generationId": 3, "memberId": "", "groupInstanceId": None,
    }  # fmt: skip


@pytest.mark.parametrize("frame", [FRAME, FRAME[4:]])
def test_a_request_is_decoded_from_hex_binary_and_standard_input(
    frame: bytes, tmp_path: Path
) -> None:
    binary, text = tmp_path / "frame.bin", tmp_path / "frame.hex"
    binary.write_bytes(frame)
    text.write_text(frame.hex(" ") + "\n")

    ways = [decode(frame.hex()), decode(*frame.hex(" ").split()), decode("-", stdin=frame),
            decode("-", stdin=text.read_bytes()), decode(binary), decode(text)]  # fmt: skip

    assert {way.exit_code for way in ways} == {0}
    assert len({way.stdout for way in ways}) == 1
    assert ways[0].stdout.startswith("Heartbeat v4 request 0 of 'shop', 30 bytes\n    group_id: 'b")


def test_a_word_of_hex_digits_is_not_a_message_name() -> None:
    assert "API key" in decode("deadbeef", "12", "34", "00" * 20).stderr


def test_consecutive_frames_are_all_shown() -> None:
    assert decode((FRAME * 3).hex()).stdout.count("Heartbeat v4 request") == 3


@pytest.mark.parametrize(
    "options",
    [["--api", "Heartbeat", "--version", "4"], ["--api", "12", "--version", "4"],
     ["--request", FRAME.hex()]],
)  # fmt: skip
def test_a_response_is_decoded_by_the_options_for_its_request(options: list[str]) -> None:
    done = decode(*options, RESPONSE.hex())

    assert done.exit_code == 0
    assert "Heartbeat v4 response 0" in done.stdout
    assert "error_code: 25 UNKNOWN_MEMBER_ID" in done.stdout


def test_the_packets_of_a_capture_are_reassembled() -> None:
    done = decode("--port", "19092", REAL)

    assert done.exit_code == 0
    assert (
        "2026-11-21T19:33:52.355638Z 127.0.0.1:52612 ← 127.0.0.1:19092 Produce v13 "
        "response 218762511 of 'shop', 62 bytes, after 5.385 ms\n    responses:\n"
    ) in done.stdout
    assert "0: b'k0' → b'order 0', timestamp 1795289632233, 'source': b'web'" in done.stdout
    assert decode("--port", "any", "-", stdin=REAL.read_bytes()).stdout == done.stdout


def test_a_capture_as_json_has_one_message_per_line() -> None:
    done = decode("--json", "--port", "any", REAL)

    lines = [json.loads(line) for line in done.stdout.splitlines()]
    assert lines[0] == {
        "time": "2026-11-21T19:33:52.209271Z",
        "client": "127.0.0.1:52612",
        "server": "127.0.0.1:19092",
        "type": "request",
        "api": "ApiVersions",
        "version": 3,
        "correlationId": 218762506,
        "clientId": "shop",
        "size": 26,
        "body": {"clientSoftwareName": "pyk", "clientSoftwareVersion": "0.1.0"},
    }
    assert lines[-1]["note"] == "not answered in the capture: Fetch 218762508"


def test_a_truncated_capture_is_shown_up_to_its_end() -> None:
    done = decode("--port", "any", "-", stdin=REAL.read_bytes()[:5000])

    assert done.exit_code == 1
    assert "Produce v13 request" in done.stdout
    assert done.stderr == "error: the capture ends in the middle, after packet 39\n"


@pytest.mark.parametrize(
    ("words", "problem"),
    [
        (["xyz"], "'xyz' is neither a file nor hex text"),
        ([""], "the data ends early"),
        (["-"], "the data ends early"),
        (["."], "'.' is a folder; name a file"),
        (["x.pcap"], "'x.pcap' is neither a file nor hex text (see pyk decode --help)"),
        (["HartbeatReqest"], "nor hex text; did you mean 'HeartbeatRequest'?"),
        (["HeartbeatRequest"], "nor hex text; HeartbeatRequest needs its VERSION and SOURCE"),
        (["00"], "if it is a response, give --api and --version"),
        (["--api", "Fetch", "00"], "--api and --version must be given together"),
        (["--api", "Fetsch", "--version", "3", "00"], "an API of Kafka; did you mean 'Fetch'?"),
        (["--request", "00", "00"], "--request: RequestHeader v0: the data ends early"),
        (["--port", "kafka", str(REAL)], "'kafka' is not a port"),
        ([str(REAL)], "no connection in the capture goes to port 9092: see --port"),
        (["Nothing", "4", "00"], "error: no message 'Nothing'\n"),
        (["HartbeatReqest", "4", "00"], "'HartbeatReqest'; did you mean 'HeartbeatRequest'?"),
        (["HeartbeatRequest", "40", "00"], "HeartbeatRequest has versions 0-4, not 40"),
        (["HeartbeatRequest", "4", "00"], "HeartbeatRequest v4: "),
    ],
)
def test_invalid_input_is_explained_in_one_sentence(words: list[str], problem: str) -> None:
    done = decode(*words)

    assert done.exit_code != 0
    assert problem in done.stderr
    assert "Traceback" not in done.stderr
    assert done.exception is None or isinstance(done.exception, SystemExit)


def test_a_capture_without_tcp_is_reported() -> None:
    done = decode("-", stdin=pcap([]))

    assert done.stderr == "error: the capture has no TCP connection\n"


def test_an_encrypted_connection_is_reported(tmp_path: Path) -> None:
    flow = Flow()
    path = tmp_path / "tls.pcap"
    path.write_bytes(pcap([*flow.open(), flow.client(b"\x16\x03\x01\x00\x05hello")]))

    assert "the connection is encrypted (TLS)" in decode(path).stdout


def test_the_segment_of_a_log_leads_to_the_other_command(tmp_path: Path) -> None:
    segment = tmp_path / "00000000000000000000.log"
    segment.write_bytes(sealed(b"one", b"two"))

    done = decode(segment)

    assert done.exit_code == 1
    assert done.stderr == (
        "error: these are the batches of a log, not messages; show them with  "
        "pyk dump-log --print-data-log FILE.log\n"
    )
