"""Handle records side by side: what ``process()`` of the consumers does."""

from pyk.clients.processing.attempt import Attempt, current_attempt

__all__ = ["Attempt", "current_attempt"]
