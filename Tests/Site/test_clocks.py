# SPDX-License-Identifier: Apache-2.0
"""The list of all uses of the wall clock in CONTRIBUTING.md has each file that reads it, and no other."""

import re

from relay import CHECKOUT

#: Readings of the wall clock in Swift, C, JavaScript and Python.
READING = re.compile(
    r"\bDate\(\)|\bDate\.now\b|clock\.now\(|Store\.timeOfDay|time\(NULL\)|CLOCK_REALTIME|gettimeofday|datetime\.now"
    r"|\btime\.time\("
)
COMMENT = re.compile(r"^\s*(//|/?\*|# )")
SOURCES = ["Sources/**/*.swift", "Sources/**/*.[ch]", "Sources/**/*.py", "web/**/*.js", "web/**/*.mjs"]


def test_the_list_of_clocks_is_complete() -> None:
    section = (CHECKOUT / "CONTRIBUTING.md").read_text().split("These files read the wall clock.")[1].split("\n## ")[0]
    listed = set(re.findall(r"`((?:Sources|web)/[^`]+)`", section))
    files = [file for pattern in SOURCES for file in CHECKOUT.glob(pattern) if "web/site/assets" not in str(file)]
    found = {
        str(file.relative_to(CHECKOUT))
        for file in files
        if any(READING.search(line) for line in file.read_text().splitlines() if not COMMENT.match(line))
    }
    assert not found - listed, "add these to the table in CONTRIBUTING.md, Clocks"
    assert not listed - found, "these read the wall clock no longer: remove them from the table"
