# SPDX-License-Identifier: Apache-2.0
"""The reply to `join` in pages, for slow lines."""

import pytest
from test_recovery import seqs, talk  # noqa: F401

RELAY_OPTIONS = ("--limits-send-rate", "0")

PAGE = 16_384
#: The members of a frame beside its messages.
REST = 512


def size(frame):
    return len(frame.text.encode())


def catch_up(session, room, max_bytes, **fields):
    """Joins until the reply has no `more`. Returns all frames with messages."""
    frames = []
    while True:
        reply = session.join(room, maxBytes=max_bytes, **fields)
        frames += [*session.received("page"), reply]
        session.forget_events()
        if "more" not in reply:
            return frames
        fields["after"] = {"epoch": reply["epoch"], "seq": reply["seq"]}
        fields["afterChange"] = reply["change"]


def shown(frames):
    return [seq for frame in frames for seq in seqs(frame)]


@pytest.mark.parametrize("max_bytes", [PAGE, 4 * PAGE, 16 * PAGE])
def test_a_client_gets_all_messages_in_small_frames(connect, names, talk, max_bytes):  # noqa: F811
    _, room, epoch = talk(90, body=lambda number: "x" * 1000)
    bob = connect(*names("bob"))
    frames = catch_up(bob, room, max_bytes, after={"epoch": epoch, "seq": 0})
    assert shown(frames) == list(range(1, 91))
    assert all(size(frame) <= PAGE + REST for frame in frames)
    assert all(frame["recovered"] for frame in frames)
    assert len(frames) >= 90 * 1000 / PAGE
    assert all(frame["seq"] == seqs(frame)[-1] for frame in frames if seqs(frame))
    replies = [frame for frame in frames if frame["type"] == "ok"]
    # A quarter of each frame may be free.
    assert len(replies) <= 90 * 1100 / (max_bytes * 0.75) + 2
    assert [("members" in reply, "marks" in reply) for reply in replies[:-1]] == [(False, False)] * (len(replies) - 1)
    assert "members" in replies[-1]


def test_a_large_message_has_a_frame_of_its_own(connect, names, talk):  # noqa: F811
    _, room, epoch = talk(3, body=lambda number: "x" * (40_000 if number == 2 else 10))
    bob = connect(*names("bob"))
    frames = catch_up(bob, room, PAGE, after={"epoch": epoch, "seq": 0})
    assert [seqs(frame) for frame in frames] == [[1], [2], [3]]


def test_the_newest_messages_of_a_first_join_come_in_pages(connect, names, talk):  # noqa: F811
    _, room, _ = talk(60, body=lambda number: "x" * 1000)
    bob = connect(*names("bob"))
    frames = catch_up(bob, room, 2 * PAGE, history=40)
    assert shown(frames) == list(range(21, 61))
    assert "recovered" not in frames[0]
    assert frames[-1]["recovered"] is True


def test_a_client_that_missed_too_much_gets_the_newest_messages_in_pages(connect, names, talk):  # noqa: F811
    _, room, epoch = talk(340, body=lambda number: "x" * 300)
    bob = connect(*names("bob"))
    frames = catch_up(bob, room, 2 * PAGE, after={"epoch": epoch, "seq": 3}, history=100)
    assert shown(frames) == list(range(241, 341))
    assert [frame["recovered"] for frame in frames[:2]] == [False, False]
    assert frames[-1]["recovered"] is True


def test_events_of_the_room_follow_the_last_page(connect, names, talk):  # noqa: F811
    alice, room, epoch = talk(30, body=lambda number: "x" * 1000)
    bob = connect(*names("bob"))
    reply = bob.join(room, after={"epoch": epoch, "seq": 0}, maxBytes=PAGE)
    assert reply["more"] is True
    seq = alice.send(room, "later")["seq"]
    alice.request("edit", room=room, seq=1, body="new")
    bob.request("ping")
    assert not bob.received("message") and not bob.received("edited")
    assert bob.refusal("send", room=room, body=1)["code"] == "not_joined"
    frames = catch_up(bob, room, PAGE, after={"epoch": epoch, "seq": reply["seq"]}, afterChange=reply["change"])
    assert shown(frames)[-1] == seq
    # The change of a message of the first page is in the next reply.
    changes = [change["seq"] for frame in frames for change in frame.get("changes", [])]
    assert changes == [1]
    seq = alice.send(room, "now")["seq"]
    assert bob.expect("message", seq=seq)["body"] == "now"


def test_a_session_that_had_joined_before_stays_joined_between_two_pages(connect, names, talk):  # noqa: F811
    alice, room, epoch = talk(30, body=lambda number: "x" * 1000)
    bob = connect(*names("bob"))
    bob.join(room)
    reply = bob.join(room, after={"epoch": epoch, "seq": 0}, maxBytes=PAGE)
    assert reply["more"] is True
    seq = alice.send(room, "later")["seq"]
    assert bob.expect("message", seq=seq)["body"] == "later"
    assert bob.send(room, "mine")["seq"] == seq + 1


def test_the_size_of_a_page_is_bounded(connect, names):
    user, room = names("alice", "room")
    alice = connect(user)
    for wrong in (PAGE - 1, 16 * PAGE + 1):
        error = alice.refusal("join", room=room, maxBytes=wrong)
        assert (error["code"], "maxBytes" in error["message"]) == ("bad_request", True)


def test_without_an_id_a_join_needs_no_further_request(connect, names, talk):  # noqa: F811
    alice, room, epoch = talk(30, body=lambda number: "x" * 1000)
    bob = connect(*names("bob"))
    bob.post("join", room=room, after={"epoch": epoch, "seq": 0}, maxBytes=PAGE)
    bob.request("ping")
    seq = alice.send(room, "now")["seq"]
    assert bob.expect("message", seq=seq)
