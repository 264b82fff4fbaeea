# SPDX-License-Identifier: Apache-2.0
"""`delivery` in the reply to `send`: the number of recipients by state, and the silenced ones.

`FocusLedgerTests` proves the state of a Focus, and `RecipientTests` the labels that a filter refuses.
"""

import pytest

from people import HOUR, now, without_ids
from waiting import eventually

#: The grace of a member who was cut off is longer than any test.
RELAY_OPTIONS = ("--presence-grace", "3600")


def quiet(circle, body="hi", **fields):
    return circle.send(body, **fields)["delivery"]["quiet"]


def counts(circle):
    delivery = circle.send("hi")["delivery"]
    return delivery["live"], delivery["push"], delivery["waiting"]


# Silenced members


def test_a_silenced_member_is_named_and_pushed_to_as_usual(circle):
    silenced, other = circle.away("bob"), circle.away("carol")
    silenced.focus(True)
    assert circle.send("hi")["delivery"] == {"live": 0, "push": 2, "waiting": 0, "quiet": [silenced.user]}
    pushed = [without_ids(person.phone.ring("hi")) for person in (silenced, other)]
    assert pushed[0] == pushed[1]
    assert pushed[0]["payload"]["aps"]["interruption-level"] == "active"


REPORTS = {
    "yes": ({"isFocused": True}, True),
    "no": ({"isFocused": False}, False),
    "of a device without pushes": ({"isFocused": True, "device": "mac"}, True),
    "stale": ({"isFocused": True, "at": now() - 12 * HOUR}, False),
}


@pytest.mark.parametrize("report, is_quiet", REPORTS.values(), ids=REPORTS)
def test_only_a_fresh_focus_is_quiet(circle, report, is_quiet):
    bob = circle.away("bob")
    bob.put("focus", {"device": "phone"} | report)
    assert quiet(circle) == ([bob.user] if is_quiet else [])


def test_an_online_member_may_be_quiet(circle):
    bob = circle.live("bob")
    bob.focus(True)
    assert circle.send("hi")["delivery"] == {"live": 1, "push": 0, "waiting": 0, "quiet": [bob.user]}


def test_the_sender_is_not_among_the_quiet(circle):
    circle.alice.request("focus", isFocused=True)
    bob = circle.away("bob")
    bob.focus(True)
    assert quiet(circle) == [bob.user]


def test_every_silenced_member_is_named_once(circle):
    bob, carol = circle.away("bob"), circle.away("carol")
    bob.register("tablet")
    for device in ("phone", "tablet", "mac"):
        bob.focus(True, device=device)
    bob.filter()
    carol.filter()
    carol.register(criteria="work")
    assert sorted(quiet(circle)) == sorted([bob.user, carol.user])


def test_a_focus_counts_until_its_end_has_settled(circle):
    bob = circle.away("bob")
    bob.focus(True)
    bob.focus(False)
    assert quiet(circle) == [bob.user]
    eventually(lambda: quiet(circle) == [])


FILTERS = {
    # The sender must not learn the labels that the filter passes.
    "refuses the sender's": ({"allow": ["home"]}, {}, "work", False),
    "refuses the room's own": ({"allow": ["work"]}, {"criteria": "home"}, "work", True),
}


@pytest.mark.parametrize("filter, label, criteria, is_quiet", FILTERS.values(), ids=FILTERS)
def test_a_member_whose_filter_refuses_the_rooms_own_label_is_quiet(circle, filter, label, criteria, is_quiet):
    bob = circle.away("bob")
    bob.filter(**filter)
    if label:
        bob.prefer(rooms={circle.room: label})
    assert quiet(circle, push={"criteria": criteria}) == ([bob.user] if is_quiet else [])


def test_the_label_of_the_device_counts_before_the_senders(circle):
    bob = circle.away("bob")
    bob.register(criteria="work")
    bob.filter("home")
    assert quiet(circle, push={"criteria": "home"}) == [bob.user]
    bob.prefer(rooms={circle.room: {"criteria": "home"}})
    assert quiet(circle, push={"criteria": "other"}) == []


#: Settings of a silenced recipient that do not change the sender's view.
SAME = {
    "muted": lambda bob, circle: bob.prefer(rooms={circle.room: {"level": "none"}}),
    "held": lambda bob, circle: bob.prefer(onFocus="hold"),
    "without a device": lambda bob, circle: bob.forget("phone"),
    "without alerts": lambda bob, circle: bob.register(settings={"alerts": False}),
    "shared with rooms": lambda bob, circle: bob.prefer(shareFocus="rooms"),
    "shared with watchers": lambda bob, circle: bob.prefer(shareFocus="watchers"),
}
#: Settings that hide the Focus from the sender.
HIDDEN = {
    "not shared": lambda bob, circle: bob.prefer(shareFocus="none"),
    "blocked": lambda bob, circle: bob.block(circle.alice),
}


