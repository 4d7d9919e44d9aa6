"""What a process may be configured to ask and read."""

from __future__ import annotations

from pathlib import Path

import pytest

from pyk.runtime.allow_list import check_file, check_url


def test_without_a_list_everything_may_be_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("PYK_OAUTHBEARER_ALLOWED_URLS", raising=False)
    monkeypatch.delenv("PYK_OAUTHBEARER_ALLOWED_FILES", raising=False)

    check_url("https://login.example/token")
    check_file("/etc/passwd")


def test_a_url_must_be_listed_to_the_letter(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYK_OAUTHBEARER_ALLOWED_URLS", "https://a.example/token, https://b.example")

    check_url("https://a.example/token")
    check_url("https://b.example")
    for url in ("https://a.example/token/", "https://a.example", "https://c.example", ""):
        with pytest.raises(ValueError, match="limited to"):
            check_url(url)


def test_a_file_is_what_its_links_lead_to(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "key").touch()
    (tmp_path / "other").touch()
    (tmp_path / "link").symlink_to(tmp_path / "key")
    monkeypatch.setenv("PYK_OAUTHBEARER_ALLOWED_FILES", str(tmp_path / "key"))

    check_file(str(tmp_path / "link"))
    check_file(f"{tmp_path}/../{tmp_path.name}/key")
    for path in (f"{tmp_path}/other", f"{tmp_path}/key/../other", "/etc/passwd"):
        with pytest.raises(ValueError, match="limited to"):
            check_file(path)
