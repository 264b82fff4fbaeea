# SPDX-License-Identifier: Apache-2.0
"""A read mark that the relay has acknowledged: it counts at once, and survives a crash."""

from api import call


def unread(relay, user, room):
    rooms = call(relay, "GET", f"/v1/users/{user}/rooms").json["rooms"]
    return next(entry["unread"] for entry in rooms if entry["room"] == room)


def test_an_answered_read_counts_in_the_next_list_and_the_next_badge(gather, names):
    circle = gather("--presence-grace", "0")
    bob = circle.away("bob")
    (other,) = names("room")
    for user in (circle.alice.user, bob.user):
        assert call(circle.relay, "PUT", f"/v1/rooms/{other}/members/{user}").status < 300
    for turn in range(1, 6):
        seq = circle.send("text")["seq"]
        assert unread(circle.relay, bob.user, circle.room) == 1
        body = {"user": bob.user, "seq": seq}
        assert call(circle.relay, "PUT", f"/v1/rooms/{circle.room}/read", body).json["read"] == seq
        assert unread(circle.relay, bob.user, circle.room) == 0
        call(circle.relay, "POST", f"/v1/rooms/{other}/messages", {"from": circle.alice.user, "body": {"text": f"{turn}"}})
        bob.phone.ring(f"{turn}")
        assert call(circle.relay, "GET", f"/v1/simulator/devices/{bob.user}-phone").json["badge"] == turn


def test_a_read_without_a_reply_counts_in_the_next_list(gather):
    circle = gather()
    bob = circle.live("bob")
    for _ in range(3):
        seq = circle.send("text")["seq"]
        assert unread(circle.relay, bob.user, circle.room) == 1
        bob.session.post("read", room=circle.room, seq=seq)
        rooms = bob.session.request("rooms")["rooms"]
        assert [entry["unread"] for entry in rooms if entry["room"] == circle.room] == [0]


def test_an_answered_read_survives_a_crash(connect, gather):
    circle = gather()
    bob = circle.away("bob")
    for _ in range(3):
        seq = circle.send("text")["seq"]
        body = {"user": bob.user, "seq": seq}
        assert call(circle.relay, "PUT", f"/v1/rooms/{circle.room}/read", body).status == 200
        circle.relay.kill()
        circle.relay.start()
        assert unread(circle.relay, bob.user, circle.room) == 0
        circle.alice = connect(circle.relay, circle.alice.user)
        circle.alice.join(circle.room)


def test_an_answered_read_of_a_session_survives_a_crash(connect, gather):
    circle = gather()
    for _ in range(3):
        bob = circle.live("bob")
        seq = [circle.send("text")["seq"] for _ in range(3)][-1]
        bob.session.request("read", room=circle.room, seq=seq - 1)
        assert unread(circle.relay, bob.user, circle.room) == 1
        bob.session.request("read", room=circle.room, seq=seq)
        circle.relay.kill()
        circle.relay.start()
        assert unread(circle.relay, bob.user, circle.room) == 0
        circle.alice = connect(circle.relay, circle.alice.user)
        circle.alice.join(circle.room)


def test_the_requests_after_a_read_are_answered_in_their_order(gather):
    circle = gather()
    bob = circle.live("bob").session
    seq = circle.send("text")["seq"]
    bob.expect("message", body="text")
    ids = [
        bob.begin("read", room=circle.room, seq=seq),
        bob.begin("send", room=circle.room, body="answer"),
        bob.begin("read", room=circle.room, seq=seq),
        bob.begin("ping"),
    ]
    replies = []
    while len(replies) < len(ids):
        frame = bob.next_frame()
        if "id" in frame:
            replies.append(frame["id"])
    assert replies == ids
