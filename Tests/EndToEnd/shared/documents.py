# SPDX-License-Identifier: Apache-2.0
"""Checks the relay's frames and answers against its own documents, OpenAPI and AsyncAPI.

A client ignores unknown fields. These checks do not: they fail for a field that no document describes.
"""

import json
from collections.abc import Iterator
from functools import cache
from typing import Any

from jsonschema import Draft202012Validator, ValidationError
from referencing import Registry, Resource
from referencing.jsonschema import DRAFT202012

from relay import run

OPENAPI, ASYNCAPI = "openapi.json", "asyncapi.json"
METHODS = ("get", "put", "post", "delete")


@cache
def source(name: str) -> str:
    """Returns a document, as `stillwire document` prints it."""
    printed = run("document", name.removesuffix(".json"))
    assert printed.returncode == 0, printed.stderr
    return printed.stdout


@cache
def document(name: str) -> dict[str, Any]:
    return json.loads(source(name))


def resolve(name: str, item: dict[str, Any]) -> dict[str, Any]:
    """Follows a `$ref` within the document and returns its target."""
    while "$ref" in item:
        found: Any = document(name)
        for part in item["$ref"].removeprefix("#/").split("/"):
            found = found[part.replace("~1", "/").replace("~0", "~")]
        item = found
    return item


def problem(name: str, schema: dict[str, Any], value: Any, *, is_strict: bool = True) -> str | None:
    """Returns the first fault of the value, or None. With `is_strict`, undescribed fields are faults."""
    schema = _anchored(name, schema)
    validator = Draft202012Validator(
        _strict(schema) if is_strict else schema,
        registry=_registry(name, is_strict),
        format_checker=Draft202012Validator.FORMAT_CHECKER,
    )
    error = next(validator.iter_errors(value), None)
    return error and _words(error)


def _words(error: ValidationError) -> str:
    """Returns the fault. If the value matches no variant of `anyOf`, it is the fault of the most similar variant."""
    while error.context:
        variants: dict[Any, list[ValidationError]] = {}
        for inner in error.context:
            variants.setdefault(inner.schema_path[0], []).append(inner)
        error = min(variants.values(), key=lambda inner: (len(inner), -len(inner[0].path)))[0]
    return f"{error.json_path}: {error.message}"


# Frames


@cache
def requests() -> dict[str, tuple[dict[str, Any], dict[str, Any]]]:
    """Returns the messages of each request and of its reply, by type."""
    return {
        operation["messages"][0]["$ref"].rsplit("/", 1)[1]: (
            resolve(ASYNCAPI, operation["messages"][0]),
            resolve(ASYNCAPI, operation["reply"]["messages"][0]),
        )
        for operation in document(ASYNCAPI)["operations"].values()
        if operation["action"] == "receive"
    }


@cache
def sent_messages() -> dict[str, list[dict[str, Any]]]:
    """Returns the messages that the relay sends, by type."""
    found: dict[str, list[dict[str, Any]]] = {}
    for operation in document(ASYNCAPI)["operations"].values():
        sends = operation["action"] == "send"
        for message in operation["messages"] if sends else operation["reply"]["messages"]:
            message = resolve(ASYNCAPI, message)
            same = found.setdefault(message["payload"]["properties"]["type"]["const"], [])
            if message not in same:
                same.append(message)
    return found


def check_frame(frame: dict[str, Any]) -> None:
    """Fails if the frame matches no described message of its type. Does not check types that are not described."""
    messages = sent_messages().get(frame.get("type"))
    if not messages:
        return
    problems = [_unlike(message, frame) or problem(ASYNCAPI, message["payload"], frame) for message in messages]
    # Many replies have the type `ok`.
    nearest = ", or ".join(sorted(filter(None, problems), key=len)[:3])
    assert None in problems, f"not as {ASYNCAPI} says: {nearest}: {json.dumps(frame)[:500]}"


def check_reply(type: str, frame: dict[str, Any]) -> None:
    """Fails if the frame does not match the described reply to a request of this type."""
    if type in requests():
        wrong = problem(ASYNCAPI, requests()[type][1]["payload"], frame)
        assert wrong is None, f"not as {ASYNCAPI} says of {type}, {wrong}: {json.dumps(frame)[:500]}"


def _unlike(message: dict[str, Any], frame: dict[str, Any]) -> str | None:
    """Returns the difference between the fields of a frame and those of a message, or None."""
    described = message["payload"]
    undescribed, missing = set(frame) - set(described["properties"]), set(described["required"]) - set(frame)
    parts = [f'"{message["title"]}" lacks {name}' for name in sorted(undescribed)]
    return "; ".join(parts + [f"the frame lacks {name}" for name in sorted(missing)]) or None


