"""Find the AWS identity of this process: in the environment, or as the package botocore does."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

from pyk.clients.security.aws_signature import AwsCredentials
from pyk.clients.security.exchange import CredentialsError

INSTALL = "install pyk-kafka[msk]"


class EnvironmentCredentials:
    """The keys in ``AWS_ACCESS_KEY_ID``, ``AWS_SECRET_ACCESS_KEY`` and ``AWS_SESSION_TOKEN``."""

    def __call__(self) -> AwsCredentials | None:
        """Return the keys as they are now; None if they are not set."""
        access, secret = (
            os.environ.get(name) for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY")
        )
        if not access or not secret:
            return None
        return AwsCredentials(access, secret, os.environ.get("AWS_SESSION_TOKEN") or None)


class BotocoreCredentials:
    """What botocore finds: profiles, web identities, containers, instances; it renews them.

    ``role_arn`` is a role to assume with that.
    """

    def __init__(
        self, profile: str | None = None, role_arn: str | None = None, role_session: str = "pyk"
    ) -> None:
        self._profile = profile
        self._role_arn = role_arn
        self._role_session = role_session
        self._found: Any = None

    def __call__(self) -> AwsCredentials | None:
        """Return the keys as they are now, None if botocore finds none; it may block.

        Raises :class:`CredentialsError` without botocore, and if it cannot renew them.
        """
        try:
            from botocore import credentials, exceptions, session
        except ImportError:
            raise CredentialsError(
                f"a profile or role of AWS needs the package 'botocore': {INSTALL}"
            ) from None
        try:
            if self._found is None:
                self._found = self._find(session.Session(profile=self._profile), credentials)
            if self._found is None:
                return None
            frozen = self._found.get_frozen_credentials()
        except (exceptions.BotoCoreError, exceptions.ClientError) as error:
            kind = type(error).__name__  # its text may have more than is to be shown
            raise CredentialsError(f"botocore finds no keys of AWS: {kind}") from None
        return AwsCredentials(frozen.access_key, frozen.secret_key, frozen.token)

    def _find(self, session: Any, credentials: Any) -> Any:
        found = session.get_credentials()
        if found is None or self._role_arn is None:
            return found
        fetcher = credentials.AssumeRoleCredentialFetcher(
            session.create_client,
            found,
            self._role_arn,
            extra_args={"RoleSessionName": self._role_session},
        )
        return credentials.DeferredRefreshableCredentials(fetcher.fetch_credentials, "assume-role")


def first_of(*sources: Callable[[], AwsCredentials | None]) -> AwsCredentials:
    """Return the keys of the first source that has some; raise :class:`CredentialsError`."""
    for source in sources:
        found = source()
        if found is not None:
            return found
    raise CredentialsError(
        "there are no keys of AWS: set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or give "
        "profile= or credentials="
    )
