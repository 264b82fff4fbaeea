# SPDX-License-Identifier: Apache-2.0
"""The queue of pushes for operators: lists, retries of dead letters, and the command."""

import json

import pytest

from api import call
from database import execute
from metrics import metrics
from people import now
from relay import run
from test_apple import APP, apple, authority, key, reached, service  # noqa: F401  (fixtures, too)
from waiting import eventually


@pytest.fixture
def circle(apple):
    """Alice in a room of a relay whose pushes go to the test's service."""
    return apple()


def listed(circle, **query):
    arguments = "&".join(f"{name}={value}" for name, value in query.items())
    answer = call(circle.relay, "GET", f"/v1/pushes?{arguments}")
    assert answer.status == 200, answer
    return answer.json["pushes"]


def retry(circle, push):
    return call(circle.relay, "POST", f"/v1/pushes/{push['id']}/retry")


def dead_letter(circle, service, text="hi", reason="DeviceTokenNotForTopic"):
    """Returns a push that the service has rejected permanently. The service accepts later pushes."""
    service.handle = lambda request: request.refuse(400, reason)
    circle.send(text)
    (push,) = eventually(lambda: listed(circle, state="dead"))
    service.handle = lambda request: request.answer()
    return push


def in_state(circle, push, state):
    return eventually(lambda: [found for found in listed(circle, state=state) if found["id"] == push["id"]])[0]


# The end of a push


def test_the_end_of_a_push_is_stored_when_the_disk_recovers(circle, service):
    held = []
    service.handle = held.append
    reached(circle)
    circle.send("hi")
    (request,) = eventually(lambda: list(held))
    circle.relay.limit_file_size(4096)
    assert circle.alice.refusal("send", room=circle.room, body="x" * 20_000)["code"] == "unavailable"
    request.answer()
    failed = metrics(circle.relay)["stillwire_store_failures_total"]
    eventually(lambda: metrics(circle.relay)["stillwire_store_failures_total"] > failed + 1)
    circle.relay.limit_file_size(None)
    eventually(lambda: len(listed(circle, state="sent")) == 1)
    assert len(held) == 1


def test_finished_pushes_are_purged_by_time(gather):
    # The short age makes the relay delete old messages and old pushes more often.
    configuration = {"rooms": [{"match": "short", "history": {"age": 1}}]}
    circle = gather("--presence-grace", "0", configuration=configuration)
    bob = circle.away("bob")
    circle.send("old")
    bob.phone.ring("old")
    circle.send("new")
    bob.phone.ring("new")
    eventually(lambda: len(listed(circle, state="sent")) == 2)
    end = now() - 3 * 86_400_000
    for seq, finished in ((1, end - 60_000), (2, end + 600_000)):
        execute(circle.relay, "UPDATE jobs SET finished_at = ? WHERE seq = ?", finished, seq)
    # No other push ends, so only time can cause the deletion.
    eventually(lambda: [push["seq"] for push in listed(circle)] == [2])


# Lists


def test_pushes_are_listed_newest_first_and_page_by_page(circle):
    bob, carol = circle.away("bob"), circle.away("carol")
    for number in range(3):
        circle.send(f"hi {number}")
    eventually(lambda: len(listed(circle, state="sent")) == 6)
    everything = listed(circle)
    assert [push["seq"] for push in everything] == [3, 3, 2, 2, 1, 1]
    assert [push["seq"] for push in listed(circle, user=bob.user)] == [3, 2, 1]
    assert {push["user"] for push in everything} == {bob.user, carol.user}
    first = call(circle.relay, "GET", "/v1/pushes?limit=4").json
    assert first["more"] and first["pushes"] == everything[:4]
    rest = call(circle.relay, "GET", f"/v1/pushes?limit=4&after={everything[3]['id']}").json
    assert not rest["more"] and rest["pushes"] == everything[4:]


