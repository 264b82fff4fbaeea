# SPDX-License-Identifier: Apache-2.0
"""The documents of the relay: they are served unchanged, they are valid, and every example in them is true."""

import contextlib
import itertools
import json
import re
import urllib.parse

import pytest
from openapi_spec_validator import validate

import documents
from api import call
from client import Refused
from documents import ASYNCAPI, METHODS, OPENAPI
from waiting import eventually

RELAY_OPTIONS = ("--limits-focus-rate", 0, "--limits-send-rate", 0, "--limits-request-rate", 0)

#: Operations without a complete answer.
ENDLESS = ("/v1/connect", "/v1/presence/events", "/v1/simulator/devices/{token}/events")
#: All operations. Deletions are last, because they remove the objects of other examples.
OPERATIONS = sorted(
    [
        (method, template)
        for template, item in documents.document(OPENAPI)["paths"].items()
        for method in METHODS
        if method in item and template not in ENDLESS
    ],
    key=lambda operation: operation[0] == "delete",
)
WITH_BODY = [
    (method, template)
    for method, template in OPERATIONS
    if "requestBody" in documents.document(OPENAPI)["paths"][template][method]
]
MESSAGES = list(documents.document(ASYNCAPI)["components"]["messages"])
#: All requests except `hello`. `join` is first, and `leave` is last, because the others need the joined room.
REQUESTS = sorted(set(documents.requests()) - {"hello"}, key=lambda type: (type != "join", type == "leave", type))
#: Values of which each is wrong for most fields.
VALUES = (None, True, -1, 1.5, "", "a b", "x" * 5000, [], ["a b"], {}, {"a": 1})


def references(item):
    if isinstance(item, dict):
        if isinstance(item.get("$ref"), str):
            yield item
        for value in item.values():
            yield from references(value)
    elif isinstance(item, list):
        for value in item:
            yield from references(value)


@pytest.mark.parametrize("name", [OPENAPI, ASYNCAPI])
def test_a_document_is_served_as_the_command_prints_it(relay, name):
    answer = call(relay, "GET", f"/{name}")
    assert (answer.status, answer.headers.get_content_type()) == (200, "application/json")
    assert answer.body.decode() == documents.source(name)
    known = f'"other", W/{answer.headers["ETag"]}'
    again = call(relay, "GET", f"/{name}", headers={"If-None-Match": known})
    assert (again.status, again.body, again.headers["ETag"]) == (304, b"", answer.headers["ETag"])
    assert call(relay, "GET", f"/{name}", headers={"If-None-Match": '"other"'}).status == 200
    assert call(relay, "HEAD", f"/{name}").status == 200


@pytest.mark.parametrize("name", [OPENAPI, ASYNCAPI])
def test_a_document_has_the_running_version(start, connect, name):
    assert connect(start(), "ann").welcome["server"] == f"stillwire/{documents.document(name)['info']['version']}"


def test_the_openapi_document_is_valid():
    validate(documents.document(OPENAPI))


@pytest.mark.parametrize("name", [OPENAPI, ASYNCAPI])
def test_every_reference_leads_somewhere(name):
    for item in references(documents.document(name)):
        assert documents.resolve(name, item), item


@pytest.mark.parametrize("name", [OPENAPI, ASYNCAPI])
def test_every_described_component_is_used(name):
    used = {item["$ref"] for item in references(documents.document(name))}
    for kind, items in documents.document(name)["components"].items():
        for key in items if kind != "securitySchemes" else ():
            path = f"#/components/{kind}/{key}"
            assert any(reference == path or reference.startswith(f"{path}/") for reference in used), path


@pytest.mark.parametrize("key", MESSAGES)
def test_every_example_of_a_message_is_valid(key):
    message = documents.document(ASYNCAPI)["components"]["messages"][key]
    assert message["examples"]
    for example in message["examples"]:
        assert documents.problem(ASYNCAPI, message["payload"], example["payload"]) is None, example


