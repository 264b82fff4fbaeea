# SPDX-License-Identifier: Apache-2.0
"""A hook of MkDocs: prepares the HTML of each page for the relay, and checks it.

The relay's Content-Security-Policy allows no script and no style inside of a page: scripts move to files. Links to what
the relay serves beside the documentation (`relay:openapi.json`) become relative, because a proxy may serve the relay
below any path.
"""

import hashlib
import re
from pathlib import Path

from mkdocs.plugins import get_plugin_logger

log = get_plugin_logger("finish")

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
_TABLE = re.compile(r"<table>\s*<thead>(.*?)</thead>(.*?)</table>", re.DOTALL)
_ROW = re.compile(r"<tr>.*?</tr>", re.DOTALL)
#: A cell: its tag, its attributes and its content.
_CELL = re.compile(r"<(t[hd])\b([^>]*)>(.*?)</t[hd]>", re.DOTALL)
_PARAGRAPH = re.compile(r"<p>(.*?)</p>", re.DOTALL)
#: An option of a command. On a phone the browser would break the line after its first hyphen.
_OPTION = re.compile(r"<code>(--[\w-]{1,24})(?![\w-])")
#: The begin of a line that is a list, a table or a code block to GitHub. Python-Markdown wants an empty line before it.
_BLOCK = re.compile(r"\n(?:[-*] |\d+\. |\||```)")


def on_post_page(output, page, config):
    text = finished(output, page.file.dest_uri, Path(config.site_dir))
    for line in missing_blank_lines(text):
        log.warning(f"{page.file.src_uri}: an empty line is missing before “{line}”")
    return text


def on_post_build(config):
    for pattern in UNUSED:
        for file in Path(config.site_dir).glob(pattern):
            file.unlink()


def finished(text: str, name: str, output: Path) -> str:
    """The page `name` as the relay serves it. Its scripts are written to files of the folder `output`."""
    root = "../" * name.count("/")
    text = _SCRIPT.sub(lambda found: _script(output, root, found[1]), text)
    text = _PROPERTY.sub(r'<th scope="row">\1</th>', text)
    text = _TABLE.sub(_table, text)
    text = _OPTION.sub(r'<code><span class="option">\1</span>', text)
    return text.replace('href="relay:', f'href="{root}../')


def missing_blank_lines(text: str) -> list[str]:
    """The lines of a page that Python-Markdown reads as text, but GitHub as the begin of a block."""
    found = [(paragraph[1], _BLOCK.search(paragraph[1])) for paragraph in _PARAGRAPH.finditer(text)]
    return [paragraph[block.start() :].strip().splitlines()[0] for paragraph, block in found if block]


def _table(table: re.Match) -> str:
    """A table with attributes for screen readers and the style sheet, which shows wide tables as a list of cards.

    Markdown requires a header row. A table whose header row is empty loses this row, and the first cell of each row
    becomes its header. In all other tables each cell has the text of its header in `data-label`, and the table the
    number of its columns in `data-columns`.
    """
    headers = [re.sub(r"<[^>]+>", "", cell[3]).strip().replace('"', "&quot;") for cell in _CELL.finditer(table[1])]
    if not any(headers):
        body = _ROW.sub(lambda row: _CELL.sub(r'<th scope="row"\2>\3</th>', row[0], count=1), table[2])
        return f"<table>{body}</table>"

    def labelled(row: re.Match) -> str:
        labels = iter(headers)
        return _CELL.sub(lambda cell: f'<{cell[1]}{cell[2]} data-label="{next(labels, "")}">{cell[3]}</{cell[1]}>', row[0])

    head = _CELL.sub(lambda cell: f"<th{cell[2]} scope=\"col\">{cell[3]}</th>" if cell[3] else "<td></td>", table[1])
    return f'<table data-columns="{len(headers)}"><thead>{head}</thead>{_ROW.sub(labelled, table[2])}</table>'


def _script(output: Path, root: str, code: str) -> str:
    name = f"assets/{hashlib.sha256(code.encode()).hexdigest()[:16]}.js"
    (output / name).write_text(code)
    return f'<script src="{root}{name}"></script>'
