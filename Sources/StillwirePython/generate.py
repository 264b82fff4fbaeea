# SPDX-License-Identifier: Apache-2.0
"""Generates the types and the operations of the Python client from the OpenAPI document of the relay.

From the root of the repository: stillwire document openapi | python3 Sources/StillwirePython/generate.py
"""

import json
import re
import sys
import textwrap
from pathlib import Path
from typing import Any

PACKAGE = Path(__file__).parent / "src" / "stillwire"
HEADER = "# SPDX-License-Identifier: Apache-2.0\n# generate.py has generated this file from the OpenAPI document.\n"
WIDTH = 110

#: Operations that client.py does not take from this file: streams of events, and the WebSocket of apps.
BY_HAND = {"followLockScreen", "followPresence", "connect"}
#: Operations that are neither PUT, DELETE nor GET, have no idempotency key, and have no further effect if repeated.
REPEATABLE = {"acceptInvitation", "listPresence", "decide", "lintPush", "receivePush", "retryPush"}
#: Operations about the node that answers.
OF_NODE = {"isLive", "isReady", "getCluster", "readMetrics", "stepDown", "publishSnapshot"}
#: The codes with which a node that does not lead refuses an operation of `OF_NODE`.
CODES_OF_STANDBY = {"stepDown": "conflict"}

SCALARS = {"string": "str", "integer": "int", "number": "float", "boolean": "bool", "null": "None", "any": "Any"}
CONSTANTS = {"true": "True", "false": "False", "null": "None"}
#: The titles of lists in docstrings.
LISTS = ("Args:", "Returns:")

Schema = dict[str, Any]


def snake(name: str) -> str:
    """Returns a name of the document as a name of Python: `replyTo` as `reply_to`, `from` as `from_`."""
    words = re.findall(r"[A-Z]+(?![a-z])\d*|[A-Z]?[a-z\d]+|[A-Z]", name)
    made = "_".join(words).lower()
    return f"{made}_" if made == "from" else made


def capital(name: str) -> str:
    return name[0].upper() + name[1:]


def fill(text: str, width: int, **indents: str) -> str:
    return textwrap.fill(text, width, break_on_hyphens=False, break_long_words=False, **indents)


def words(text: str) -> str:
    """Returns a text of the document with the constants of Python."""
    return re.sub(r"\b(true|false|null)\b", lambda word: CONSTANTS[word[0]], text)


def item(name: str, text: str) -> str:
    """Returns an entry of a list in a docstring."""
    text = words(f"{name}: {text}" if name else text)
    return fill(text, WIDTH - 8, initial_indent="    ", subsequent_indent="        " if name else "    ")


def docstring(text: str, indent: str) -> str:
    """Returns a docstring of this text, which may have several paragraphs."""
    paragraphs = text.strip().split("\n\n")
    if len(paragraphs) == 1 and len(paragraphs[0]) <= WIDTH - len(indent):
        return f'{indent}"""{paragraphs[0]}"""\n'
    filled = "\n\n".join(
        paragraph if paragraph.startswith(LISTS) else fill(paragraph, WIDTH - len(indent))
        for paragraph in paragraphs
    )
    return textwrap.indent(f'"""{filled}\n"""\n', indent)


