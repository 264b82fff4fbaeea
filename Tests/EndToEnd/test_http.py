# SPDX-License-Identifier: Apache-2.0
"""The HTTP API: posting and reading messages, the page, and errors as problem documents."""

from http import HTTPStatus

import pytest

from api import call
from wire import Wire

RELAY_OPTIONS = ("--web", "web")

WRONG_METHODS = [
    ("POST", "/live", {"GET"}),
    ("DELETE", "/ready", {"GET"}),
    ("PATCH", "/v1/rooms/room/messages", {"GET", "POST"}),
    ("POST", "/v1/users/bob/focus", {"PUT"}),
    ("POST", "/v1/users/bob/devices/phone", {"PUT", "DELETE"}),
    ("PUT", "/v1/users/bob/presence", {"GET"}),
    ("DELETE", "/v1/simulator/devices/t", {"GET", "PUT"}),
    ("POST", "/v1/simulator/devices/t/events", {"GET"}),
    ("POST", "/", {"GET"}),
]

UNKNOWN = [
    "/v1",
    "/v1/",
    "/v2/connect",
    "/v1/nothing",
    "/v1/users/bob/shoes",
    "/v1/rooms/r/messages/1/2/3",
    "/no-such-page.html",
    "/live/x",
]


@pytest.fixture
def alice(connect, names):
    return connect(names("alice")[0], name="Alice")


@pytest.fixture
def room(alice, names):
    """A room that Alice has joined."""
    (room,) = names("room")
    alice.join(room)
    return room


#: The reason phrases of RFC 9110 that differ from those of Python.
PHRASES = {413: "Content Too Large", 422: "Unprocessable Content"}


def assert_problem(answer, status, code):
    assert (answer.status, answer.problem["code"]) == (status, code), answer
    assert answer.problem["title"] == PHRASES.get(status, HTTPStatus(status).phrase)
    return answer.problem


def assert_turned_away(wire):
    """Checks that the relay rejects bytes that are not HTTP, or ends the connection without an answer."""
    try:
        assert 400 <= wire.response().status < 500
    except ConnectionError:
        pass


def test_a_post_is_a_message(relay, alice, room):
    answer = call(relay, "POST", f"/v1/rooms/{room}/messages", {"from": "bob", "body": {"n": 1}}, user="bob")
    assert answer.status == 201
    assert answer.headers.get_content_type() == "application/json"
    assert (answer.json["room"], answer.json["seq"]) == (room, 1)
    message = alice.expect("message")
    assert (message["seq"], message["from"], message["body"]) == (1, "bob", {"n": 1})
    assert message["time"] == answer.json["time"]


def test_a_posted_body_is_kept_byte_for_byte(relay, alice, room):
    body = r'{ "a":1.0,"b":1e2,"c":"\u00e9/" }'
    posted = f'{{"from":"bob","body":{body}}}'.encode()
    path = f"/v1/rooms/{room}/messages"
    assert call(relay, "POST", path, posted, user="bob").status == 201
    assert alice.expect("message").body_text == body
    assert body.encode() in call(relay, "GET", path, user="bob").body


@pytest.mark.parametrize("size", [129, 9_000])
def test_an_idempotency_key_that_is_too_long_is_refused(relay, room, size):
    answer = call(
        relay, "POST", f"/v1/rooms/{room}/messages", {"from": "bob", "body": 1}, user="bob",
        headers={"Idempotency-Key": "k" * size},
    )
    assert_problem(answer, 422, "bad_request")


@pytest.mark.parametrize("key", ["", "k" * 129, 5])
def test_a_wrong_key_beside_a_right_header_is_refused(relay, room, key):
    body, headers = {"from": "bob", "body": 1, "key": key}, {"Idempotency-Key": "k"}
    answer = call(relay, "POST", f"/v1/rooms/{room}/messages", body, user="bob", headers=headers)
    assert assert_problem(answer, 422, "bad_request")["at"] == "/key"


def test_an_idempotency_key_makes_one_message(relay, alice, room):
    path = f"/v1/rooms/{room}/messages"
    answers = [
        call(relay, "POST", path, {"from": "bob", "body": body}, user="bob", headers={"Idempotency-Key": "k"})
        for body in ("first", "second")
    ]
    assert [answer.status for answer in answers] == [201, 200]
    first, second = (answer.json for answer in answers)
    assert (second["duplicate"], second["seq"], second["time"]) == (True, first["seq"], first["time"])
    alice.expect("message", body="first")
    assert alice.received("message") == []


