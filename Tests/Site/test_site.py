# SPDX-License-Identifier: Apache-2.0
"""The steps that make the documentation out of the files of the repository."""

import re
import shutil
import subprocess
from pathlib import Path

import markdown
import pytest

import callers
import finish
import indentation
import links
import markdown_text
import pages
from relay import CHECKOUT


def checkout(folder: Path, **files: str) -> Path:
    """A folder with Markdown files; `a__b` is the file `a/b.md`."""
    for name, text in files.items():
        file = folder / f"{name.replace('__', '/')}.md"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
    return folder


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("[a](other.md)", None),
        ("[a](other.md#a-heading)", None),
        ("[a](#own)\n\n# Own", None),
        ("[a](https://example.org/nowhere)", None),
        ("`[a](gone.md)`", None),
        ("```\n[a](gone.md)\n```", None),
        ("[a](gone.md)", "the link to gone.md leads nowhere"),
        ("![a](gone.png)", "the link to gone.png leads nowhere"),
        ("[a](../outside.md)", "the link to ../outside.md leads nowhere"),
        ("<doc:Gone>", "the link to doc:Gone leads nowhere"),
        ("[a](other.md#gone)", "other.md has no heading #gone"),
        ("[a](#gone)", "README.md has no heading #gone"),
    ],
)
def test_a_link_leads_to_a_file_and_a_heading(tmp_path: Path, text: str, fault: str | None) -> None:
    folder = checkout(tmp_path, README=text, other="# Other\n\n## A heading")
    assert links.faults(folder) == ([f"README.md:1: {fault}"] if fault else [])


@pytest.mark.parametrize(
    ("heading", "anchor"),
    [
        ("Tokens, keys and settings", "tokens-keys-and-settings"),
        ("`POST /v1/pushes`", "post-v1pushes"),
        ("Push – and wait", "push--and-wait"),
        ("[Linked](a.md) text", "linked-text"),
        ("snake_case", "snake_case"),
    ],
)
def test_anchors_are_those_of_github(heading: str, anchor: str) -> None:
    assert markdown_text.anchors(f"# {heading}\n\n## {heading}\n") == {anchor, f"{anchor}-1"}


def resolved(text: str, page: str = "guides/here.md", source: str = "web/docs/guides/here.md") -> str:
    """The text of a page with its links resolved."""
    names = {"web/docs/guides/here.md": "guides/here.md", "A.docc/Other.md": "reference/other.md"}
    return pages.Resolver(page, source, names, {"A.docc/Other.md": "Other"}).resolve(text).strip()


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("[a](../../../A.docc/Other.md#b)", "[a](../reference/other.md#b)"),
        ("[a](../../page/app.js)", "[a](relay:page/app.js)"),
        ("[a](../../../Sources/RelayHTTP/Documents/openapi.json)", "[a](relay:openapi.json)"),
        ("[the rules](../../../Sources/Rules.swift)", "the rules (`Sources/Rules.swift`)"),
        ("[`Rules.swift`](../../../Sources/Rules.swift)", "`Sources/Rules.swift`"),
        ("[a](https://example.org/)", "[a](https://example.org/)"),
        ("`[a](b)`", "`[a](b)`"),
    ],
)
def test_links_through_the_repository_become_links_of_the_site(text: str, expected: str) -> None:
    assert resolved(text) == expected


def test_a_link_out_of_the_repository_is_a_fault(tmp_path: Path) -> None:
    folder = checkout(tmp_path, web__docs__guides__here="[a](../../../../b.md)")
    assert links.faults(folder) == ["web/docs/guides/here.md:1: the link to ../../../../b.md leads nowhere"]