def test_a_member_who_shares_the_focus_is_named(circle):
    named = []
    for number, change in enumerate(SAME.values()):
        bob = circle.away(f"bob{number}")
        change(bob, circle)
        bob.focus(True, device="mac")
        named.append(bob.user)
        assert sorted(quiet(circle)) == sorted(named)


def test_a_member_who_hides_the_focus_is_not_named(circle):
    carol, *hiding = circle.away("carol"), *(circle.away(f"bob{number}") for number in range(len(HIDDEN)))
    for person in (carol, *hiding):
        person.focus(True)
        person.prefer(rooms={circle.room: {"criteria": "work"}})
        person.filter("home")
    for bob, change in zip(hiding, HIDDEN.values()):
        change(bob, circle)
    assert quiet(circle) == [carol.user]


def test_a_large_room_names_no_silenced_members(gather):
    circle = gather("--limits-member-list", 2, "--presence-grace", 0)
    bob = circle.live("bob")
    bob.focus(True)
    assert quiet(circle) == [bob.user]
    circle.live("carol")
    assert circle.send("hi")["delivery"] == {"live": 2, "push": 0, "waiting": 0, "quiet": []}


def test_the_reply_to_a_post_has_the_same_delivery(circle):
    bob = circle.away("bob")
    bob.focus(True)
    posted = circle.post("hi")
    assert posted["delivery"] == {"live": 0, "push": 1, "waiting": 0, "quiet": [bob.user]}


def test_a_duplicate_has_no_delivery(circle):
    circle.away("bob").focus(True)
    assert "delivery" in circle.send("hi", key="k")
    again = circle.send("hi", key="k")
    assert again["duplicate"] is True and "delivery" not in again


def test_a_room_without_pushes_has_no_delivery(circle, names):
    (room,) = names("live.room")
    circle.alice.join(room)
    circle.live("bob", room)
    assert "delivery" not in circle.send("hi", room)
    circle.send("hi")


# The counts of recipients


def place(circle, where, stem="bob"):
    """Returns a member who is live, away or within the grace."""
    if where == "away":
        return circle.away(stem)
    bob = circle.live(stem)
    if where == "waiting":
        bob.session.drop()
        # Waits until the relay has noticed the lost connection.
        eventually(lambda: counts(circle)[0] == 0)
    elif where != "live":
        bob.session.request("activity", state=where)
    return bob


PLACES = {"live": (1, 0, 0), "idle": (1, 0, 0), "background": (0, 1, 0), "waiting": (0, 0, 1), "away": (0, 1, 0)}


@pytest.mark.parametrize("where", PLACES)
def test_each_member_is_counted_where_they_are(circle, where):
    place(circle, where)
    assert counts(circle) == PLACES[where]


@pytest.mark.parametrize("where", ["live", "waiting", "away"])
def test_the_counts_do_not_reveal_the_result_of_the_push(circle, where):
    for number, change in enumerate(SAME.values(), start=1):
        bob = place(circle, where, f"bob{number}")
        bob.focus(True)
        change(bob, circle)
        assert counts(circle) == tuple(number * count for count in PLACES[where])


@pytest.mark.parametrize("where", PLACES)
def test_a_member_who_hides_the_presence_is_counted_as_away(circle, where):
    changes = (HIDDEN["blocked"], lambda bob, circle: bob.prefer(shareOnline="none"))
    for number, change in enumerate(changes, start=1):
        change(place(circle, where, f"bob{number}"), circle)
        assert counts(circle) == (0, number, 0)


def test_everybody_but_the_sender_is_counted_once(circle):
    bob, carol = circle.live("bob"), circle.away("carol")
    circle.back(bob).join(circle.room)
    circle.back(carol)
    carol.register("tablet")
    assert counts(circle) == (1, 1, 0)
    circle.alice.request("leave", room=circle.room, stay=True)
    circle.alice.join(circle.room)
    assert counts(circle) == (1, 1, 0)


def test_a_member_who_is_only_in_another_room_is_pushed_to(circle, names):
    (elsewhere,) = names("elsewhere")
    stayed, came = circle.live("bob"), circle.away("carol")
    stayed.session.join(elsewhere)
    stayed.session.request("leave", room=circle.room, stay=True)
    circle.back(came).join(elsewhere)
    assert counts(circle) == (0, 2, 0)
    for person in (stayed, came):
        person.phone.ring("hi")


def test_a_message_without_pushes_counts_like_any_other(circle):
    bob, carol = circle.live("bob"), circle.away("carol")
    carol.focus(True)
    assert circle.send("hi", push=False)["delivery"] == {"live": 1, "push": 1, "waiting": 0, "quiet": [carol.user]}
    circle.pass_due()
    assert (bob.phone.texts(), carol.phone.texts()) == ([], [])