def test_presence_of_one_user(relay, alice, names):
    (unknown,) = names("nobody")
    entry = call(relay, "GET", f"/v1/users/{alice.user}/presence", user="bob").json
    assert (entry["user"], entry["name"], entry["online"]) == (alice.user, "Alice", True)
    entry = call(relay, "GET", f"/v1/users/{unknown}/presence", user="bob").json
    assert (entry["user"], entry["online"], entry["isFocused"]) == (unknown, False, None)


def test_the_relay_is_live_and_ready(relay):
    for path in ("/live", "/ready"):
        assert call(relay, "GET", path).status == 200


def test_the_relay_serves_its_page_and_no_other_files(relay):
    page = call(relay, "GET", "/")
    assert (page.status, page.headers.get_content_type()) == (200, "text/html")
    assert "default-src 'none'" in page.headers["Content-Security-Policy"]
    for path in ("/../Package.swift", "/%2e%2e/Package.swift", "/..%2fPackage.swift", "//etc/passwd", "/etc/passwd"):
        with Wire(relay) as wire:
            wire.send_bytes(f"GET {path} HTTP/1.1\r\nHost: 127.0.0.1:{relay.port}\r\n\r\n".encode())
            answer = wire.response()
        assert 400 <= answer.status < 500, path


@pytest.mark.parametrize("path", UNKNOWN)
def test_an_unknown_path_is_not_found(relay, path):
    assert_problem(call(relay, "GET", path, user="bob"), 404, "not_found")


@pytest.mark.parametrize("method, path, allowed", WRONG_METHODS)
def test_a_wrong_method_gets_the_allowed_ones(relay, method, path, allowed):
    answer = call(relay, method, path, b"{}", user="bob")
    assert_problem(answer, 405, "unsupported")
    named = {name.strip() for name in answer.headers["Allow"].split(",")}
    assert allowed <= named and method not in named


@pytest.mark.parametrize("body", [b"", b'{"isFocused":true}{}', b'{"device":"\xff","isFocused":true}'], ids=ascii)
def test_a_body_that_is_not_json_is_400(relay, body):
    answer = call(relay, "PUT", "/v1/users/bob/focus", body, user="bob")
    assert_problem(answer, 400, "bad_request")


@pytest.mark.parametrize("body, at", [({"isFocused": "yes"}, "/isFocused"), ({}, "/isFocused"), ([], ""), ("x", "")], ids=str)
def test_a_wrong_body_is_422_with_its_place(relay, body, at):
    """`BadFieldsTests` has all cases."""
    answer = call(relay, "PUT", "/v1/users/bob/focus", body, user="bob")
    assert assert_problem(answer, 422, "bad_request")["at"] == at


@pytest.mark.parametrize("seq, status, code", [(1, 403, "forbidden"), (9, 404, "not_found"), ("x", 422, "bad_request")])
def test_the_error_of_a_rejected_edit_has_its_position(relay, alice, room, seq, status, code):
    alice.send(room, 1)
    answer = call(relay, "PUT", f"/v1/rooms/{room}/messages/{seq}", {"from": "bob", "body": 2})
    assert (answer.status, answer.problem["code"], answer.problem["at"]) == (status, code, "/path/seq")


def test_fields_that_are_not_known_are_ignored(relay, alice, room):
    body = {"isFocused": True, "mode": "work", "later": [{}]}
    assert call(relay, "PUT", "/v1/users/bob/focus", body, user="bob").status == 200
    body = {"from": "bob", "body": 1, "color": {"red": 1}}
    assert call(relay, "POST", f"/v1/rooms/{room}/messages", body, user="bob").status == 201
    assert "color" not in alice.expect("message")


def test_a_key_given_twice_is_422(relay):
    answer = call(relay, "PUT", "/v1/users/bob/focus", b'{"isFocused":true,"isFocused":false}', user="bob")
    assert_problem(answer, 422, "bad_request")


def test_a_room_that_does_not_exist_is_not_found(relay, names):
    (room,) = names("nowhere")
    path = f"/v1/rooms/{room}/messages"
    assert_problem(call(relay, "GET", path, user="bob"), 404, "not_found")
    assert_problem(call(relay, "POST", path, {"from": "bob", "body": 1}, user="bob"), 404, "not_found")


