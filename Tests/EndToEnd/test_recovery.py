# SPDX-License-Identifier: Apache-2.0
"""History and recovery after a reconnect: pages, complete and incomplete recovery, and restarts of the relay."""

import pytest

from api import call, history
from wire import Wire

RELAY_OPTIONS = ("--limits-send-rate", "0")


@pytest.fixture
def talk(connect, names):
    """Returns a session in a room with this number of messages. Their bodies are 1, 2, 3 …"""

    def talk(count: int, body=lambda number: number):
        user, room = names("alice", "room")
        alice = connect(user)
        joined = alice.join(room)
        for id in [alice.begin("send", room=room, body=body(number)) for number in range(1, count + 1)]:
            alice.reply(id)
        return alice, room, joined["epoch"]

    return talk


def seqs(reply):
    return [message["seq"] for message in reply["messages"]]


def changed(reply):
    """Returns the changes in a reply to `join`, as pairs of seq and new body."""
    return [(change["seq"], change.get("body", "deleted")) for change in reply.get("changes", [])]


def test_changes_that_a_client_missed_are_in_the_reply(connect, names, relay, talk):
    alice, room, epoch = talk(4)
    (bob,) = names("bob")
    away = connect(bob)
    away.join(room, after={"epoch": epoch, "seq": 0})
    away.close()
    alice.request("edit", room=room, seq=2, body="new")
    alice.request("edit", room=room, seq=2, body="newer")
    alice.request("delete", room=room, seq=3)
    alice.send(room, 5)
    back = connect(bob)
    reply = back.join(room, after={"epoch": epoch, "seq": 4})
    # The connection may end after the reply, because the position in the reply covers the changes.
    back.drop()
    assert (reply["recovered"], seqs(reply), reply["seq"]) == (True, [5], 5)
    assert changed(reply) == [(2, "newer"), (3, "deleted")]
    assert [(change["type"], change["room"]) for change in reply["changes"]] == [("edited", room), ("deleted", room)]
    # A client that has the newest message has received all changes before it.
    again = connect(bob)
    reply = again.join(room, after={"epoch": epoch, "seq": 5})
    assert reply["recovered"] and "changes" not in reply


def test_changes_that_a_client_missed_outlive_the_relay(start, connect):
    relay = start()
    alice = connect(relay, "alice")
    epoch = alice.join("room")["epoch"]
    alice.send("room", 1)
    alice.request("edit", room="room", seq=1, body="new")
    relay.kill()
    relay.start()
    bob = connect(relay, "alice")
    reply = bob.join("room", after={"epoch": epoch, "seq": 1})
    assert (reply["recovered"], changed(reply)) == (True, [(1, "new")])


def test_a_client_gets_each_change_once(connect, names, relay, talk):
    alice, room, epoch = talk(4)
    assert alice.request("edit", room=room, seq=2, body="new")["change"] == 1
    bob = connect(*names("bob"))
    joined = bob.join(room)
    assert joined["change"] == 1
    assert alice.request("delete", room=room, seq=3)["change"] == 2
    assert bob.expect("deleted")["change"] == 2
    # A deletion that changes nothing takes no number.
    assert "change" not in alice.request("delete", room=room, seq=3)
    again = alice.request("edit", room=room, seq=2, body="newer")
    assert (again["room"], again["change"]) == (room, 3)
    bob.expect("edited")
    edited = call(relay, "PUT", f"/v1/rooms/{room}/messages/4", {"body": 44}, user=alice.user)
    assert edited.json["change"] == 4
    for after, expected in ((1, [(3, 2), (2, 3), (4, 4)]), (2, [(2, 3), (4, 4)]), (3, [(4, 4)]), (4, [])):
        reply = bob.join(room, after={"epoch": epoch, "seq": 4}, afterChange=after)
        assert (reply["recovered"], reply["change"]) == (True, 4)
        assert [(change["seq"], change["change"]) for change in reply.get("changes", [])] == expected
    # The client gets a message that it does not have in its newest state.
    reply = bob.join(room, after={"epoch": epoch, "seq": 3}, afterChange=1)
    assert [change["seq"] for change in reply["changes"]] == [3, 2]
    assert [message["body"] for message in reply["messages"]] == [44]


