# SPDX-License-Identifier: Apache-2.0
"""The export of everything about a person."""

import json

import pytest

from api import call

#: The end of a restriction in the future.
RESTRICTED_UNTIL = 4_000_000_000_000


def page(relay, user, query=""):
    answer = call(relay, "GET", f"/v1/users/{user}/export{query}")
    assert answer.status == 200, answer
    return [json.loads(line) for line in answer.body.decode().splitlines()]


def export(relay, user, limit=None):
    """Returns the lines of all pages, by their types, and the number of pages."""
    lines, pages, query = [], 0, f"?limit={limit}" if limit else "?"
    cursor = ""
    while True:
        found = page(relay, user, query + cursor)
        pages += 1
        lines += found[:-1]
        if found[-1] == {"type": "end"}:
            break
        assert found[-1]["type"] == "next"
        cursor = f"&cursor={found[-1]['cursor']}"
    types = {}
    for line in lines:
        types.setdefault(line.pop("type"), []).append(line)
    return types, pages


@pytest.fixture
def person(relay, connect, names):
    """Ann, with something of each type."""
    ann, bob, tea, jam, cake = names("ann", "bob", "tea", "jam", "cake")
    session, other = connect(ann), connect(bob)
    call(relay, "PUT", f"/v1/users/{ann}", {"name": "Ann", "handle": "+4930123"})
    session.request("status", text="Lunch")
    session.request("preferences", rooms={tea: {"level": "none"}}, onFocus="hold")
    session.request("block", users=[f"{ann}-enemy"])
    session.request("focus", isFocused=True, device="phone")
    session.request("filter", active=True, allow=["work"], device="phone")
    session.request("device", device="phone", platform="simulator", token=f"{ann}-token")
    for room in (tea, jam):
        session.join(room)
        other.join(room)
    session.send(tea, {"text": "one"}, mentions=[bob])
    other.send(tea, {"text": "not hers"})
    seq = session.send(jam, {"text": "two"})["seq"]
    session.request("edit", room=jam, seq=seq, body={"text": "three"})
    made = other.request("create", room=cake, kind="group", members=[ann])["room"]
    other.request("restrict", room=made, user=ann, until=RESTRICTED_UNTIL)
    other.request("remove", room=made, user=ann, ban=True)
    # Ann is invited by a stranger, and invites one.
    connect(f"{ann}-friend").request("create", room=f"{cake}-2", members=[ann])
    session.request("direct", user=f"{ann}-stranger")
    return ann, bob, tea, jam, cake


def test_an_export_has_everything(relay, person):
    ann, bob, tea, jam, cake = person
    found, _ = export(relay, ann)
    [profile] = found["profile"]
    assert (profile["user"], profile["name"], profile["handle"]) == (ann, "Ann", "+4930123")
    assert profile["status"] == {"text": "Lunch"} and profile["lastSeen"] > 0
    [preferences] = found["preferences"]
    assert preferences["onFocus"] == "hold" and preferences["rooms"] == {tea: {"level": "none"}}
    assert found["block"] == [{"user": f"{ann}-enemy"}]
    assert [(report["device"], report["isFocused"]) for report in found["focus"]] == [("phone", True)]
    assert [report["allow"] for report in found["filter"]] == [["work"]]
    assert [device["device"] for device in found["device"]] == ["phone"]
    assert f"{ann}-token" not in str(found)
    memberships = {entry["room"]: entry["read"] for entry in found["membership"]}
    [direct] = set(memberships) - {tea, jam}
    assert memberships == {tea: 1, jam: 1, direct: 0}
    invitations = [(entry["room"], entry["user"], entry["by"]) for entry in found["invitation"]]
    assert invitations == [(f"{cake}-2", ann, f"{ann}-friend"), (direct, f"{ann}-stranger", ann)]
    assert found["ban"] == [{"room": cake}]
    # The restriction outlives the membership.
    assert found["restriction"] == [{"room": cake, "until": RESTRICTED_UNTIL}]
    messages = {(message["room"], message["seq"]): message for message in found["message"]}
    assert set(messages) == {(tea, 1), (jam, 1)}
    assert messages[tea, 1]["body"] == {"text": "one"} and messages[tea, 1]["mentions"] == [bob]
    assert messages[jam, 1]["body"] == {"text": "three"} and messages[jam, 1]["editedAt"] > 0
    assert "access" not in found
    call(relay, "PUT", f"/v1/users/{ann}/access", {"suspended": True, "reason": "spam"})
    assert export(relay, ann)[0]["access"] == [{"suspended": True, "reason": "spam"}]


def test_small_pages_have_the_same_entries(relay, person):
    ann, bob, *_ = person
    whole, _ = export(relay, ann)
    found, pages = export(relay, ann, limit=1)
    assert found == whole and pages > 4


def test_pushes_and_responses_are_exported(circle):
    bob = circle.away("bob")
    circle.send("hello")
    bob.phone.ring("hello")
    found, _ = export(circle.relay, bob.user)
    [push] = found["push"]
    assert (push["user"], push["device"], push["explanation"]["decision"]["outcome"]) == (
        bob.user,
        "phone",
        push["explanation"]["decision"]["outcome"],
    )
    assert found["membership"]


def test_an_unknown_user_has_no_entries(relay, names):
    (ann,) = names("ann")
    assert page(relay, ann) == [{"type": "end"}]
    call(relay, "PUT", f"/v1/users/{ann}/access", {"suspended": True})
    assert export(relay, ann)[0]["access"] == [{"suspended": True}]


def test_large_messages_are_split_over_pages(relay, connect, names):
    ann, room = names("ann", "room")
    session = connect(ann)
    session.join(room)
    for number in range(40):
        session.send(room, {"number": number, "text": "x" * 50_000})
    found, pages = export(relay, ann)
    assert [message["body"]["number"] for message in found["message"]] == list(range(40))
    assert pages > 1


@pytest.mark.parametrize(
    "query, at",
    [
        ("?limit=1001", "/query/limit"),
        ("?cursor=s.1.1", "/query/cursor"),
    ],
)
def test_wrong_pages_are_refused(relay, names, query, at):
    answer = call(relay, "GET", f"/v1/users/{names('ann')[0]}/export{query}")
    assert (answer.status, answer.problem["at"]) == (422, at)


def test_an_export_is_for_backends(start, secret, api_keys, backend):
    relay = start("--api-keys-file", api_keys, secret=secret)
    assert call(relay, "GET", "/v1/users/ann/export", token=relay.token("ann")).status == 403
    assert call(relay, "GET", "/v1/users/ann/export", token=backend).status == 200