@pytest.mark.parametrize("query", ["limit=301", "limit=-1", "limit=x", "before=x", "before=2&after=1", "after=1.5"])
def test_a_wrong_query_is_a_bad_request(relay, room, query):
    answer = call(relay, "GET", f"/v1/rooms/{room}/messages?{query}", user="bob")
    assert answer.status in (400, 422)
    assert answer.problem["code"] == "bad_request"


@pytest.mark.parametrize(
    "path",
    [
        "/v1/users/a%2Cb/presence",
        f"/v1/users/{'u' * 129}/presence",
        f"/v1/rooms/{'r' * 256}/messages",
        "/v1/rooms/caf%C3%A9/messages",
    ],
)
def test_a_bad_name_in_the_path_is_refused(relay, path):
    assert 400 <= call(relay, "GET", path, user="bob").status < 500


def put_focus(relay, wire, headers, body):
    lines = ["PUT /v1/users/bob/focus HTTP/1.1", f"Host: 127.0.0.1:{relay.port}", "X-Stillwire-User: bob", *headers]
    wire.send_bytes("\r\n".join([*lines, "", ""]).encode() + body)


def test_a_body_may_come_in_chunks(relay):
    with Wire(relay) as wire:
        body = b'12;a=b\r\n{"isFocused":true}\r\n0\r\nX-Trailer: x\r\n\r\n'
        put_focus(relay, wire, ["Transfer-Encoding: chunked"], body)
        assert wire.response().json["isFocused"] is True
        # The connection accepts another request after the last chunk.
        put_focus(relay, wire, ["Content-Length: 18"], b'{"isFocused":true}')
        assert wire.response().status == 200


@pytest.mark.parametrize(
    "headers, status, code",
    [
        (["Transfer-Encoding: gzip, chunked"], 501, "unsupported"),
        (["Transfer-Encoding: chunked", "Content-Length: 18"], 400, "bad_request"),
        (["Transfer-Encoding: chunked", "Transfer-Encoding: chunked"], 400, "bad_request"),
    ],
)
def test_a_body_whose_end_is_uncertain_is_refused(relay, headers, status, code):
    with Wire(relay) as wire:
        put_focus(relay, wire, headers, b'{"isFocused":true}')
        assert_problem(wire.response(), status, code)


def test_a_page_of_history_has_256_kib_of_bodies_at_most(relay, alice, room):
    body = "x" * 60_000
    for _ in range(9):
        alice.send(room, body)
    seqs, after = [], 0
    for expected in (4, 4, 1):
        page = call(relay, "GET", f"/v1/rooms/{room}/messages?after={after}&limit=300").json
        assert [len(message["body"]) for message in page["messages"]] == [60_000] * expected
        assert alice.request("history", room=room, after=after, limit=300)["messages"] == page["messages"]
        seqs += [message["seq"] for message in page["messages"]]
        assert page["more"] is (expected == 4)
        after = seqs[-1]
    assert seqs == list(range(1, 10))


def test_a_request_without_a_body_needs_no_length(relay, names, room):
    (bob,) = names("bob")
    lines = [f"PUT /v1/rooms/{room}/members/{bob} HTTP/1.1", f"Host: 127.0.0.1:{relay.port}"]
    with Wire(relay) as wire:
        wire.send_bytes("\r\n".join([*lines, "", ""]).encode())
        assert wire.response().status in (200, 201, 204)
    members = call(relay, "GET", f"/v1/rooms/{room}/members").json["members"]
    assert bob in [member["user"] for member in members]


def test_a_body_that_is_required_and_absent_is_a_bad_request(relay):
    lines = ["PUT /v1/users/bob/focus HTTP/1.1", f"Host: 127.0.0.1:{relay.port}", "X-Stillwire-User: bob"]
    with Wire(relay) as wire:
        wire.send_bytes("\r\n".join([*lines, "", ""]).encode())
        assert_problem(wire.response(), 400, "bad_request")