def test_every_example_of_an_answer_is_valid():
    for method, template in OPERATIONS:
        for status, response in documents.document(OPENAPI)["paths"][template][method]["responses"].items():
            for content in documents.resolve(OPENAPI, response).get("content", {}).values():
                for example in content.get("examples", {}).values():
                    wrong = documents.problem(OPENAPI, content["schema"], example["value"])
                    assert wrong is None, (method, template, status, wrong)


#: The operation whose answer has the corrected payload instead of the request's.
MENDED = ("post", "/v1/pushes/lint")


def examples(content):
    return [(name, example["value"]) for one in content.values() for name, example in one.get("examples", {}).items()]


@pytest.mark.parametrize("method, template", OPERATIONS)
def test_every_example_of_an_answer_agrees_with_a_request(method, template):
    """The values match the path, and the request example with the same name or any request example."""
    item = documents.document(OPENAPI)["paths"][template]
    path = documents.path_values(item)
    requests = examples(item[method].get("requestBody", {}).get("content", {})) or [("", {})]
    for status, response in item[method]["responses"].items():
        if not status.startswith("2") or (method, template) == MENDED:
            continue
        for name, answer in examples(documents.resolve(OPENAPI, response).get("content", {})):
            named = [request for request in requests if request[0] == name] or requests
            wrong = [list(documents.disagreements(path | request, answer)) for _, request in named]
            assert [] in wrong, (method, template, status, name, wrong)


def test_a_disagreement_is_found():
    found = documents.disagreements
    assert not list(found({"user": "ann", "a": {"days": [1]}, "b": None}, {"user": "ann", "a": {"days": [1]}, "b": 1}))
    assert list(found({"user": "ann"}, {"user": "bob"})) == ["/user is 'ann' in the request and 'bob' in the answer"]
    assert len(list(found({"a": {"days": [1]}}, {"a": {"days": [1, 2]}}))) == 1


@pytest.fixture
def room(relay, connect):
    """The room of the examples, with their messages and members."""
    ann = connect("ann", name="Ann")
    ann.join("tea")
    connect("bob").join("tea")
    ann.send("tea", {"text": "Kettle is on"})
    ann.send("tea", {"text": "The kettle is off"})
    for own in ("books", "kitchen"):
        with contextlib.suppress(Refused):
            ann.request("create", room=own, members=["bob"])
    # The examples of reports are about a message of Bob.
    message = {"from": "bob", "body": {"text": "Buy pills"}, "key": "report"}
    call(relay, "POST", "/v1/rooms/books/messages", message)
    return ann


@pytest.mark.parametrize("type", ["hello", *REQUESTS])
def test_every_example_of_a_request_is_answered_as_described(relay, connect, room, push, secret, start, type):
    notification = push(room)["notification"] if type == "respond" else None
    for example in documents.requests()[type][0]["examples"]:
        payload = dict(example["payload"])
        server, needs_token = relay, isinstance(payload.get("token"), str) and type in ("hello", "refresh")
        if needs_token:
            server = start(secret=secret)
            payload["token"] = server.token("ann")
        del payload["type"]
        payload.pop("id", None)
        if type == "hello":
            connect(server, **payload)
            continue
        session = connect(server, token=server.token("ann")) if needs_token else connect("ann")
        if type in ("answer", "decline", "hangup", "call"):
            payload["seq"] = ring(room)
            if type != "call":
                session = connect("bob")
        if type == "resolve":
            payload["report"] = room.request("report", room="books", seq=1, reason="spam")["report"]
        if type == "respond":
            payload["notification"] = notification
            session = connect("carol")
        if not needs_token and type != "join":
            session.join("tea")
        session.request(type, **payload)


def hang_up(sender):
    """Ends the call that an earlier example has left ringing."""
    for rung in sender.request("calls", room="tea")["calls"]:
        if rung["state"] == "ringing":
            sender.request("hangup", room="tea", seq=rung["seq"])


def ring(sender):
    """Rings in the room, and returns the seq of the new call."""
    hang_up(sender)
    return sender.request("ring", room="tea")["seq"]


