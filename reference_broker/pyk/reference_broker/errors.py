"""Errors with which domain code refuses a request, or a part of one."""

from __future__ import annotations

from pyk.protocol.errors import ErrorCode


class ApiError(Exception):
    """A refusal with an error code of the protocol; the handler makes a response of it."""

    def __init__(self, code: ErrorCode, message: str | None = None) -> None:
        super().__init__(code, message)
        self.code = code
        self.message = message

    def __str__(self) -> str:
        return f"{self.code.name}: {self.message}" if self.message else self.code.name


class ConnectionClosedError(Exception):
    """Raised by a handler to close the connection instead of answering."""
