# SPDX-License-Identifier: Apache-2.0
"""The stream of presence and Focus changes for backends, as server-sent events."""

import socket

import pytest

from api import call
from relay import api_key
from streams import PRESENCE as PATH
from streams import follow
from waiting import eventually

PATH = "/v1/presence/events"


def focus(relay, user, is_focused):
    assert call(relay, "PUT", f"/v1/users/{user}/focus", {"device": "phone", "isFocused": is_focused}).status == 200


def test_a_backend_follows_all_users_without_a_session(relay, connect, names):
    ann, bob = names("ann", "bob")
    with follow(relay) as stream:
        assert stream.next() == ("reset", {"reason": "new"})
        session = connect(ann, name="Ann")
        (entry,) = stream.changes(lambda entry: entry["user"] == ann)[-1:]
        assert (entry["online"], entry["name"]) == (True, "Ann")
        # A user who shares the Focus with nobody, and is not connected.
        assert call(relay, "PUT", f"/v1/users/{bob}/preferences", {"shareFocus": "none"}).status == 200
        focus(relay, bob, True)
        entry = stream.changes(lambda entry: entry["user"] == bob)[-1]
        assert (entry["online"], entry["isFocused"]) == (False, True)
        assert entry == call(relay, "GET", f"/v1/users/{bob}/presence").json
        session.close(1000)
        assert stream.changes(lambda entry: entry["user"] == ann)[-1]["online"] is False


def test_a_backend_continues_after_its_last_event(relay, names):
    ann, bob, carol = names("ann", "bob", "carol")
    with follow(relay) as stream:
        stream.next()
        focus(relay, ann, True)
        stream.changes(lambda entry: entry["user"] == ann)
        position = stream.id
    for user in (bob, carol, bob):
        focus(relay, user, True)
    focus(relay, bob, None)
    with follow(relay, after=position) as stream:
        assert stream.next() == ("resumed", {})
        assert stream.id == position
        focus(relay, ann, None)
        stream.reaches({ann: None, bob: None, carol: True})


def test_a_read_of_stored_users_is_no_change(start):
    relay = start()
    focus(relay, "ann", True)
    assert relay.stop() == 0
    relay.start()
    with follow(relay) as stream:
        stream.next()
        assert call(relay, "POST", "/v1/presence", {"users": ["ann"]}).json["presence"][0]["isFocused"] is True
        focus(relay, "bob", True)
        assert [entry["user"] for entry in stream.changes(lambda entry: True)] == ["bob"]


def test_a_stream_has_only_the_users_of_its_list(relay, names):
    ann, bob, carol = names("ann", "bob", "carol")
    with follow(relay, f"?users={ann},{bob[:-1]}*") as stream:
        stream.next()
        for user in (carol, bob, ann):
            focus(relay, user, True)
        assert [entry["user"] for entry in stream.changes(lambda entry: entry["user"] == ann)] == [bob, ann]
    for query in ("?users=", "?users=a%20b", "?users=" + ",".join(["ann"] * 101)):
        assert call(relay, "GET", PATH + query).problem["at"] == "/query/users"


def test_a_position_of_another_run_resets_the_stream(start):
    relay = start()
    with follow(relay) as stream:
        stream.next()
        position = stream.id
    assert relay.stop() == 0
    relay.start()
    for former in (position, "x", "x.1"):
        with follow(relay, after=former) as stream:
            assert stream.next() == ("reset", {"reason": "restarted"})


def test_a_drain_ends_the_stream_with_a_reason(start):
    relay = start()
    with follow(relay) as stream:
        stream.next()
        relay.stop()
        assert stream.next() == ("end", {"reason": "shutdown"})
        with pytest.raises(EOFError):
            stream.next()


@pytest.fixture
def keys(tmp_path):
    """The file of API keys, and two keys."""
    file = tmp_path / "keys"
    return file, [api_key(file, name) for name in ("shop", "mail")]


def test_the_bound_of_streams_counts_for_each_key(start, secret, keys):
    file, (shop, mail) = keys
    relay = start("--api-keys-file", file, secret=secret, STILLWIRE_CONNECTIONS_STREAMS_PER_KEY="2")
    token = relay.token("ann")
    assert call(relay, "GET", PATH, token=token).status == 403
    assert call(relay, "GET", PATH).status == 401
    with follow(relay, key=shop), follow(relay, key=mail), follow(relay, key=mail):
        with follow(relay, key=shop):
            answer = call(relay, "GET", PATH, token=shop)
            assert (answer.status, answer.problem["code"]) == (429, "rate_limited")
            assert "connections.streamsPerKey" in answer.problem["detail"]
            # A stream of a simulated phone counts, too.
            assert call(relay, "GET", "/v1/simulator/devices/x/events", token=mail).status == 429
        eventually(lambda: can_follow(relay, shop))


def can_follow(relay, key):
    try:
        with follow(relay, key=key):
            return True
    except AssertionError:
        return False


def test_a_client_that_does_not_read_delays_no_other_client(start):
    relay = start(STILLWIRE_LIMITS_FOCUS_RATE="0")
    with follow(relay) as stream, socket.create_connection(("127.0.0.1", relay.port)) as slow:
        stream.next()
        slow.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        slow.sendall(f"GET {PATH} HTTP/1.1\r\nHost: localhost\r\n\r\n".encode())
        users = [f"user{index}" for index in range(50)]
        for is_focused in [True, None] * 3 + [True]:
            for user in users:
                focus(relay, user, is_focused)
        stream.reaches(dict.fromkeys(users, True))


def test_a_head_request_opens_no_stream(relay):
    answer = call(relay, "HEAD", PATH)
    assert (answer.status, answer.headers["content-type"]) == (200, "text/event-stream")
