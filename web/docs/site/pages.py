# SPDX-License-Identifier: Apache-2.0
"""A hook of MkDocs: gives it the pages of the site, those of `web/docs` and those that have their place elsewhere.

The articles of the Swift libraries stay in their `.docc` folders, because Xcode reads them there. Links through the
repository become links between pages.
"""

import json
import os
import re
from importlib.util import find_spec
from pathlib import Path, PurePosixPath

from mkdocs.plugins import get_plugin_logger
from mkdocs.structure.files import File

import callers
import indentation
import links
import markdown_text

log = get_plugin_logger("pages")

CHECKOUT = Path(__file__).resolve().parents[3]
PROTOCOL = "Sources/RelayProtocol/RelayProtocol.docc"
CLIENT = "Sources/StillwireClient/StillwireClient.docc"
DOCUMENTS = "Sources/RelayHTTP/Documents"
#: The documents that `stillwire document` prints: with the errors and the shared schemas, which their sources lack.
FINISHED_DOCUMENTS = CHECKOUT / ".build" / "documents"

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

#: Swagger UI, from its package, for the page `reference/try.html`.
VIEWER = ("javascripts/swagger-ui-bundle.js", "stylesheets/swagger-ui.css")

#: Material's field for pages of the reference: guides come first among the results of a search.
BEHIND_GUIDES = "---\nsearch:\n  boost: 0.5\n---\n\n"

#: The types of files that the relay serves from its folder `web`.
SERVED = {".js", ".css", ".html", ".svg"}


def on_files(files, config):
    """Adds the included pages and the documents of the interface, and changes the text of all pages."""
    for fault in links.faults(CHECKOUT):
        log.warning(fault)
    document = json.loads((FINISHED_DOCUMENTS / "openapi.json").read_text())
    (FINISHED_DOCUMENTS / "reference.json").write_text(json.dumps(callers.described(document), ensure_ascii=False))
    viewer = Path(find_spec("mkdocs_swagger_ui_tag").origin).parent / "swagger-ui"
    added = {f"assets/{PurePosixPath(name).name}": viewer / name for name in VIEWER}
    added["reference/asyncapi.json"] = FINISHED_DOCUMENTS / "asyncapi.json"
    added |= {page: CHECKOUT / source for page, source in INCLUDED.items()}
    for name, source in added.items():
        files.append(File.generated(config, name, abs_src_path=str(source)))
    sources = {str(Path(page.abs_src_path).relative_to(CHECKOUT)): page for page in files.documentation_pages()}
    titles = {source: title(page.content_string, source) for source, page in sources.items()}
    names = {source: page.src_uri for source, page in sources.items()}
    for source, page in sources.items():
        path = page.abs_src_path
        page.content_string = converted(page.content_string, Resolver(page.src_uri, source, names, titles))
        # owl-api finds the document by the path of its page.
        page.abs_src_path = path
    return files


def converted(text: str, resolver: "Resolver") -> str:
    text = indentation.widened(resolver.resolve(article(resolver.source, text)))
    is_behind = resolver.page.startswith("reference/") and not text.startswith("---")
    return BEHIND_GUIDES + text if is_behind else text


def title(text: str, source: str) -> str:
    first = next(markdown_text.headings(text), (1, source))
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

    def __init__(self, page: str, source: str, pages: dict[str, str], titles: dict[str, str]):
        self.page = page
        self.source = source
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
        if target.startswith((*links.EXTERNAL, "#", "relay:")):
            return target
        path, hash, anchor = target.partition("#")
        file = links.repository_path(self.source, path)
        # `links.faults` reports a link out of the repository.
        if file is None:
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
        return os.path.relpath(page, PurePosixPath(self.page).parent)
