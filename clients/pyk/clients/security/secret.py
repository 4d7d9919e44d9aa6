"""Values that nobody may see: what clients use of :mod:`pyk.runtime.secret`."""

from __future__ import annotations

from pyk.runtime.secret import HIDDEN, Secret, secret_of

__all__ = ["HIDDEN", "Secret", "secret_of"]
