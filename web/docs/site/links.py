# SPDX-License-Identifier: Apache-2.0
"""Finds dead links in the Markdown files of the repository, as GitHub and Xcode show them."""

import subprocess
from pathlib import Path, PurePosixPath
from posixpath import normpath

import markdown_text

EXTERNAL = ("https://", "http://", "mailto:")


def faults(checkout: Path) -> list[str]:
    """One line for each link to a file or a heading that does not exist."""
    # Files that are new and not committed yet count as well.
    command = ["git", "ls-files", "--cached", "--others", "--exclude-standard", "*.md"]
    listed = subprocess.run(command, cwd=checkout, capture_output=True, text=True)
    names = listed.stdout.splitlines() or [str(file.relative_to(checkout)) for file in _without_git(checkout)]
    found = []
    for name in names:
        file = checkout / name
        if not file.exists():
            continue
        for link in markdown_text.links(file.read_text()):
            if fault := _fault(checkout, name, link.target):
                found.append(f"{name}:{link.number}: {fault}")
    return found


def _without_git(checkout: Path) -> list[Path]:
    """The files in an archive or an image of the sources, which has no `.git`."""
    folders = ["web/docs", "deploy", "Sources", "Tests"]
    return [file for folder in folders for file in (checkout / folder).rglob("*.md")] + list(checkout.glob("*.md"))


def _fault(checkout: Path, name: str, target: str) -> str | None:
    if target.startswith(EXTERNAL):
        return None
    path, _, anchor = target.partition("#")
    file = repository_path(name, path) if path else name
    if file is None or not (checkout / file).exists():
        return f"the link to {target} leads nowhere"
    if anchor and file.endswith(".md") and anchor not in markdown_text.anchors((checkout / file).read_text()):
        return f"{file} has no heading #{anchor}"
    return None


def repository_path(name: str, path: str) -> str | None:
    """The path in the repository that a link in the file `name` leads to. It is `None` outside of the repository."""
    folder = PurePosixPath(name).parent
    if path.startswith("doc:"):
        return str(folder / f"{path.removeprefix('doc:')}.md")
    joined = normpath(str(folder / path))
    return None if path.startswith("/") or joined.startswith("..") else joined
