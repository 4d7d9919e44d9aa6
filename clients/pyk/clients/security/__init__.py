"""How clients show who they are, and check who brokers are: credentials and logins."""

from __future__ import annotations

from pyk.clients.security.credentials import Plain, Scram
from pyk.clients.security.oauth import Oauth
from pyk.clients.security.secret import Secret

__all__ = ["Oauth", "Plain", "Scram", "Secret"]