SMUGGLED = [
    "GET /v1/rooms/ROOM/messages%0AHost:localhost:1 HTTP/1.1\r\nHost: evil.example",
    "GET /v1/rooms/ROOM/messages%0D%0AHost:localhost:1 HTTP/1.1\r\nHost: evil.example",
    "GET /v1/rooms/ROOM/messages%20HTTP/1.1%0AHost:localhost:1 HTTP/1.1\r\nHost: evil.example",
    "GET /v1/rooms/ROOM/messages?limit=1%0AHost:localhost:1 HTTP/1.1\r\nHost: evil.example",
    "GET /v1/rooms/ROOM/messages HTTP/1.1\r\nHost: localhost\r\nHost: evil.example",
    "GET /v1/rooms/ROOM/messages HTTP/1.1\r\nHost: localhost:abc",
    "GET /v1/rooms/ROOM/messages HTTP/1.1\r\nHost: localhost:1:80",
    "GET /v1/rooms/ROOM/messages HTTP/1.1",
    "GET /v1/rooms/ROOM/messages%09 HTTP/1.1\r\nHost: localhost",
    "GET /v1/rooms/ROOM/messages%0D HTTP/1.1\r\nHost: localhost",
]


@pytest.mark.parametrize("head", SMUGGLED)
def test_a_head_that_can_be_read_in_two_ways_shows_no_history(relay, room, head):
    for upgrade in ("", "\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Version: 13"):
        with Wire(relay) as wire:
            wire.send_bytes(f"{head.replace('ROOM', room)}{upgrade}\r\n\r\n".encode())
            assert_problem(wire.response(), 400, "bad_request")


@pytest.mark.parametrize("target", ["/v1/rooms/a%00b/messages", "/%", "/%zz", "x", "http://elsewhere.example/", "*"])
def test_a_broken_target_is_refused(relay, target):
    with Wire(relay) as wire:
        wire.send_bytes(f"GET {target} HTTP/1.1\r\nHost: 127.0.0.1:{relay.port}\r\n\r\n".encode())
        assert_turned_away(wire)
    assert call(relay, "GET", "/live").status == 200


@pytest.mark.parametrize("length", ["-1", "x", "18x", "+18", "99999999999999999999", "0x12"])
def test_a_length_that_is_no_number_is_refused(relay, length):
    lines = ["PUT /v1/users/bob/focus HTTP/1.1", f"Host: 127.0.0.1:{relay.port}", f"Content-Length: {length}"]
    with Wire(relay) as wire:
        wire.send_bytes("\r\n".join([*lines, "X-Stillwire-User: bob", "", '{"isFocused":true}']).encode())
        assert_turned_away(wire)
    assert call(relay, "GET", "/live").status == 200


def test_a_body_over_the_limit_is_too_large(relay, room):
    body = {"from": "bob", "body": "x" * 200_000}
    assert_problem(call(relay, "POST", f"/v1/rooms/{room}/messages", body, user="bob"), 413, "too_large")


def test_connect_without_an_upgrade_is_refused(relay):
    assert 400 <= call(relay, "GET", "/v1/connect").status < 500


def test_a_path_may_contain_any_name(relay, connect, names):
    alice, room = names("alice-_.:@!|+=~", "room-_.:@!|+=~")
    connect(alice).join(room)

    def coded(name):
        return "".join(f"%{ord(letter):02x}" for letter in name)

    for spell in (str, coded):
        assert call(relay, "GET", f"/v1/rooms/{spell(room)}/messages").json["messages"] == []
        member = call(relay, "PUT", f"/v1/rooms/{spell(room)}/members/{spell(alice)}", b"").json
        assert (member["room"], member["user"], member["memberCount"]) == (room, alice, 1)


def test_a_member_is_removed_by_others_or_leaves(relay, connect, names):
    alice, bob, room = names("alice", "bob", "room")
    session, other = connect(alice), connect(bob)
    session.join(room)
    for headers, event in (({}, "removed"), ({"X-Stillwire-User": bob}, "left")):
        other.join(room)
        assert call(relay, "DELETE", f"/v1/rooms/{room}/members/{bob}", headers=headers).status == 204
        session.expect("member", user=bob, event=event)
        other.expect("member", user=bob, event=event)


@pytest.mark.parametrize("query", ["&limit=1", "after=0&&limit=1", "limit=1&"])
def test_an_empty_argument_does_not_hide_later_arguments(relay, connect, names, query):
    alice, room = names("alice", "room")
    session = connect(alice)
    session.join(room)
    for number in range(3):
        session.send(room, number)
    assert len(call(relay, "GET", f"/v1/rooms/{room}/messages?{query}").json["messages"]) == 1