def test_the_history_says_when_a_message_was_edited(talk):
    alice, room, _ = talk(3)
    alice.request("edit", room=room, seq=2, body="new")
    alice.request("edit", room=room, seq=3, body="new")
    alice.request("delete", room=room, seq=3)
    never, edited, deleted = alice.request("history", room=room)["messages"]
    assert "editedAt" not in never and "editedAt" not in deleted
    assert edited["editedAt"] >= edited["time"]


def test_changes_outlive_the_relay(start, connect):
    relay = start()
    alice = connect(relay, "alice")
    epoch = alice.join("room")["epoch"]
    for number in range(2):
        alice.send("room", number)
    alice.request("edit", room="room", seq=1, body="new")
    relay.kill()
    relay.start()
    alice = connect(relay, "alice")
    reply = alice.join("room", after={"epoch": epoch, "seq": 2}, afterChange=0)
    assert (reply["recovered"], reply["change"], changed(reply)) == (True, 1, [(1, "new")])
    assert alice.request("edit", room="room", seq=2, body="new")["change"] == 2
    reply = alice.join("room", after={"epoch": epoch, "seq": 2}, afterChange=1)
    assert (reply["recovered"], changed(reply)) == (True, [(2, "new")])


@pytest.mark.parametrize("after, recovered", [(0, False), (1, True)])
def test_the_changes_of_messages_that_left_the_history_are_not_silently_lost(
    start, connect, after, recovered
):
    """The client may still show the old text of such a message, so it must load the history again."""
    relay = start(configuration={"rooms": [{"match": "*", "history": {"count": 3}}]})
    alice = connect(relay, "alice")
    epoch = alice.join("room")["epoch"]
    alice.send("room", "secret")
    alice.request("delete", room="room", seq=1)
    for number in range(3):
        alice.send("room", number)
    reply = alice.join("room", after={"epoch": epoch, "seq": 4}, afterChange=after, history=3)
    assert (reply["recovered"], reply["change"]) == (recovered, 1)
    assert seqs(reply) == ([] if recovered else [2, 3, 4])


def test_a_change_of_the_future_is_not_recovered(talk):
    alice, room, epoch = talk(1)
    reply = alice.join(room, after={"epoch": epoch, "seq": 1}, afterChange=1)
    assert (reply["recovered"], reply["change"]) == (False, 0)


@pytest.mark.parametrize("number", [-1, "1", 1.5, True, [], {}])
def test_a_wrong_number_of_a_change_is_refused(talk, number):
    alice, room, epoch = talk(1)
    after = {"epoch": epoch, "seq": 1}
    assert alice.refusal("join", room=room, after=after, afterChange=number)["code"] == "bad_request"


def test_the_number_of_a_change_needs_a_position(talk):
    alice, room, _ = talk(1)
    assert alice.refusal("join", room=room, afterChange=0)["code"] == "bad_request"


def test_more_changes_than_a_reply_may_contain_are_not_recovered(start, connect):
    relay = start("--limits-history", 3, "--limits-send-rate", 0)
    alice = connect(relay, "alice")
    epoch = alice.join("room")["epoch"]
    for number in range(5):
        alice.send("room", number)
    for seq in range(1, 5):
        alice.request("edit", room="room", seq=seq, body="new")
    reply = connect(relay, "alice").join("room", after={"epoch": epoch, "seq": 5}, history=3)
    assert (reply["recovered"], seqs(reply)) == (False, [3, 4, 5])


@pytest.mark.parametrize("excess", [0, 1])
def test_changes_of_128_kibibytes_are_recovered_and_one_byte_more_is_not(talk, excess):
    alice, room, epoch = talk(3)
    for seq, size in enumerate((60_000, 60_000, (128 << 10) - 120_000 + excess), start=1):
        alice.request("edit", room=room, seq=seq, body="x" * (size - len('""')))
    reply = alice.join(room, after={"epoch": epoch, "seq": 3})
    assert (reply["recovered"], len(changed(reply))) == ((True, 3) if not excess else (False, 0))


