# SPDX-License-Identifier: Apache-2.0
"""Prints the targets, and the folders of each Swift target, that use each other both ways. Fails if two targets do, or
if more than `MAX_PAIRS` pairs of folders of a target do. Needs no build.

A target uses the targets that it imports. A folder uses another one if it names a type that the other declares, or a
member that only an extension in the other declares. The files beside the folders may use all folders, and all folders
may use them. `make lint` runs this."""

import collections, pathlib, re, sys

SOURCES = pathlib.Path(__file__).resolve().parents[2] / "Sources"
MAX_PAIRS = 5
SCOPE = r"(?:(?:package|public|final|indirect|nonisolated|@\w+(?:\([^)]*\))?) +)*"
TYPE = re.compile(rf"^{SCOPE}(?:class|struct|enum|protocol|actor|typealias) (\w+)", re.M)
EXTENSION = re.compile(r"^(?:package |public )?extension (\w+).*?\{(.*?)^\}", re.M | re.S)
MEMBER = re.compile(rf"^  {SCOPE}(?:static +)?(?:func|var|let) (\w+)", re.M)
NAME = re.compile(r"\b(?:func|var|let|case) (\w+)|, (\w+)(?=[,\n])")

Arrows = dict[tuple[str, str], set[str]]


def code(text: str) -> str:
    """The text without comments, and without the contents of strings except the values in them."""
    text = re.sub(r"^\s*//.*|\s//\s.*", "", text, flags=re.M)
    inserted = r"\\\(([^()\"]*(?:\([^()\"]*\))?[^()\"]*)\)"
    strings = re.compile(r'""".*?"""|"(?:\\.|[^"\\\n])*"', re.S)
    return strings.sub(lambda found: " ".join(re.findall(inserted, found[0])), text)


def folders(texts: dict[str, str], count: collections.Counter) -> Arrows:
    """The arrows between the folders of a target, by the names that they use. The files beside them are the folder "".

    `count` has the number of declarations of each name in all targets."""
    folder = {path: path.split("/")[0] if "/" in path else "" for path in texts}
    types = {name: folder[path] for path, text in texts.items() for name in TYPE.findall(text)}
    uses = {rf"(?<![.\w]){name}\b": (name, owner) for name, owner in types.items()}
    for path, text in texts.items():
        for extended, body in EXTENSION.findall(text):
            for name in MEMBER.findall(body) if types.get(extended) != folder[path] else []:
                if count[name] == 1:
                    uses[rf"\.{name}\b"] = (f".{name}", folder[path])
    arrows = collections.defaultdict(set)
    for path, text in texts.items():
        for pattern, (name, owner) in uses.items():
            if folder[path] and owner and owner != folder[path] and re.search(pattern, text):
                arrows[folder[path], owner].add(name)
    return arrows


def pairs(arrows: Arrows) -> list[tuple[str, str]]:
    return sorted((a, b) for a, b in arrows if a < b and (b, a) in arrows)


def show(place: str, arrows: Arrows) -> list[tuple[str, str]]:
    for a, b in pairs(arrows):
        print(f"{place}: {a} uses {', '.join(sorted(arrows[a, b]))}; {b} uses {', '.join(sorted(arrows[b, a]))}")
    return pairs(arrows)


def names(texts: dict[str, str]) -> collections.Counter:
    return collections.Counter(a or b for text in texts.values() for a, b in NAME.findall(text))


def main() -> str | None:
    planted = {"A/A.swift": "struct A {}\nextension X {\n  func b() {}\n}", "B/B.swift": code('let a = "\\(A()) C"')}
    planted |= {"R.swift": "class B {}", "C/C.swift": "let x = x.b()\nstruct C {}"}
    assert pairs(folders(planted, names(planted))) == []
    planted["A/D.swift"] = "let d: C"
    assert pairs(folders(planted, names(planted))) == [("A", "C")]

    texts: dict[str, dict[str, str]] = collections.defaultdict(dict)
    for file in sorted(SOURCES.rglob("*.swift")):
        target, path = str(file.relative_to(SOURCES)).split("/", 1)
        if ".docc/" not in path:
            texts[target][path] = code(file.read_text())
    count = sum(map(names, texts.values()), collections.Counter())
    targets: Arrows = collections.defaultdict(set)
    failures = []
    for target, files in texts.items():
        for path, text in files.items():
            for imported in re.findall(r"^[ @\w]*\bimport (?:\w+ )?(\w+)", text, re.M):
                if imported in texts.keys() - {target}:
                    targets[target, imported].add(path)
        both = show(target, folders(files, count))
        if len(both) > MAX_PAIRS:
            failures.append(f"{target}: {len(both)} pairs of folders use each other, at most {MAX_PAIRS} may")
    failures += [f"the targets {a} and {b} import each other" for a, b in show("targets", targets)]
    return "\n".join(failures) or None


if __name__ == "__main__":
    sys.exit(main())