class Types:
    """The types of the document's schemas. `of` names the type of a schema, and defines it if it is new."""

    def __init__(self, schemas: dict[str, Schema]):
        self._schemas = schemas
        self.definitions: dict[str, str] = {}

    def resolved(self, schema: Schema) -> Schema:
        if "$ref" not in schema:
            return schema
        found = self._schemas[schema["$ref"].rsplit("/", 1)[1]]
        return {**found, **{key: value for key, value in schema.items() if key != "$ref"}}

    def of(self, schema: Schema, name: str) -> str:
        """Returns the type of a schema. `name` is the name of an object that has no name in the document."""
        if "$ref" in schema:
            return self._of_reference(schema["$ref"].rsplit("/", 1)[1])
        if "allOf" in schema:
            return self.of(schema["allOf"][0], name)
        if variants := schema.get("anyOf", schema.get("oneOf")):
            if "properties" not in schema:
                names = [self._variant(name, variant, variants) for variant in variants]
                return self._union(list(map(self.of, variants, names)))
        if "const" in schema:
            return self._literal([schema["const"]])
        if "enum" in schema:
            return self._literal(schema["enum"])
        kinds = schema.get("type", "any")
        kinds = [kinds] if isinstance(kinds, str) else kinds
        return self._union([self._of_kind(kind, schema, name) for kind in kinds])

    def qualified(self, schema: Schema, name: str) -> str:
        """Returns the type of a schema as another module names it."""
        type = self.of(schema, name)
        return re.sub(r"\w+", lambda word: f"types.{word[0]}" if word[0] in self.definitions else word[0], type)

    def _of_reference(self, name: str) -> str:
        schema = self._schemas[name]
        if "enum" in schema:
            literal = f"{name}: TypeAlias = {self._literal(schema['enum'])}\n"
            description = docstring(schema["description"], "") if "description" in schema else ""
            self.definitions[name] = literal + description
        elif "properties" in schema:
            self._define(name, schema)
        else:
            return self.of(schema, name)
        return name

    def _of_kind(self, kind: str, schema: Schema, name: str) -> str:
        match kind:
            case "object" if schema.get("properties"):
                self._define(name, schema)
                return name
            case "object":
                return f"dict[str, {self.of(schema.get('additionalProperties', {}), name)}]"
            case "array":
                return f"list[{self.of(schema['items'], name.removesuffix('s'))}]"
        return SCALARS[kind]

    def _define(self, name: str, schema: Schema) -> None:
        if name in self.definitions:
            return
        self.definitions[name] = ""
        required = schema.get("required", [])
        fields, base, extra = "", "TypedDict", ""
        for property, details in schema["properties"].items():
            description = words(details.get("description", ""))
            type = self.of(details, name + capital(property))
            type = type if property in required else f"NotRequired[{type}]"
            if property == "from":
                # The name is a keyword of Python, which a class body cannot contain.
                base = f"_{name}From"
                extra = f'{base} = TypedDict("{base}", {{"from": {type}}})\n\n\n'
                continue
            fields += f"    {property}: {type}\n" + (docstring(description, "    ") if description else "")
        description = docstring(schema["description"], "    ") if "description" in schema else ""
        if description and fields:
            description += "\n"
        self.definitions[name] = f"{extra}@final\nclass {name}({base}):\n{description}" + (fields or "    pass\n")

    def _variant(self, name: str, variant: Schema, variants: list[Schema]) -> str:
        if sum("properties" in other for other in variants) < 2 or "properties" not in variant:
            return name
        first = variant["required"][0]
        return name + capital(variant["properties"][first].get("const", first))

    @staticmethod
    def _literal(values: list[Any]) -> str:
        constants = (CONSTANTS.get(constant, constant) for constant in map(json.dumps, values))
        text = ", ".join(constants)
        if len(text) > WIDTH - 40:
            text = "\n" + fill(text, WIDTH, initial_indent="    ", subsequent_indent="    ") + ",\n"
        return f"Literal[{text}]"

    @staticmethod
    def _union(types: list[str]) -> str:
        return " | ".join(dict.fromkeys(types))

    def module(self) -> str:
        text = HEADER
        text += '"""The objects of requests and answers as JSON has them. The HTTP reference has the same keys."""\n\n'
        text += "from __future__ import annotations\n\n"
        text += "from typing import Any, Literal, NotRequired, TypeAlias, TypedDict, final\n"
        aliases = [text for text in self.definitions.values() if "TypeAlias" in text]
        classes = [text for text in self.definitions.values() if "TypeAlias" not in text]
        return text + "\n" + "\n".join(aliases) + "".join(f"\n\n{text}" for text in classes)


class Parameter:
    """A parameter of a method, and its use in the request."""

    def __init__(self, name: str, type: str, description: str, default: str | None):
        self.name = snake(name)
        self.key = name
        self.description = description
        self.default = default
        self.type = type

    @property
    def declaration(self) -> str:
        return f"{self.name}: {self.type}" + (f" = {self.default}" if self.default else "")