# Answers


def operation(method: str, path: str) -> tuple[str, dict[str, Any]] | None:
    """Returns the path's template and the description of the method, or None if they are not described."""
    parts = path.partition("?")[0].split("/")
    method = "get" if method == "HEAD" else method.lower()
    for template, item in document(OPENAPI)["paths"].items():
        pattern = template.split("/")
        if len(pattern) == len(parts) and all(
            want.startswith("{") or want == have for want, have in zip(pattern, parts, strict=True)
        ):
            return (template, item[method]) if method in item else None
    return None


def check_answer(method: str, path: str, status: int, content_type: str, body: bytes) -> None:
    """Fails if the status or the body of an answer does not match the document."""
    found = operation(method, path)
    if found is None:
        if content_type == "application/problem+json" and method != "HEAD":
            wrong = problem(OPENAPI, {"$ref": "#/components/schemas/Problem"}, json.loads(body))
            assert wrong is None, f"{method} {path}: {wrong}: {body[:500]!r}"
        return
    template, operation_ = found
    place = f"not as {OPENAPI} says of {method} {template}"
    response = operation_["responses"].get(str(status))
    assert response is not None, f"{place}: {status} {body[:500]!r}"
    content = resolve(OPENAPI, response).get("content", {})
    if not content or method == "HEAD":
        assert not body, f"{place}: a body with {status}"
        return
    assert content_type in content, f"{place}: {content_type}"
    if content_type.endswith("json"):
        wrong = problem(OPENAPI, content[content_type]["schema"], json.loads(body))
        assert wrong is None, f"{place}: {status}, {wrong}: {body[:500]!r}"


def check_event(path: str, id: str | None, name: str, data: Any) -> None:
    """Fails if an event of a stream does not match the document."""
    found = operation("GET", path)
    assert found is not None, path
    stream = found[1]["responses"]["200"]["content"]["text/event-stream"]["schema"]
    variants = resolve(OPENAPI, stream["contentSchema"]["items"])["oneOf"]
    events = [variant for variant in variants if variant["properties"]["event"]["const"] == name]
    assert len(events) == 1, f"{OPENAPI} does not describe the event {name} of {found[0]}"
    fields = {"event": name, "data": json.dumps(data), **({"id": id} if id else {})}
    content = events[0]["properties"]["data"]["contentSchema"]
    wrong = problem(OPENAPI, events[0], fields) or problem(OPENAPI, content, data)
    assert wrong is None, f"not as {OPENAPI} says of the event {name} of {found[0]}, {wrong}: {data}"


def disagreements(asked: Any, answered: Any, at: str = "") -> Iterator[str]:
    """Yields the values that differ between a request and its answer. Null values of the request are ignored."""
    if isinstance(asked, dict) and isinstance(answered, dict):
        for key in sorted(asked.keys() & answered.keys()):
            if asked[key] is not None:
                yield from disagreements(asked[key], answered[key], f"{at}/{key}")
    elif asked != answered:
        yield f"{at} is {asked!r} in the request and {answered!r} in the answer"


def path_values(item: dict[str, Any], **known: Any) -> dict[str, Any]:
    """Returns the values of a path's parameters, by their names in answers. Unknown values come from the examples."""
    values = {}
    for parameter in (resolve(OPENAPI, each) for each in item.get("parameters", [])):
        if parameter["in"] == "path":
            value = known.get(parameter["name"], parameter["example"])
            values[parameter["name"]] = int(value) if parameter["name"] in ("seq", "report") else value
    if "id" in values:
        values["notification"] = values["id"]
    return values


# Schemas


def _anchored(name: str, schema: Any) -> Any:
    """Returns the schema with references that include the name of the document."""
    if isinstance(schema, dict):
        return {
            key: f"{name}{value}" if key == "$ref" else _anchored(name, value) for key, value in schema.items()
        }
    return [_anchored(name, item) for item in schema] if isinstance(schema, list) else schema


def _strict(schema: Any) -> Any:
    """Returns the schema without permission for undescribed fields."""
    if isinstance(schema, list):
        return [_strict(item) for item in schema]
    if not isinstance(schema, dict):
        return schema
    closed = {key: _strict(value) for key, value in schema.items()}
    if schema.get("type") == "object" and isinstance(schema.get("properties"), dict):
        closed.setdefault("additionalProperties", False)
    return closed


@cache
def _registry(name: str, is_strict: bool) -> Registry:
    contents = _strict(document(name)) if is_strict else document(name)
    return Registry().with_resource(name, Resource(contents=contents, specification=DRAFT202012))