@pytest.mark.parametrize("excess", [0, 1])
def test_changes_are_no_larger_than_the_outgoing_queue(start, connect, excess):
    relay = start("--limits-outgoing-queue", 8_192)
    alice = connect(relay, "alice")
    epoch = alice.join("room")["epoch"]
    alice.send("room", 1)
    alice.request("edit", room="room", seq=1, body="x" * (8_192 - len('""') + excess))
    reply = alice.join("room", after={"epoch": epoch, "seq": 1})
    assert (reply["recovered"], len(changed(reply))) == ((True, 1) if not excess else (False, 0))


def test_history_pages_backward_from_the_newest(talk):
    alice, room, epoch = talk(7)
    newest = alice.request("history", room=room, limit=3)
    assert (newest["epoch"], newest["first"], seqs(newest), newest["more"]) == (epoch, 1, [5, 6, 7], True)
    older = alice.request("history", room=room, limit=3, before=5)
    assert (seqs(older), older["more"]) == ([2, 3, 4], True)
    oldest = alice.request("history", room=room, limit=3, before=2)
    assert (seqs(oldest), oldest["more"]) == ([1], False)
    message = newest["messages"][-1]
    assert (message["from"], message["body"]) == (alice.user, 7) and "time" in message


def test_history_pages_forward(talk):
    alice, room, _ = talk(5)
    pages = [alice.request("history", room=room, limit=2, after=after) for after in (0, 2, 4, 5)]
    assert [(seqs(page), page["more"]) for page in pages] == [
        ([1, 2], True),
        ([3, 4], True),
        ([5], False),
        ([], False),
    ]


def test_history_has_fifty_messages_by_default(talk):
    alice, room, _ = talk(60)
    assert seqs(alice.request("history", room=room)) == list(range(11, 61))


def test_history_of_an_empty_room_is_empty(talk):
    alice, room, epoch = talk(0)
    page = alice.request("history", room=room)
    assert (page["epoch"], page["messages"], page["more"]) == (epoch, [], False)


def test_join_returns_the_requested_number_of_messages(talk):
    alice, room, _ = talk(4)
    assert seqs(alice.join(room)) == []
    assert seqs(alice.join(room, history=3)) == [2, 3, 4]
    assert seqs(alice.join(room, history=300)) == [1, 2, 3, 4]


@pytest.mark.parametrize("seen", [0, 1, 3, 4])
def test_a_join_returns_all_missed_messages(talk, seen):
    alice, room, epoch = talk(4)
    joined = alice.join(room, after={"epoch": epoch, "seq": seen}, history=1)
    assert joined["recovered"] is True
    assert seqs(joined) == list(range(seen + 1, 5))
    assert joined["seq"] == 4


@pytest.mark.parametrize("other_epoch, seen", [(True, 2), (False, 5), (False, 2**53 - 1)])
def test_join_reports_that_messages_are_missing(talk, other_epoch, seen):
    alice, room, epoch = talk(4)
    joined = alice.join(room, after={"epoch": "elsewhere" if other_epoch else epoch, "seq": seen}, history=2)
    assert joined["recovered"] is False
    assert (joined["epoch"], seqs(joined)) == (epoch, [3, 4])


def test_a_gap_of_three_hundred_messages_is_recovered_and_one_more_is_not(talk):
    alice, room, epoch = talk(301)
    assert seqs(alice.join(room, after={"epoch": epoch, "seq": 1})) == list(range(2, 302))
    joined = alice.join(room, after={"epoch": epoch, "seq": 0})
    assert (joined["recovered"], joined["messages"], joined["epoch"]) == (False, [], epoch)


def test_a_gap_over_512_kibibytes_is_not_recovered(talk):
    alice, room, epoch = talk(10, lambda number: f"{number}" + "x" * 60_000)
    assert alice.join(room, after={"epoch": epoch, "seq": 2})["recovered"] is True
    joined = alice.join(room, after={"epoch": epoch, "seq": 0})
    assert (joined["recovered"], joined["messages"]) == (False, [])