class Operation:
    """An operation of the document as a method."""

    def __init__(self, document: Schema, types: Types, path: str, method: str, shared: list[Schema], details: Schema):
        self.id: str = details["operationId"]
        self.name = snake(self.id)
        self._method = method.upper()
        self._path = path
        self._details = details
        parameters = [self._parameter(document, parameter) for parameter in [*shared, *details.get("parameters", [])]]
        # An idempotency key and a version are also fields of the bodies.
        self._in_path = [self._taken(types, parameter) for parameter in parameters if parameter["in"] == "path"]
        self._in_query = [self._taken(types, parameter) for parameter in parameters if parameter["in"] == "query"]
        self._in_body: list[Parameter] = []
        if "requestBody" in details:
            body = types.resolved(details["requestBody"]["content"]["application/json"]["schema"])
            for name, field in body["properties"].items():
                self._in_body.append(self._field(types, name, field, name in body.get("required", [])))
        self._has_key = any(parameter.key == "key" for parameter in self._in_body)
        self._statuses = [status for status, answer in details["responses"].items() if self._json(answer) is not None]
        answers = [answer for status, answer in details["responses"].items() if status in self._statuses]
        result = f"{capital(self.id)}Result"
        contents = details["responses"].get("200", {}).get("content", {})
        self._is_text = not {"text/plain", "application/jsonl"}.isdisjoint(contents)
        self._result = "str" if self._is_text else "None"
        if answers:
            self._result = types.qualified(self._json(answers[0]) or {}, result)

    @staticmethod
    def _parameter(document: Schema, parameter: Schema) -> Schema:
        if "$ref" not in parameter:
            return parameter
        found: Schema = document["components"]["parameters"][parameter["$ref"].rsplit("/", 1)[1]]
        return found

    @staticmethod
    def _json(answer: Schema) -> Schema | None:
        return answer.get("content", {}).get("application/json", {}).get("schema") if "$ref" not in answer else None

    def _taken(self, types: Types, parameter: Schema) -> Parameter:
        type = types.qualified(parameter["schema"], capital(parameter["name"]))
        is_required = parameter.get("required", False)
        return Parameter(
            parameter["name"], type if is_required else f"{type} | None", parameter.get("description", ""),
            None if is_required else "None",
        )  # fmt: skip

    def _field(self, types: Types, name: str, schema: Schema, is_required: bool) -> Parameter:
        type = types.qualified(schema, capital(self.id) + capital(name))
        description = types.resolved(schema).get("description", "")
        if name == "key":
            description += " The default is a new key, so that the client can retry."
        return Parameter(
            name, type if is_required else f"{type} | Omitted", description, None if is_required else "OMITTED"
        )

    def code(self, is_async: bool) -> str:
        given = [*self._in_path, *(parameter for parameter in self._in_body if not parameter.default)]
        named = [*self._in_query, *(parameter for parameter in self._in_body if parameter.default)]
        declared = ["self", *(parameter.declaration for parameter in given)]
        declared += ["*", *(parameter.declaration for parameter in named)] if named else []
        text = f"    {'async ' * is_async}def {self.name}(\n"
        text += "".join(f"        {declaration},\n" for declaration in declared)
        text += f"    ) -> {self._result}:\n{docstring(self._documentation([*given, *named]), '        ')}"
        call = f"{'await ' * is_async}self._send(\n            {self._request()}\n        )\n"
        if self._result == "None":
            return f"{text}        {call}"
        return f"{text}        result: {self._result} = {call}        return result\n"

    def _documentation(self, parameters: list[Parameter]) -> str:
        text = f"{self._details['summary']}."
        if "description" in self._details:
            text += f"\n\n{words(self._details['description'])}"
        described = [item(parameter.name, parameter.description) for parameter in parameters if parameter.description]
        if described:
            text += "\n\nArgs:\n" + "\n".join(described)
        answers = self._details["responses"]
        returned = sorted((status for status in self._statuses if status < "300"), reverse=True)
        if returned:
            names = returned if len(returned) > 1 else [""]
            text += "\n\nReturns:\n"
            text += "\n".join(item(name, answers[name or returned[0]]["description"]) for name in names)
        return text

    def _request(self) -> str:
        path = re.sub(r"\{(\w+)\}", lambda found: f"{{segment({snake(found[1])})}}", self._path)
        parts = [f'"{self._method}"', f'{"f" * ("{" in path)}"{path}"']
        if self._in_query:
            parts.append("query={" + ", ".join(f'"{one.key}": {one.name}' for one in self._in_query) + "}")
        if self._in_body:
            values = {one.key: f"new_key({one.name})" if one.key == "key" else one.name for one in self._in_body}
            fields = ", ".join(f'"{key}": {value}' for key, value in values.items())
            fields = fill(fields, WIDTH - 20, initial_indent="    ", subsequent_indent="    ")
            parts.append(f"body={{\n{fields},\n}}")
        if self._method == "POST" and (self._has_key or self.id in REPEATABLE):
            parts.append("is_repeatable=True")
        others = [status for status in self._statuses if status >= "300"]
        if others:
            parts.append(f"also_expected={{{', '.join(others)}}}")
        if self._is_text:
            parts.append("is_text=True")
        if self.id in OF_NODE:
            parts.append("is_of_node=True")
        if self.id in CODES_OF_STANDBY:
            parts.append(f'codes_of_standby={{"{CODES_OF_STANDBY[self.id]}"}}')
        text = textwrap.indent(",\n".join(parts), "    ")
        return textwrap.indent(f"Request(\n{text},\n)", "            ").strip()


def generated(document: Schema) -> dict[str, str]:
    """Returns the generated files of the package by name."""
    types = Types(document["components"]["schemas"])
    operations = [
        Operation(document, types, path, method, methods.get("parameters", []), details)
        for path, methods in document["paths"].items()
        for method, details in methods.items()
        if method != "parameters" and details["operationId"] not in BY_HAND
    ]
    # client.py uses this type for the events of followLockScreen.
    types.of({"$ref": "#/components/schemas/Notification"}, "Notification")
    text = HEADER + '"""The operations of the HTTP interface."""\n\n'
    text += "from abc import ABC, abstractmethod\nfrom typing import Any, Literal\n\n"
    text += "from . import types\nfrom .requests import OMITTED, Omitted, Request, new_key, segment\n"
    for name, is_async in (("Operations", False), ("AsyncOperations", True)):
        text += f'\n\nclass {name}(ABC):\n    """The operations of {"an asynchronous" * is_async or "a"} client."""\n\n'
        text += f"    @abstractmethod\n    {'async ' * is_async}def _send(self, request: Request) -> Any: ...\n"
        text += "".join(f"\n{operation.code(is_async)}" for operation in operations)
    version = HEADER + '"""The version of Stillwire that this client belongs to."""\n\n'
    version += f'__version__ = "{document["info"]["version"]}"\n'
    return {"operations.py": text, "types.py": types.module(), "version.py": version}


if __name__ == "__main__":
    for name, text in generated(json.load(sys.stdin)).items():
        (PACKAGE / name).write_text(text)
