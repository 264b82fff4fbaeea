# SPDX-License-Identifier: Apache-2.0
"""Prints the default configuration of the service: each variable with its meaning and its default, as a comment. The
variables of the options that the unit sets are left out, because they have no effect.

Usage: stillwire reference | settings.py UNIT"""

import re
import sys
import textwrap
from pathlib import Path

HEAD = """\
# The configuration of the service stillwire. Each line with STILLWIRE_ is a comment, and shows the default.
# A change needs a restart: systemctl restart stillwire. Put a value with spaces in quotation marks.
# Settings without a variable, such as rules for rooms, belong in a JSON file, which STILLWIRE_CONFIG names.
# The page /docs of the relay and `stillwire reference` describe all settings. Options of the service have precedence:
# {options}
"""


def wrapped(text: str) -> str:
    return textwrap.fill(text, 100, initial_indent="# ", subsequent_indent="# ", break_on_hyphens=False)


def main(unit: str) -> None:
    options = re.findall(r"--[\w-]+ \S+", re.search(r"^ExecStart=(.*)$", Path(unit).read_text(), re.MULTILINE)[1])
    print(HEAD.format(options=" ".join(options)), end="")
    set_by_unit = {option.split()[0] for option in options}
    for line in sys.stdin:
        if line.startswith("## "):
            title = f"\n# == {line[3:].strip()} =="
        cells = [cell.strip() for cell in line.strip().strip("|").split(" | ")]
        if len(cells) != 7 or "STILLWIRE_" not in cells[2] or cells[1].strip("`") in set_by_unit:
            continue
        _, _, variables, kind, default, _, meaning = cells
        if title:
            print(title)
        title = ""
        # Some defaults are a value with an explanation, such as "4194304, 4 MiB". Others are only words.
        value = default.split(",")[0]
        is_value = value in ("true", "false") or re.fullmatch(r"[\d.]+", value) or f"`{value}`" in kind
        print(wrapped(f"{meaning} ({kind.replace('`', '')}; default: {default.replace('`', '')})"))
        print(f"#{variables.split('`')[1]}={value if is_value else ''}\n")


main(*sys.argv[1:])
