# SPDX-License-Identifier: Apache-2.0
"""An extension of Python-Markdown: tables whose headers screen readers can use.

Markdown requires a header row. A table whose header row is empty loses this row, and the first cell of each row becomes
its header. In all other tables each cell has the text of its header in `data-label`, and the table the number of its
columns in `data-columns`: the style sheet shows wide tables as a list of cards.
"""

from xml.etree.ElementTree import Element

from markdown import Markdown
from markdown.extensions import Extension
from markdown.treeprocessors import Treeprocessor


class Tables(Treeprocessor):
    def run(self, root: Element) -> None:
        for table in root.iter("table"):
            head = table.find("thead")
            headers = [] if head is None else list(head.iter("th"))
            if any(_text(header) for header in headers):
                for header in headers:
                    header.tag = "th" if _text(header) else "td"
                    if header.tag == "th":
                        header.set("scope", "col")
                table.set("data-columns", str(len(headers)))
                for row in table.iter("tr"):
                    for cell, header in zip(row, headers):
                        if cell not in headers:
                            cell.set("data-label", _text(header))
            else:
                if head is not None:
                    table.remove(head)
                for row in table.iter("tr"):
                    if len(row):
                        row[0].tag = "th"
                        row[0].set("scope", "row")


def _text(element: Element) -> str:
    return "".join(element.itertext()).strip()


class TablesExtension(Extension):
    def extendMarkdown(self, md: Markdown) -> None:
        md.treeprocessors.register(Tables(md), "stillwire-tables", 0)


def makeExtension(**options) -> TablesExtension:
    return TablesExtension(**options)
