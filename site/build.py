# SPDX-License-Identifier: Apache-2.0
"""Builds the documentation that the relay serves at /docs: `make docs`.

`make docs` first has the relay's program print the documents of the interface to `.build/documents`.

Three steps: `sources.py` writes all pages as Markdown to `.build/site`, MkDocs makes HTML of them, and `finish.py`
prepares this HTML for the relay in `web/site`. MkDocs loads no code of ours but `named_tables.py`, an extension of
Python-Markdown. Another generator that reads `mkdocs.yml` can therefore replace it.
"""

import os
import shutil
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import finish
import links
import sources

CHECKOUT = Path(__file__).resolve().parent.parent
PAGES = CHECKOUT / ".build" / "site"
OUTPUT = CHECKOUT / ".build" / "site-html"
EARLIER = CHECKOUT / ".build" / "site-earlier"
SERVED = CHECKOUT / "web" / "site"


def main() -> int:
    faults = links.faults(CHECKOUT)
    shutil.rmtree(PAGES, ignore_errors=True)
    faults += sources.write(CHECKOUT, PAGES)
    if faults:
        return fail(faults)
    shutil.rmtree(OUTPUT, ignore_errors=True)
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet", "--config-file", "site/mkdocs.yml"]
    environment = {**os.environ, "PYTHONPATH": str(CHECKOUT / "site"), "NO_MKDOCS_2_WARNING": "1"}
    built = subprocess.run(command, cwd=CHECKOUT, env=environment)
    if built.returncode == 0:
        faults = finish.finish(OUTPUT)
        copy_viewer()
    if built.returncode != 0 or faults:
        return fail(faults)
    # A relay that starts at this moment finds the earlier site, this one, or none.
    shutil.rmtree(EARLIER, ignore_errors=True)
    if SERVED.exists():
        SERVED.rename(EARLIER)
    OUTPUT.rename(SERVED)
    return 0


def copy_viewer() -> None:
    """Copies Swagger UI from its package, for the page `reference/try.html`."""
    package = Path(find_spec("mkdocs_swagger_ui_tag").origin).parent / "swagger-ui"
    for name in ("javascripts/swagger-ui-bundle.js", "stylesheets/swagger-ui.css"):
        shutil.copy(package / name, OUTPUT / "assets")


def fail(faults: list[str]) -> int:
    for fault in faults:
        print(f"docs: {fault}", file=sys.stderr)
    return 1


if __name__ == "__main__":
    sys.exit(main())
