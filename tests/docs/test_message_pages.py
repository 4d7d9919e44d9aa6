from __future__ import annotations

import re

from docs.message_pages import COMMAND, FOLDER, pages
from pyk.protocol import known_messages

HEADING = re.compile(r"^#+ (.*)$", re.MULTILINE)
LINK = re.compile(r"\]\(([\w-]+\.md)?#([\w-]+)\)")


def test_the_pages_of_messages_match_the_classes() -> None:
    committed = {path.name: path.read_text("utf-8") for path in FOLDER.glob("*.md")}

    written = pages()

    stale = [name for name in committed | written if committed.get(name) != written.get(name)]
    assert not stale, f"run  {COMMAND}"


def test_every_message_is_on_one_page() -> None:
    headings = [heading for page in pages().values() for heading in HEADING.findall(page)]

    assert {name: headings.count(name) for name in known_messages()} == dict.fromkeys(
        known_messages(), 1
    )


def test_every_link_leads_to_a_heading() -> None:
    written = pages()
    anchors = {
        name: {heading.lower().replace(" ", "-") for heading in HEADING.findall(page)}
        for name, page in written.items()
    }

    links = {
        (to or name, anchor) for name, page in written.items() for to, anchor in LINK.findall(page)
    }

    assert [link for link in links if link[1] not in anchors[link[0]]] == []