def test_an_article_of_docc_loses_its_directives() -> None:
    text = (
        "# ``StillwireClient``\n\nIt connects.\n\n## Overview\n\nCall ``StillwireClient/Room/read(upTo:)``.\n\n"
        "```swift\n// ``kept``\n```\n\n### Rooms\n\nText\n\n## More\n\n### Deep\n\n## Topics\n\n- ``Room``\n"
    )
    assert pages.article("A.docc/A.md", text) == (
        "# `StillwireClient`\n\nIt connects.\n\n\nCall `Room.read(upTo:)`.\n\n```swift\n// ``kept``\n```\n\n"
        "## Rooms\n\nText\n\n## More\n\n### Deep\n\n"
    )


def test_a_link_of_docc_has_the_title_of_its_article() -> None:
    assert resolved("See <doc:Other>.", "a.md", "A.docc/A.md") == "See [Other](reference/other.md)."


def html(text: str) -> str:
    page = markdown.markdown(indentation.widened(text), extensions=["tables", "fenced_code"])
    return finish.finished(page, "index.html", Path())


def test_lists_keep_their_levels() -> None:
    text = "- one:\n  - two\n  - three\n\n  More of one.\n- four\n\nNo item.\n\n1. five\n\n   ```sh\n   six\n   ```\n"
    found = html(text)
    assert found.count("<ul>") == 2
    assert found.index("More of one.") < found.index("four")
    assert found.index("</ul>\n<p>No item.</p>") > 0
    assert "    six" in indentation.widened(text)


def test_a_table_without_a_header_has_headers_of_rows() -> None:
    found = html("| | |\n|---|---|\n| a | b |\n")
    assert '<th scope="row">a</th>' in found
    assert "<thead>" not in found


def test_a_table_has_headers_of_columns() -> None:
    found = html("| claim | |\n|---|---|\n| a | b |\n")
    assert '<th scope="col">claim</th>' in found
    assert found.count("<th") == 2  # with <thead>
    assert '<table data-columns="2">' in found
    assert '<td data-label="claim">a</td>' in found


def test_scripts_of_a_page_move_to_files(tmp_path: Path) -> None:
    (tmp_path / "assets").mkdir()
    page = finish.finished('<script>run()</script><a href="relay:openapi.json">', "a/index.html", tmp_path)
    (script,) = (tmp_path / "assets").iterdir()
    assert script.read_text() == "run()"
    assert page == f'<script src="../assets/{script.name}"></script><a href="../../openapi.json">'


def test_a_list_that_markdown_reads_as_text_is_a_fault() -> None:
    assert finish.missing_blank_lines("<p>Cases:\n- one</p>") == ["- one"]


def test_each_operation_names_its_callers() -> None:
    operations = {"get": {"security": [{"token": []}, {"openMode": []}, {}]}, "put": {"description": "Sets it."}}
    document = callers.described({"security": [{"apiKey": []}], "paths": {"/a": operations}})
    assert document["paths"]["/a"]["get"]["description"] == (
        "**Callers:** a user's token, `X-Stillwire-User` in open mode. Open mode needs no header."
    )
    assert document["paths"]["/a"]["put"]["description"] == "Sets it.\n\n**Callers:** an API key."


def docc(catalog: Path, folder: Path) -> list[str]:
    """The places in tutorials of which DocC, the documentation tool of Xcode, reports a fault."""
    ended = subprocess.run(
        ["docc", "convert", catalog, "--output-path", folder, "--fallback-display-name", "StillwireClient"],
        capture_output=True, text=True, timeout=120,
    )  # fmt: skip
    assert (folder / "data" / "tutorials").is_dir(), ended.stderr
    return re.findall(r"--> (\S+\.tutorial)", ended.stdout + ended.stderr)


def test_docc_accepts_the_tutorials(tmp_path: Path) -> None:
    catalog = CHECKOUT / "Sources" / "StillwireClient" / "StillwireClient.docc"
    assert docc(catalog, tmp_path / "good") == []
    planted = shutil.copytree(catalog, tmp_path / "Planted.docc")
    (planted / "Resources" / "tutorial-Chat.swift").unlink()
    assert docc(planted, tmp_path / "bad") != []