def path_of(template, item, **known):
    """Returns the path. Parameters that are not in `known` have the values of the examples."""
    parameters = [documents.resolve(OPENAPI, parameter) for parameter in item.get("parameters", [])]
    values = {parameter["name"]: parameter["example"] for parameter in parameters} | known
    return re.sub(r"{(\w+)}", lambda name: urllib.parse.quote(values[name[1]]), template)


def query_of(operation):
    """Returns the query with the required parameters. Each has its first possible value."""
    parameters = [documents.resolve(OPENAPI, parameter) for parameter in operation.get("parameters", [])]
    required = [each for each in parameters if each["in"] == "query" and each.get("required")]
    return "?" + "&".join(f"{each['name']}={each['schema']['enum'][0]}" for each in required) if required else ""


cooks = itertools.count()


@pytest.fixture
def push(relay, connect, phone):
    """Makes a push in the room, and returns its `communication`."""

    def push(sender):
        carol = connect("carol")
        carol.join("tea")
        ringing = phone(relay, carol)
        carol.close()
        # A request is needed, because a short session may cause no event.
        eventually(lambda: not sender.request("presence", users=["carol"])["presence"][0]["online"])
        written = {"button": "Send", "placeholder": "Text"}
        actions = [
            {"id": "accept", "title": "Accept"},
            {"id": "answer", "title": "Answer", "textInput": written, "posts": True},
        ]
        registry = {"categories": [{"id": "invitation", "actions": actions}]}
        assert call(relay, "PUT", "/v1/categories", registry).status == 200
        # Each message has another sender, so that the pace of pushes delays none.
        message = {"from": f"cook-{next(cooks)}", "body": {"text": "Tea is ready"}, "push": {"category": "invitation"}}
        assert call(relay, "POST", "/v1/rooms/tea/messages", message).status == 201
        return ringing.ring("Tea is ready")["payload"]["communication"]

    return push


@pytest.mark.parametrize("method, template", OPERATIONS)
def test_every_example_of_a_call_is_answered_as_described(relay, room, push, method, template):
    item = documents.document(OPENAPI)["paths"][template]
    bodies = [
        example["value"]
        for content in item[method].get("requestBody", {}).get("content", {}).values()
        for example in content["examples"].values()
    ]
    if method != "put" and "{device}" in template:
        room.request("device", device="phone", platform="simulator", token="ann-phone")
    for body in bodies or [None if method in ("get", "delete") else b""]:
        communication = push(room) if "{id}" in template and "erasures" not in template else {}
        known = {"id": communication["notification"]} if communication else {}
        if template.endswith("/calls"):
            hang_up(room)
        if "/calls/{seq}" in template:
            known["seq"] = str(ring(room))
        if "{report}" in template:
            message = {"from": "ann", "body": {"text": "Buy pills"}}
            seq = call(relay, "POST", "/v1/rooms/tea/messages", message).json["seq"]
            reported = call(relay, "POST", f"/v1/rooms/tea/messages/{seq}/reports", {"user": "bob", "reason": "spam"})
            known["report"] = str(reported.json["report"])
        if "/reactions/" in template or "/pins/" in template or template.endswith("/{seq}/reports"):
            # Another example deletes message 1.
            message = {"from": "ann", "body": {"text": "Tea?"}}
            known["seq"] = str(call(relay, "POST", "/v1/rooms/tea/messages", message).json["seq"])
        if body and "receipt" in body:
            body = body | {"receipt": communication["receipt"]}
        if "erasures" in template:
            known["id"] = call(relay, "DELETE", "/v1/users/frank?messages=delete").json["erasure"]
        path = path_of(template, item, **known) + query_of(item[method])
        answer = call(relay, method.upper(), path, body, user="ann")
        if template.startswith("/v1/cluster"):
            # The relay of this file is a single node. test_cluster.py checks the answers of nodes.
            assert answer.status == 404, answer
            continue
        # A sent push is not a dead letter, so its retry is a conflict.
        assert answer.status == 409 if template.endswith("{id}/retry") else 200 <= answer.status < 300, answer
        if (method, template) == ("delete", "/v1/users/{user}"):
            # Nobody has the name until then.
            erasure = f"/v1/erasures/{answer.json['erasure']}"
            eventually(lambda path=erasure: call(relay, "GET", path).json["state"] == "done")
        is_object = answer.headers.get_content_type() == "application/json" and answer.body.startswith(b"{")
        if answer.status < 300 and is_object and (method, template) != MENDED:
            asked = documents.path_values(item, **known) | (body if isinstance(body, dict) else {})
            assert list(documents.disagreements(asked, answer.json)) == [], (method, template, asked, answer)