def test_held_pushes_are_listed_by_their_state(circle):
    bob = circle.silenced("bob", onFocus="hold")
    circle.send("hi")
    (push,) = listed(circle, state="held")
    assert (push["user"], push["attempts"]) == (bob.user, [])
    assert listed(circle, state="sent") == [] and listed(circle, state="held", user=circle.alice.user) == []


@pytest.mark.parametrize(
    "query, at",
    [
        ("state=lost", "state"), ("limit=101", "limit"), ("limit=x", "limit"), ("after=none", "after"),
        ("note=x", "note"), ("note=x&state=sent", "note"),
    ],
)  # fmt: skip
def test_a_wrong_query_is_refused_with_its_field(circle, query, at):
    answer = call(circle.relay, "GET", f"/v1/pushes?{query}")
    assert answer.status in (400, 422) and answer.problem["at"] == f"/query/{at}", answer


def test_the_queue_is_for_backends(start, secret):
    relay = start(secret=secret)
    token = relay.token("alice")
    for method, path in ("GET", "/v1/pushes"), ("POST", "/v1/pushes/1/retry"), ("POST", "/v1/pushes/retry"):
        assert call(relay, method, path).status == 401
        assert call(relay, method, path, token=token).status == 403


# Dead letters


def test_a_dead_letter_is_sent_again_once(circle, service):
    reached(circle)
    push = dead_letter(circle, service)
    answers = [retry(circle, push) for _ in range(3)]
    assert [answer.status for answer in answers] == [200] * 3
    sent = in_state(circle, push, "sent")
    assert [attempt["status"] for attempt in sent["attempts"]] == [400, 200]
    assert sent["revived"] >= push["finished"]
    first, second = service.requests
    assert first.headers["apns-id"] == second.headers["apns-id"] == push["id"]
    assert retry(circle, push).json["state"] == "sent" and len(service.requests) == 2


def test_a_dead_letter_is_sent_again_after_a_kill(circle, service):
    reached(circle)
    push = dead_letter(circle, service)
    service.handle = lambda request: None
    assert retry(circle, push).status == 200
    circle.restart()
    service.handle = lambda request: request.answer()
    in_state(circle, push, "sent")


def test_a_dead_letter_that_was_read_is_not_sent_again(circle, service):
    bob = reached(circle)
    push = dead_letter(circle, service)
    call(circle.relay, "PUT", f"/v1/rooms/{circle.room}/read", {"seq": push["seq"]}, user=bob.user)
    again = retry(circle, push)
    assert (again.status, again.json["state"], again.json["note"]) == (200, "cancelled", "read")
    assert len(service.requests) == 1


def test_a_dead_letter_to_a_silenced_user_is_held(circle, service):
    bob = reached(circle)
    push = dead_letter(circle, service)
    bob.prefer(onFocus="hold")
    bob.focus(True)
    assert retry(circle, push).json["state"] == "held"
    bob.prefer(onFocus="deliver")
    in_state(circle, push, "sent")


def test_a_push_that_is_not_a_dead_letter_is_not_retried(circle):
    circle.away("bob")
    circle.send("hi")
    (push,) = eventually(lambda: listed(circle, state="sent"))
    answer = retry(circle, push)
    assert (answer.status, answer.problem["code"]) == (409, "conflict")
    assert call(circle.relay, "POST", "/v1/pushes/none/retry").status == 404


def test_the_retry_of_an_expired_push_or_to_a_forgotten_device_is_rejected(circle, service):
    bob = reached(circle)
    service.handle = lambda request: request.refuse(400, "DeviceTokenNotForTopic")
    circle.send("short", push={"expires": 1})
    (push,) = eventually(lambda: listed(circle, state="dead"))
    circle.send("long")
    _, lasting = eventually(lambda: len(found := listed(circle, state="dead")) == 2 and found)[::-1]
    eventually(lambda: now() > push["created"] + 1000)
    assert "expired" in retry(circle, push).problem["detail"]
    bob.forget()
    assert "device" in retry(circle, lasting).problem["detail"]