@pytest.mark.parametrize("excess", [0, 1])
def test_a_gap_of_512_kibibytes_is_recovered_and_one_byte_more_is_not(talk, excess):
    sizes = [60_000] * 8 + [(512 << 10) - 8 * 60_000 + excess]
    alice, room, epoch = talk(9, lambda number: "x" * (sizes[number - 1] - len('""')))
    joined = alice.join(room, after={"epoch": epoch, "seq": 0})
    assert (joined["recovered"], len(joined["messages"])) == ((True, 9) if not excess else (False, 0))


def test_messages_since_the_first_join_of_an_empty_room_are_recovered(talk, connect, names):
    alice, room, epoch = talk(0)
    assert alice.join(room)["seq"] == 0
    (user,) = names("bob")
    bob = connect(user)
    bob.join(room)
    for number in (1, 2):
        bob.send(room, number)
    joined = alice.join(room, after={"epoch": epoch, "seq": 0})
    assert (joined["recovered"], seqs(joined)) == (True, [1, 2])


def test_nothing_is_lost_or_doubled_between_the_reply_to_join_and_the_events(talk, connect, names):
    alice, room, epoch = talk(0)
    for number in range(1, 201):
        alice.post("send", room=room, body=number)
    (user,) = names("bob")
    bob = connect(user)
    joined = bob.join(room, after={"epoch": epoch, "seq": 0})
    seen = seqs(joined)
    while not seen or seen[-1] < 200:
        seen.append(bob.expect("message")["seq"])
    assert joined["recovered"] is True
    assert seen == list(range(1, 201))


def test_the_reply_to_join_precedes_every_event_of_the_room(talk, names, relay):
    alice, room, _ = talk(0)
    (user,) = names("bob")
    with Wire(relay) as bob:
        bob.open(user)
        for number in range(100):
            alice.post("send", room=room, body=number)
        bob.send_request("join", id="join", room=room)
        first = bob.text()
        assert first.get("id") == "join", first


def test_history_over_http_is_the_same(talk, relay):
    alice, room, epoch = talk(5)
    answer = call(relay, "GET", f"/v1/rooms/{room}/messages?before=5&limit=2", user=alice.user)
    assert answer.status == 200
    over_socket = alice.request("history", room=room, before=5, limit=2)
    assert (answer.json["epoch"], answer.json["first"], answer.json["more"]) == (epoch, 1, True)
    assert answer.json["messages"] == over_socket["messages"]


def test_a_restart_keeps_rooms_members_messages_and_keys(start, connect):
    relay = start()
    alice, bob = connect(relay, "alice"), connect(relay, "bob", name="Bob")
    epoch = alice.join("room")["epoch"]
    bob.join("room")
    sent = alice.send("room", {"n": 1}, key="k")
    bob.request("read", room="room", seq=1)
    bob.close(1000)
    assert relay.stop() == 0
    relay.start()
    alice = connect(relay, "alice")
    joined = alice.join("room", after={"epoch": epoch, "seq": 0})
    assert (joined["recovered"], joined["epoch"], joined["memberCount"], joined["onlineCount"]) == (True, epoch, 2, 1)
    assert [message["body"] for message in joined["messages"]] == [{"n": 1}]
    again = alice.send("room", "other", key="k")
    assert (again["duplicate"], again["seq"], again["time"]) == (True, 1, sent["time"])
    assert alice.send("room", "next")["seq"] == 2
    assert [message["seq"] for message in history(relay, "room", "alice")] == [1, 2]
    bob = connect(relay, "bob")
    assert bob.join("room")["read"] == 1


def test_a_live_room_has_another_epoch_after_a_restart(start, connect):
    relay = start()
    alice = connect(relay, "alice")
    epoch = alice.join("live.stage")["epoch"]
    alice.send("live.stage", 1)
    assert relay.stop() == 0
    relay.start()
    joined = connect(relay, "alice").join("live.stage", after={"epoch": epoch, "seq": 1})
    assert (joined["recovered"], joined["seq"]) == (False, 0)
    assert joined["epoch"] != epoch
