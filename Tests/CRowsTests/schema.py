# SPDX-License-Identifier: Apache-2.0
"""Prints the SQL of the store's tables, from the Swift files in the folder that it is called with."""

import pathlib
import re
import sys

source = "\n".join(path.read_text() for path in sorted(pathlib.Path(sys.argv[1]).glob("Schema*.swift")))
texts = dict(re.findall(r'static let (\w+) = "([^"\n]*)"', source))
texts |= dict(re.findall(r'static let (\w+) = """\n(.*?)\n +"""', source, re.DOTALL))
order = re.search(r"let tables = \[([^\]]*)\]", source)[1]
for name in filter(None, (part.strip() for part in order.split(","))):
    print(re.sub(r"\\\((\w+)\)", lambda match: texts[match[1]], texts[name]))
