# SPDX-License-Identifier: Apache-2.0
"""The lists of a user's sessions and devices, for backends."""

import pytest

from api import call


def listed(relay, user, what, query="", **more):
    answer = call(relay, "GET", f"/v1/users/{user}/{what}{query}", **more)
    assert answer.status == 200, answer
    return answer.json


def test_open_sessions_are_listed(relay, connect, names):
    ann, room = names("ann", "room")
    before = connect(ann, device="phone", activity="idle")
    time = before.request("ping")["time"]
    second = connect(ann)
    second.join(room)
    sessions = listed(relay, ann, "sessions")
    assert sessions["more"] is False
    shown = {entry["session"]: entry for entry in sessions["sessions"]}
    assert set(shown) == {before.welcome["session"], second.welcome["session"]}
    first = shown[before.welcome["session"]]
    assert (first["device"], first["activity"], first["rooms"]) == ("phone", "idle", 0)
    assert time - 60_000 < first["since"] <= time and first["since"] % 1000 == 0 and "expires" not in first
    other = shown[second.welcome["session"]]
    assert (other["activity"], other["rooms"]) == ("active", 1) and "device" not in other
    second.close()
    assert [entry["device"] for entry in listed(relay, ann, "sessions")["sessions"]] == ["phone"]
    before.close()
    assert listed(relay, ann, "sessions") == {"sessions": [], "more": False}


def test_sessions_come_in_pages(relay, connect, names):
    (ann,) = names("ann")
    wanted = {connect(ann).welcome["session"] for _ in range(5)}
    found, after, pages = [], "", 0
    while True:
        page = listed(relay, ann, "sessions", f"?limit=2{after}")
        found += [entry["session"] for entry in page["sessions"]]
        pages += 1
        if not page["more"]:
            break
        after = f"&after={found[-1]}"
    assert (len(found), set(found), pages) == (5, wanted, 3)


def register(relay, user, device, token):
    body = {"platform": "simulator", "token": token, "locale": "de"}
    assert call(relay, "PUT", f"/v1/users/{user}/devices/{device}", body).status == 200


def test_devices_are_listed_without_tokens(relay, names):
    (ann,) = names("ann")
    assert listed(relay, ann, "devices") == {"devices": [], "more": False}
    for number in range(3):
        register(relay, ann, f"phone{number}", f"{ann}-secret-{number}")
    register(relay, ann, "phone1", f"{ann}-secret-1")
    page = listed(relay, ann, "devices", "?limit=2")
    assert [entry["device"] for entry in page["devices"]] == ["phone0", "phone1"] and page["more"] is True
    assert [entry["reportKeys"] for entry in page["devices"]] == [1, 2]
    assert page["devices"][0]["registered"] > 0 and page["devices"][0]["locale"] == "de"
    assert "secret" not in str(page)
    last = listed(relay, ann, "devices", "?after=phone1")
    assert [entry["device"] for entry in last["devices"]] == ["phone2"] and last["more"] is False
    call(relay, "DELETE", f"/v1/users/{ann}/devices/phone0")
    assert [entry["device"] for entry in listed(relay, ann, "devices")["devices"]] == ["phone1", "phone2"]


@pytest.mark.parametrize(
    "what, query, at",
    [
        ("sessions", "?limit=101", "/query/limit"),
        ("sessions", "?after=%21", "/query/after"),
        ("devices", "?after=%20", "/query/after"),
    ],
)
def test_wrong_pages_are_refused(relay, names, what, query, at):
    answer = call(relay, "GET", f"/v1/users/{names('ann')[0]}/{what}{query}")
    assert (answer.status, answer.problem["at"]) == (422, at)


def test_lists_are_for_backends_and_have_the_end_of_the_token(start, connect, secret, api_keys, backend):
    relay = start("--api-keys-file", api_keys, secret=secret)
    token = relay.token("ann")
    session = connect(relay, token=token)
    for what in ("sessions", "devices"):
        assert call(relay, "GET", f"/v1/users/ann/{what}", token=token).status == 403
    [entry] = listed(relay, "ann", "sessions", token=backend)["sessions"]
    assert entry["expires"] == session.welcome["expires"] + 25_000, "the grace"
