# SPDX-License-Identifier: Apache-2.0
"""Reads Markdown as text: its headings, its links, and the anchors that GitHub gives to headings."""

import re
from collections.abc import Iterator
from typing import NamedTuple

#: A code span, or the target of a link or an image.
_SPAN_OR_LINK = re.compile(r"(`+)(?:.(?!\1))*.?\1|\]\(([^()\s]+)\)|<doc:([^>\s]+)>")
_HEADING = re.compile(r"(#{1,6})\s+(.*?)\s*#*$")
_FENCE = re.compile(r"\s*(```+|~~~+)")


class Line(NamedTuple):
    number: int
    text: str
    is_code: bool


class Link(NamedTuple):
    number: int
    target: str


def lines(text: str) -> Iterator[Line]:
    """All lines, with the lines of code blocks marked."""
    fence = ""
    for number, line in enumerate(text.splitlines(), 1):
        opening = _FENCE.match(line)
        if fence:
            yield Line(number, line, True)
            if opening and opening[1].startswith(fence) and line.strip() == opening[1]:
                fence = ""
        elif opening:
            fence = opening[1]
            yield Line(number, line, True)
        else:
            yield Line(number, line, False)


def links(text: str) -> Iterator[Link]:
    """The links and images outside of code. A link of DocC keeps its scheme `doc:`."""
    for line in lines(text):
        if line.is_code:
            continue
        for found in _SPAN_OR_LINK.finditer(line.text):
            if found[2] or found[3]:
                yield Link(line.number, found[2] or f"doc:{found[3]}")


def replace_links(text: str, replace) -> str:
    """The text with `replace(target)` instead of each target. DocC's links get the brackets of Markdown."""

    def one(found: re.Match) -> str:
        if found[2]:
            return f"]({replace(found[2])})"
        if found[3]:
            return f"[{found[3]}]({replace('doc:' + found[3])})"
        return found[0]

    changed = [line.text if line.is_code else _SPAN_OR_LINK.sub(one, line.text) for line in lines(text)]
    return "\n".join(changed) + "\n"


def headings(text: str) -> Iterator[tuple[int, str]]:
    """The level and the text of each heading."""
    for line in lines(text):
        if not line.is_code and (found := _HEADING.match(line.text)):
            yield len(found[1]), found[2]


def anchors(text: str) -> set[str]:
    """The anchors that GitHub gives to the headings."""
    found: set[str] = set()
    for _, heading in headings(text):
        slug = _slug(heading)
        unique, count = slug, 0
        while unique in found:
            count += 1
            unique = f"{slug}-{count}"
        found.add(unique)
    return found


def _slug(heading: str) -> str:
    plain = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading)
    return re.sub(r"[^\w\- ]", "", plain.lower()).replace(" ", "-")


def section(text: str, heading: str) -> str:
    """The lines below a heading, up to the next heading of its level. It is empty if there is no such heading."""
    kept: list[str] = []
    level = 0
    for line in lines(text):
        found = None if line.is_code else _HEADING.match(line.text)
        if level and found and len(found[1]) <= level:
            break
        if level:
            kept.append(line.text)
        elif found and found[2] == heading:
            level = len(found[1])
    return "\n".join(kept).strip() + "\n" if level else ""