# Many dead letters


def dead_letters(circle, service, reasons):
    """Returns the ids of pushes that the service has rejected permanently for these reasons, the newest first."""
    left = list(reasons)
    service.handle = lambda request: request.refuse(400, left.pop(0))
    for number in range(len(reasons)):
        circle.send(f"text {number}")
        dead = eventually(lambda: len(found := listed(circle, state="dead", limit=100)) == number + 1 and found)
    service.handle = lambda request: request.answer()
    return [push["id"] for push in dead]


def retry_many(circle, **fields):
    return call(circle.relay, "POST", "/v1/pushes/retry", fields or None)


def test_many_dead_letters_are_retried_page_by_page(circle, service):
    reached(circle)
    ids = dead_letters(circle, service, ["DeviceTokenNotForTopic"] * 5)
    found, after = [], {}
    while True:
        page = retry_many(circle, limit=2, **after)
        assert page.status == 200 and len(page.json["pushes"]) <= 2, page
        found += page.json["pushes"]
        if not page.json["more"]:
            break
        after = {"after": found[-1]["id"]}
    assert found == [{"id": push, "retried": True} for push in ids]
    # Pushes that are decided together may arrive as one digest.
    eventually(lambda: {push["state"] for push in listed(circle)} <= {"sent", "merged"})
    arrived = [part["count"] for push in listed(circle, state="sent") for part in push.get("digest", [{"count": 1}])]
    assert sum(arrived) == 5
    assert retry_many(circle).json == {"pushes": [], "more": False}


def test_dead_letters_are_listed_and_retried_by_note_and_user(circle, service):
    bob = reached(circle)
    topic, device = "DeviceTokenNotForTopic", "BadCollapseId"
    ids = dead_letters(circle, service, [topic, device, topic])
    assert [push["id"] for push in listed(circle, state="dead", note=topic)] == [ids[0], ids[2]]
    assert listed(circle, state="dead", note=topic, user="nobody") == []
    assert retry_many(circle, note=topic, user="nobody").json["pushes"] == []
    retried = retry_many(circle, note=topic, user=bob.user).json["pushes"]
    assert [push["id"] for push in retried] == [ids[0], ids[2]]
    eventually(lambda: [push["id"] for push in listed(circle, state="dead")] == [ids[1]])


def test_dead_letters_that_cannot_be_sent_stay(circle, service):
    bob = reached(circle)
    ids = dead_letters(circle, service, ["DeviceTokenNotForTopic"] * 2)
    bob.forget()
    answer = retry_many(circle).json
    reason = "the device is not registered any more"
    assert answer == {"pushes": [{"id": push, "retried": False, "reason": reason} for push in ids], "more": False}
    assert len(listed(circle, state="dead")) == 2


@pytest.mark.parametrize(
    "fields, at", [({"limit": 101}, "limit"), ({"limit": 0}, "limit"), ({"after": "none"}, "after")]
)
def test_a_wrong_retry_of_many_is_refused_with_its_field(circle, fields, at):
    answer = retry_many(circle, **fields)
    assert answer.status in (400, 422) and answer.problem["at"] == f"/{at}", answer


# Too many tokens