def variants(name, schema, good):
    """Yields objects with one field that may be wrong, at any depth, and the name of their outermost field."""
    for key, described in documents.resolve(name, schema).get("properties", {}).items():
        for value in VALUES:
            yield key, good | {key: value}
        for inner in described.get("anyOf", [described]):
            own = good.get(key)
            for _, value in variants(name, inner, own if isinstance(own, dict) else {}):
                yield key, good | {key: value}


@pytest.mark.parametrize("method, template", WITH_BODY)
def test_every_body_that_is_described_is_checked(relay, room, method, template):
    """The relay rejects every body that does not match the schema."""
    item = documents.document(OPENAPI)["paths"][template]
    content = item[method]["requestBody"]["content"]["application/json"]
    schema, good = content["schema"], next(iter(content["examples"].values()))["value"]
    for key, body in variants(OPENAPI, schema, good):
        if documents.problem(OPENAPI, schema, body, is_strict=False) is not None:
            answer = call(relay, method.upper(), path_of(template, item), body, user="ann")
            # The size of a receipt's body is checked first, because the body authenticates the caller.
            if template.endswith("/received") and len(json.dumps(body)) > 1_024:
                assert answer.status == 413, (body, answer)
                continue
            assert answer.status == 422 and answer.problem["at"].startswith(f"/{key}"), (body, answer)


@pytest.mark.parametrize("type", sorted(set(REQUESTS) - {"refresh"}))
def test_every_request_that_is_described_is_checked(room, type):
    """The relay rejects every request that does not match the schema, and the session stays open."""
    message = documents.requests()[type][0]
    for key, frame in variants(ASYNCAPI, message["payload"], message["examples"][0]["payload"]):
        if key not in ("type", "id") and documents.problem(ASYNCAPI, message["payload"], frame, is_strict=False):
            del frame["type"], frame["id"]
            error = room.refusal(type, **frame)
            assert error["code"] == "bad_request", (frame, error)


def test_a_frame_that_is_not_described_fails(relay):
    for text in ('{"type":"counts","room":"tea"}', '{"type":"pong","time":1,"more":2}', '{"type":"ok"}'):
        with pytest.raises(AssertionError):
            documents.check_frame(json.loads(text))
    with pytest.raises(AssertionError):
        documents.check_reply("join", {"type": "ok", "id": 1})
    for answer in ((200, b"{}"), (418, b""), (200, b'{"status":"live","more":1}')):
        with pytest.raises(AssertionError):
            documents.check_answer("GET", "/live", answer[0], "application/json", answer[1])


def test_a_failure_names_the_field_that_is_not_described():
    message = {"seq": 1, "from": "ann", "time": 1, "body": {}}
    with pytest.raises(AssertionError, match='"message" lacks more:'):
        documents.check_frame({"type": "message", "room": "tea", **message, "more": 1})
    page = {"room": "tea", "epoch": "e", "first": 1, "more": False, "messages": [message | {"more": 1}]}
    with pytest.raises(AssertionError, match=r"\$.messages\[0\]: .*'more' was unexpected"):
        documents.check_answer("GET", "/v1/rooms/tea/messages", 200, "application/json", json.dumps(page).encode())


def test_the_schemas_that_both_documents_have_are_the_same():
    http, socket = (documents.document(name)["components"]["schemas"] for name in (OPENAPI, ASYNCAPI))
    assert len(http.keys() & socket.keys()) > 15
    for key in http.keys() & socket.keys():
        assert http[key] == socket[key], key
