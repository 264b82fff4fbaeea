# SPDX-License-Identifier: Apache-2.0
"""Prepares the HTML of MkDocs for the relay, and checks it.

The relay's Content-Security-Policy allows no script and no style inside of a page: scripts move to files. Links to what
the relay serves beside the documentation (`relay:openapi.json`) become relative, because a proxy may serve the relay
below any path.
"""

import hashlib
import re
from pathlib import Path

#: Files that no page uses. The relay has its own answer for unknown paths, the sitemap needs the address of the site, and
#: the search needs the files in `lunr` only for languages other than English.
UNUSED = (
    "404.html",
    "sitemap.xml*",
    "assets/**/*.map",
    "assets/**/*.iife.js",
    "assets/javascripts/lunr/**/*.js",
    "assets/techdocs-owl-api/*.json",
)
_SCRIPT = re.compile(r"<script>(.*?)</script>", re.DOTALL)
#: The first cell of a row in the tables of mkdocs-owl-api: the name of a property.
_PROPERTY = re.compile(r'<td>(<span class="techdocs-owl-api-prop">.*?)</td>', re.DOTALL)
#: A table that mkdocs-owl-api writes as HTML: its header cells, and its rows.
_TABLE = re.compile(r"<table>\s*<thead>(.*?)</thead>(.*?)</table>", re.DOTALL)
_HEADER = re.compile(r"<th[^>]*>(.*?)</th>", re.DOTALL)
_ROW = re.compile(r"<tr>.*?</tr>", re.DOTALL)
_PARAGRAPH = re.compile(r"<p>(.*?)</p>", re.DOTALL)
#: An option of a command. On a phone the browser would break the line after its first hyphen.
_OPTION = re.compile(r"<code>(--[\w-]{1,24})(?![\w-])")
#: The begin of a line that is a list, a table or a code block to GitHub. Python-Markdown wants an empty line before it.
_BLOCK = re.compile(r"\n(?:[-*] |\d+\. |\||```)")


def finish(output: Path) -> list[str]:
    """Changes all pages, and returns the faults that it finds."""
    faults = []
    for pattern in UNUSED:
        for file in output.glob(pattern):
            file.unlink()
    for file in sorted(output.rglob("*.html")):
        name = str(file.relative_to(output))
        root = "../" * name.count("/")
        text = _SCRIPT.sub(lambda found: _script(output, root, found[1]), file.read_text())
        text = _PROPERTY.sub(r'<th scope="row">\1</th>', text)
        text = _TABLE.sub(_labelled, text)
        text = _OPTION.sub(r'<code><span class="option">\1</span>', text)
        text = text.replace('href="relay:', f'href="{root}../')
        for paragraph in _PARAGRAPH.finditer(text):
            if found := _BLOCK.search(paragraph[1]):
                line = paragraph[1][found.start() :].strip().splitlines()[0]
                faults.append(f"{name}: an empty line is missing before “{line}”")
        file.write_text(text)
    return faults


def _labelled(table: re.Match) -> str:
    """The table with the attributes that `named_tables.py` gives to the tables of Markdown."""
    headers = [re.sub(r"<[^>]+>", "", header) for header in _HEADER.findall(table[1])]

    def row(found: re.Match) -> str:
        labels = iter(headers)
        return re.sub(r"<td>", lambda _: f'<td data-label="{next(labels, "")}">', found[0])

    return f'<table data-columns="{len(headers)}"><thead>{table[1]}</thead>{_ROW.sub(row, table[2])}</table>'


def _script(output: Path, root: str, code: str) -> str:
    name = f"assets/{hashlib.sha256(code.encode()).hexdigest()[:16]}.js"
    (output / name).write_text(code)
    return f'<script src="{root}{name}"></script>'