def test_tokens_are_not_forgotten_in_bulk(circle, service):
    friends = [reached(circle, f"friend{number}", f"{number:02x}" * 32) for number in range(25)]
    service.handle = lambda request: request.refuse(410, "Unregistered")
    circle.send("hi")
    dead = eventually(lambda: len(found := listed(circle, state="dead", limit=100)) == 25 and found)
    kept = [push for push in dead if push["note"] != "Unregistered"]
    assert len(kept) == 5 and {push["note"] for push in kept} == {
        "Unregistered, token kept, because too many were removed"
    }
    assert sum(friend.ask("GET", "devices/phone").status == 200 for friend in friends) == 5
    (paused,) = call(circle.relay, "GET", "/ready").json["paused"]
    assert (paused["app"], paused["reason"]) == (APP, "TooManyForgotten") and paused["until"] > dead[0]["finished"]
    numbers = metrics(circle.relay)
    assert numbers["stillwire_forgetting_paused_apps"] == 1
    assert numbers["stillwire_refused_tokens_total{forgotten}"] == 20
    assert numbers["stillwire_refused_tokens_total{kept}"] == 5
    assert circle.relay.log.read_text().count("no more are removed for now") == 1
    # A push to a kept token can be sent again when the service works again.
    service.handle = lambda request: request.answer()
    assert retry(circle, kept[0]).status == 200
    in_state(circle, kept[0], "sent")


# The command


def ask(circle, *arguments, **settings):
    return run("pushes", *arguments, "--url", circle.relay.origin, **settings)


def test_the_command_lists_explains_and_retries(circle, service):
    bob = reached(circle)
    push = dead_letter(circle, service)
    table = ask(circle, "list", "--state", "dead")
    head, line = table.stdout.splitlines()
    assert head.split() == ["ID", "CREATED", "STATE", "USER", "DEVICE", "MESSAGE", "NOTE"]
    assert line.split()[0] == push["id"] and line.split()[2:4] == ["dead", bob.user]
    assert json.loads(ask(circle, "list", "--json", "--limit", "1").stdout)["pushes"] == [push]
    story = ask(circle, "explain", push["id"]).stdout
    assert "The gateway has rejected it permanently (DeviceTokenNotForTopic)" in story and "400" in story
    assert json.loads(ask(circle, "explain", "--json", push["id"]).stdout)["explanation"]
    again = ask(circle, "retry", push["id"])
    assert again.returncode == 0 and push["id"] in again.stdout, again
    in_state(circle, push, "sent")


def test_the_command_retries_all_dead_letters(circle, service):
    bob = reached(circle)
    ids = dead_letters(circle, service, ["DeviceTokenNotForTopic", "BadCollapseId"])
    some = ask(circle, "retry", "--all", "--note", "BadCollapseId")
    assert some.returncode == 0 and some.stdout.splitlines() == [f"{ids[0]}: retried", "1 retried, 0 rejected"], some
    eventually(lambda: len(listed(circle, state="sent")) == 1)
    bob.forget()
    rest = ask(circle, "retry", "--all", "--json", "--user", bob.user)
    (push,) = json.loads(rest.stdout)["pushes"]
    assert rest.returncode == 1 and (push["id"], push["retried"]) == (ids[1], False)
    for wrong in ("retry",), ("retry", "--all", "id"), ("retry", "id", "--note", "x"):
        assert ask(circle, *wrong).returncode not in (0, 1), wrong


def test_the_command_prints_the_refusal(circle):
    for arguments in ("explain", "none"), ("retry", "none"), ("list", "--state", "lost"), ("list", "--after", "none"):
        refused = ask(circle, *arguments)
        assert refused.returncode == 1 and refused.stderr.startswith("stillwire: ") and not refused.stdout, refused
    nobody = run("pushes", "list", "--url", "http://127.0.0.1:9")
    assert nobody.returncode == 1 and "does not answer" in nobody.stderr
    assert run("pushes", "list", "--url", "there").returncode == 1


def test_the_command_has_a_key(start, secret, api_keys, backend, tmp_path):
    relay = start("--api-keys-file", api_keys, secret=secret)
    (tmp_path / "key").write_text(f"{backend}\n")
    listing = ["pushes", "list", "--url", relay.origin]
    assert run(*listing).returncode == 1
    assert run(*listing, "--api-key-file", tmp_path / "key").returncode == 0
    assert run(*listing, STILLWIRE_API_KEY=backend).returncode == 0
    assert run(*listing, STILLWIRE_API_KEY="sw_other").returncode == 1
