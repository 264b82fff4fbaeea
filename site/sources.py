# SPDX-License-Identifier: Apache-2.0
"""Writes the pages of the site as Markdown files: those of `web/docs`, and those that have their place elsewhere.

The articles of the Swift libraries stay in their `.docc` folders, because Xcode reads them there. Links through the
repository become links between pages.
"""

import json
import os
import re
import shutil
from pathlib import Path, PurePosixPath

import callers
import indentation
import markdown_text
from links import EXTERNAL, repository_path

PROTOCOL = "Sources/RelayProtocol/RelayProtocol.docc"
CLIENT = "Sources/StillwireClient/StillwireClient.docc"
DOCUMENTS = "Sources/RelayHTTP/Documents"
#: The documents that `stillwire document` prints: with the errors and the shared schemas, which their sources lack.
FINISHED_DOCUMENTS = ".build/documents"

#: The pages that have their place elsewhere in the repository.
INCLUDED = {
    "changelog.md": "CHANGELOG.md",
    "guides/deployment.md": "deploy/README.md",
    "guides/python.md": "Sources/StillwirePython/README.md",
    "guides/swift/index.md": f"{CLIENT}/StillwireClient.md",
    "guides/swift/getting-started.md": f"{CLIENT}/GettingStarted.md",
    "guides/swift/setting-up-an-app.md": f"{CLIENT}/SettingUpAnApp.md",
    "guides/swift/sharing-focus.md": f"{CLIENT}/SharingFocus.md",
    "guides/swift/communication-notifications.md": f"{CLIENT}/CommunicationNotifications.md",
    "guides/swift/focus-filters.md": f"{CLIENT}/FocusFilters.md",
    "guides/swift/notification-actions.md": f"{CLIENT}/NotificationActions.md",
    "guides/swift/grouped-notifications.md": f"{CLIENT}/GroupedNotifications.md",
    "guides/swift/assumptions.md": f"{CLIENT}/Assumptions.md",
    "reference/categories.md": f"{PROTOCOL}/Categories.md",
    "reference/clients.md": "Tests/Conformance/README.md",
    "reference/configuration.md": "deploy/configuration.md",
    "reference/delivery.md": f"{PROTOCOL}/Delivery.md",
    "reference/javascript.md": "web/client/README.md",
    "reference/lint.md": f"{PROTOCOL}/PushLint.md",
    "reference/payload.md": f"{PROTOCOL}/Payload.md",
    "reference/protocol.md": f"{PROTOCOL}/Protocol.md",
    "reference/simulator.md": f"{PROTOCOL}/AppleSimulator.md",
}

#: Material's field for pages of the reference: guides come first among the results of a search.
BEHIND_GUIDES = "---\nsearch:\n  boost: 0.5\n---\n\n"

#: The types of files that the relay serves from its folder `web`.
SERVED = {".js", ".css", ".html", ".svg"}


def write(checkout: Path, output: Path) -> list[str]:
    """Writes all files that MkDocs reads, and returns the links that lead nowhere."""
    # An earlier generator wrote its HTML to this folder.
    shutil.copytree(checkout / "web" / "docs", output, ignore=shutil.ignore_patterns("docs.css"))
    for file in output.glob("*.html"):
        file.unlink()
    pages = dict(INCLUDED)
    for file in output.rglob("*.md"):
        page = str(file.relative_to(output))
        pages[page] = f"web/docs/{page}"
    titles = {source: title(checkout, source) for source in pages.values()}
    faults: list[str] = []
    for page, source in pages.items():
        text = article(source, (checkout / source).read_text())
        resolver = Resolver(checkout, page, source, {source: page for page, source in pages.items()}, titles)
        file = output / page
        file.parent.mkdir(parents=True, exist_ok=True)
        text = indentation.widened(resolver.resolve(text))
        is_behind = page.startswith("reference/") and not text.startswith("---")
        file.write_text(BEHIND_GUIDES + text if is_behind else text)
        faults += resolver.faults
    document = json.loads((checkout / FINISHED_DOCUMENTS / "openapi.json").read_text())
    (output / "reference" / "openapi.json").write_text(json.dumps(callers.described(document), ensure_ascii=False))
    shutil.copy(checkout / FINISHED_DOCUMENTS / "asyncapi.json", output / "reference")
    return faults


