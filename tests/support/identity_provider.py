"""An identity provider on loopback, over TLS: it gives tokens, and shows the keys they are signed
with."""

from __future__ import annotations

import contextlib
import json
import ssl
import threading
import time
import urllib.parse
from collections.abc import Callable, Mapping
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import attrs

from support.signed_tokens import SigningKey


@attrs.frozen
class Asked:
    """A request that came."""

    method: str
    path: str
    headers: Mapping[str, str]
    body: str

    @property
    def form(self) -> dict[str, str]:
        return dict(urllib.parse.parse_qsl(self.body, strict_parsing=True))


@attrs.frozen
class Answer:
    """What to answer: as HTTP, or ``raw`` bytes instead."""

    body: bytes = b""
    status: int = 200
    headers: Mapping[str, str] = attrs.Factory(dict)
    raw: bytes | None = None
    drips: bool = False
    """Whether to send headers without an end, a byte now and then."""


def as_json(value: object, status: int = 200) -> Answer:
    return Answer(json.dumps(value).encode(), status, {"Content-Type": "application/json"})


class IdentityProvider:
    """Serves until it is closed; ``asked`` has the requests.

    ``POST`` gives a token for ``subject`` that lives ``lifetime`` seconds, ``GET`` shows the keys.
    ``answers`` decides otherwise if it returns an answer.
    """

    def __init__(self, context: ssl.SSLContext | None = None) -> None:
        self.key = SigningKey.rs256("first")
        self.shown_keys = [self.key]
        self.subject = "alice"
        self.lifetime = 3600.0
        self.claims: dict[str, Any] = {}
        self.asked: list[Asked] = []
        self.answers: Callable[[Asked], Answer | None] = lambda _: None
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), self._handler())
        self._server.daemon_threads = True
        self._server.block_on_close = False
        self.scheme = "http"
        if context is not None:
            self.scheme = "https"
            self._server.socket = context.wrap_socket(
                self._server.socket, server_side=True, do_handshake_on_connect=False
            )
        self._thread = threading.Thread(
            target=self._server.serve_forever, args=(0.01,), daemon=True
        )
        self._thread.start()

    @property
    def port(self) -> int:
        return int(self._server.server_address[1])

    def url(self, path: str = "/token", host: str = "localhost") -> str:
        return f"{self.scheme}://{host}:{self.port}{path}"

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    def new_token(self, **claims: Any) -> str:
        """Return a token that is valid now, unless the claims say something else."""
        now = int(time.time())
        own = {"sub": self.subject, "iat": now, "exp": now + self.lifetime}
        return self.key.sign(own | self.claims | claims)

    def answer(self, asked: Asked) -> Answer:
        self.asked.append(asked)
        chosen = self.answers(asked)
        if chosen is not None:
            return chosen
        if asked.method == "GET":
            return as_json({"keys": [key.jwk() for key in self.shown_keys]})
        return as_json({"access_token": self.new_token(), "token_type": "Bearer"})

    def _handler(provider) -> type[BaseHTTPRequestHandler]:  # noqa: N805
        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                self._do("")

            def do_POST(self) -> None:
                self._do(self.rfile.read(int(self.headers["Content-Length"])).decode())

            def _do(self, body: str) -> None:
                answer = provider.answer(Asked(self.command, self.path, dict(self.headers), body))
                while answer.drips:
                    self.wfile.write(b"H")
                    threading.Event().wait(0.02)
                if answer.raw is not None:
                    self.wfile.write(answer.raw)
                    self.close_connection = True
                    return
                self.send_response(answer.status)
                for name, value in answer.headers.items():
                    self.send_header(name, value)
                self.send_header("Content-Length", str(len(answer.body)))
                self.end_headers()
                self.wfile.write(answer.body)

            def handle(self) -> None:
                try:
                    super().handle()
                except OSError:  # the client is gone, or does not trust the certificate
                    self.close_connection = True

            def finish(self) -> None:
                with contextlib.suppress(OSError):
                    super().finish()

            def log_message(self, *_: object) -> None:
                pass

        return Handler
