# SPDX-License-Identifier: Apache-2.0
"""Finds fields of requests that are declared in more than one place, or read but not declared, and fails if there is
one. Needs no build.

Two places of the server must not have a `Field` with the same name, type, bound and meaning. The files of the documents
must not describe it again by hand. A field that a command reads must be in the `fields` of its declaration, because the
documents follow from these. `make lint` runs this."""

import collections, json, pathlib, re, sys

ROOT = pathlib.Path(__file__).resolve().parents[2]


def declarations(text: str) -> list[tuple[str, str, str]]:
    """The kind, the name and the whole text of each declaration in a Swift file, without `.required()` and the like."""
    text = re.sub(r"^\s*//.*", "", text, flags=re.M)
    lines = re.compile(r'"""\n(.*?)\n\s*"""', re.S)
    # A text of several lines becomes one of one line.
    text = lines.sub(lambda found: json.dumps(re.sub(r"\\?\n\s*", "", found[1].strip())), text)
    tokens, found = re.findall(r'"(?:\\.|[^"\\])*"|\w+|\S', text), []
    for start, kind in enumerate(tokens):
        if re.fullmatch("(Request)?Field|(Field|Object)Declaration", kind) and "(" in tokens[start : start + 12]:
            end, depth = (opened := tokens.index("(", start)), 1
            while depth and (end := end + 1) < len(tokens):
                depth += {"(": 1, ")": -1}.get(tokens[end], 0)
            if tokens[opened + 1].startswith('"'):
                found.append((kind, json.loads(tokens[opened + 1]), " ".join(tokens[start : end + 1])))
    return found


def requests(openapi: dict, asyncapi: dict) -> dict[str, dict]:
    """The parts of requests that the files of the documents describe by hand."""
    messages = asyncapi["components"]["messages"].items()
    written = {f"frame {key}": part for key, part in messages if "." not in key and key not in ("ok", "error")}
    for path, item in openapi["paths"].items():
        for method, operation in item.items():
            schema = operation.get("requestBody", {}).get("schema", {}) if isinstance(operation, dict) else {}
            name = schema.get("$ref", "").split("/")[-1]
            written[f"{method} {path}"] = openapi["components"]["schemas"].get(name, schema)
    return written


def members(schema: object) -> set[str]:
    """The names of the members of a schema, and of the objects in it. A condition describes no member."""
    if not isinstance(schema, dict):
        return set().union(*map(members, schema)) if isinstance(schema, list) else set()
    own = {name.removesuffix("?") for name in schema.get("properties", {})}
    parts = [part for name, part in schema.items() if name not in ("if", "then", "else", "examples")]
    return own.union(*map(members, parts))


def duplicates(files: dict[str, str], openapi: dict, asyncapi: dict, schemas: dict) -> list[str]:
    places, names, objects = collections.defaultdict(list), set(), set()
    for file, text in files.items():
        for kind, name, declaration in declarations(text):
            places[declaration].append(file)
            (objects if kind == "ObjectDeclaration" else names).add(name)
    found = [f"{', '.join(where)}: {text}" for text, where in places.items() if len(where) > 1]
    for request, part in requests(openapi, asyncapi).items():
        found += [f"{request} describes {name}, which a Field declares" for name in sorted(members(part) & names)]
    known = {*schemas, *openapi["components"]["schemas"], *asyncapi["components"].get("schemas", {})}
    return found + [f"a file describes {name}, which an ObjectDeclaration declares" for name in sorted(objects & known)]


def listed(text: str) -> set[str]:
    """The names in the lists of fields: those of declarations and objects, and constants with such a list."""
    found, start = set(), r"(?:\[(?:any DeclaredField|FieldDeclaration)\]\s*[={]|\b[fF]ields:|[fF]ields\s*=|\+)\s*\["
    for opened in re.finditer(start + "(?!any DeclaredField|FieldDeclaration)", text):
        end, depth = opened.end(), 1
        while depth and end < len(text):
            depth += {"[": 1, "]": -1}.get(text[end], 0)
            end += 1
        found |= set(re.findall(r"\w+", text[opened.end() : end]))
    return found


def unlisted(files: dict[str, str]) -> list[str]:
    """The reads of fields that are in no list. The own and the shared fields of a command must be in a list in its type.
    The fields of other types may be in a list of any type."""
    types = re.compile(r"^(?:\w+ )*(?:struct|enum|class|extension) (\w[^{\n]*)\{\n(.*?)^}", re.M | re.S)
    found, everywhere = [], set().union(*map(listed, files.values()))
    for file, text in files.items():
        for kind, body in types.findall(text):
            own = listed(body) if ": Command" in kind else everywhere
            for owner, name in re.findall(r"\b([A-Z]\w*)\.(\w+)(?:\.required\(\))?\.value\(in:", body):
                if name not in (own if owner in ("Self", "SharedFields") else everywhere):
                    found.append(f"{file}: {kind.strip()} reads {owner}.{name}, which is not in `fields`")
    return found


def planted() -> list[str]:
    """The faults that are in a planted input: one of each sort."""
    body = {"requestBody": {"schema": {"properties": {"planted?": {}}}}}
    openapi = {"paths": {"/": {"put": body}}, "components": {"schemas": {}}}
    asyncapi = {"components": {"messages": {"join": {"properties": {"in": {"properties": {"planted": {}}}}}}}}
    field = 'Field<Int?>.whole("planted", in: 1...9,\n"Up to (9).").required()'
    files = {"A": field + 'ObjectDeclaration("Planted", fields: [])', "B": field.replace("\n", " ")}
    declaration = 'struct A: Command {\n  let declaration = Declaration("GET", fields: [read])\n'
    reads = {"C": declaration + "  init() { (Self.read.value(in: request), Self.unread.value(in: request)) }\n}\n"}
    return duplicates(files, openapi, asyncapi, {"Planted": {}}) + unlisted(reads)


if __name__ == "__main__":
    assert len(planted()) == 5, planted()
    files = {str(file.relative_to(ROOT)): file.read_text() for file in ROOT.glob("Sources/Relay*/**/*.swift")}
    folder = ROOT / "Sources/RelayHTTP/Documents"
    documents = [json.loads((folder / f"{name}.json").read_text()) for name in ("openapi", "asyncapi", "schemas")]
    sys.exit("\n".join(duplicates(files, *documents) + unlisted(files)) or None)
