# SPDX-License-Identifier: Apache-2.0
"""Indents the items of lists by four spaces.

GitHub and Xcode accept text that begins below the text of its item ("- " takes two spaces). Python-Markdown wants four
spaces for each level.
"""

import re

import markdown_text

_ITEM = re.compile(r"( *)([-*+]|\d+[.)])( +)")
WIDTH = 4


def widened(text: str) -> str:
    """The text with four spaces for each level of a list."""
    #: The column at which the text of each open item begins.
    columns: list[int] = []
    is_after_blank = False
    written = []
    for line in markdown_text.lines(text):
        if not line.text.strip():
            written.append("")
            is_after_blank = True
            continue
        indent = len(line.text) - len(line.text.lstrip(" "))
        item = None if line.is_code else _ITEM.match(line.text)
        if item or is_after_blank or line.text.startswith("#"):
            while columns and indent < columns[-1]:
                columns.pop()
        extra = max(0, indent - (columns[-1] if columns else 0))
        written.append(" " * (WIDTH * len(columns) + extra) + line.text.lstrip(" "))
        if item:
            columns.append(item.end())
        is_after_blank = False
    return "\n".join(written) + "\n"