def title(checkout: Path, source: str) -> str:
    first = next(markdown_text.headings((checkout / source).read_text()), (1, source))
    return first[1].replace("`", "")


def article(source: str, text: str) -> str:
    """The text of a page as Python-Markdown expects it."""
    if source.endswith("Conformance/README.md"):
        return "# What a client does\n\n" + markdown_text.section(text, "What a client does").replace("\n### ", "\n## ")
    return without_docc(text) if ".docc/" in source else text


def without_docc(text: str) -> str:
    """An article of DocC as plain Markdown. The sections of its overview become sections of the page."""
    kept = []
    is_overview = False
    for line in markdown_text.lines(text):
        if line.is_code:
            kept.append(line.text)
            continue
        # DocC makes links to symbols of this section. The navigation has the articles.
        if line.text == "## Topics":
            break
        if line.text.startswith("## "):
            is_overview = line.text == "## Overview"
        if line.text != "## Overview":
            raised = line.text[1:] if is_overview and line.text.startswith("###") else line.text
            kept.append(re.sub(r"``([^`]+)``", symbol, raised))
    return "\n".join(kept) + "\n"


def symbol(found: re.Match) -> str:
    """DocC's link to a symbol, as Swift writes its name. Readers do not need the name of the module."""
    names = found[1].split("/")
    if len(names) > 1 and names[0] == "StillwireClient":
        names = names[1:]
    return f"`{'.'.join(names)}`"


class Resolver:
    """Turns the links of one page, which lead through the repository, into links between pages."""

    def __init__(self, checkout: Path, page: str, source: str, pages: dict[str, str], titles: dict[str, str]):
        self.faults: list[str] = []
        self._checkout = checkout
        self._page = page
        self._source = source
        self._pages = pages
        self._titles = titles

    def resolve(self, text: str) -> str:
        text = markdown_text.replace_links(text, self._target)
        # An article's own title is the text of a link to it.
        text = re.sub(r"\[\w+\]\(title:([^)]*?)\|([^)]*)\)", r"[\1](\2)", text)
        # A file that is not on the site: its path is the text.
        text = re.sub(r"\[`[^`\]]*`\]\(repository:([^)]*)\)", r"`\1`", text)
        return re.sub(r"\[((?:[^\]\[`]|`[^`]*`)*)\]\(repository:([^)]*)\)", r"\1 (`\2`)", text)

    def _target(self, target: str) -> str:
        if target.startswith((*EXTERNAL, "#", "relay:")):
            return target
        path, hash, anchor = target.partition("#")
        file = repository_path(self._source, path)
        if file is None:
            self.faults.append(f"{self._source}: the link to {target} leads nowhere")
            return target
        found = next((name for name in self._names(file) if name in self._pages), None)
        if found:
            link = self._relative(self._pages[found]) + hash + anchor
            return f"title:{self._titles[found]}|{link}" if path.startswith("doc:") else link
        if file.startswith("web/docs/"):
            return self._relative(file.removeprefix("web/docs/"))
        if file.startswith(f"{DOCUMENTS}/"):
            return f"relay:{PurePosixPath(file).name}"
        if file.startswith("web/") and PurePosixPath(file).suffix in SERVED:
            return f"relay:{file.removeprefix('web/')}"
        return f"repository:{file}"

    @staticmethod
    def _names(file: str) -> list[str]:
        """A folder stands for the file that GitHub or DocC opens it with."""
        return [file, f"{file}/README.md", f"{file}/{PurePosixPath(file).stem}.md"]

    def _relative(self, page: str) -> str:
        return os.path.relpath(page, PurePosixPath(self._page).parent)
