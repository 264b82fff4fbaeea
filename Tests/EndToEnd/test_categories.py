# SPDX-License-Identifier: Apache-2.0
"""The registry of notification categories: reading it, changing it, and the checks against it."""

from api import call

ACCEPT = {"id": "accept", "title": {"default": "Accept", "de": "Annehmen"}, "options": ["foreground"]}
REPLY = {
    "id": "reply",
    "title": "Reply",
    "options": ["authenticationRequired", "destructive"],
    "textInput": {"button": "Send", "placeholder": {"default": "Message"}},
    "posts": True,
}
INVITATION = {
    "id": "invitation",
    "actions": [ACCEPT, REPLY],
    "options": ["customDismissAction", "allowInCarPlay"],
    "hiddenPreviewBody": "An invitation",
    "summaryFormat": {"default": "%u more"},
}


def get(relay, **headers):
    return call(relay, "GET", "/v1/categories", headers={name.replace("_", "-"): tag for name, tag in headers.items()})


def put(relay, *categories, version=None, **headers):
    body = {"categories": list(categories)} | ({} if version is None else {"version": version})
    headers = {name.replace("_", "-"): value for name, value in headers.items()}
    return call(relay, "PUT", "/v1/categories", body, headers=headers)


def test_the_registry_is_empty_at_first(start):
    answer = get(start())
    assert (answer.status, answer.json) == (200, {"version": 0, "categories": []})


def test_categories_are_returned_unchanged_and_survive_a_kill(start):
    relay = start()
    set_ = put(relay, INVITATION, {"id": "empty"})
    registry = {"version": 1, "categories": [INVITATION, {"id": "empty", "actions": [], "options": []}]}
    assert (set_.status, set_.json) == (200, registry)
    relay.kill()
    relay.start()
    answer = get(relay)
    assert (answer.json, answer.headers["ETag"]) == (registry, set_.headers["ETag"])
    assert put(relay, {"id": "empty"}).json["version"] == 2


def test_a_tag_names_the_version_that_was_read(relay):
    put(relay, INVITATION)
    first = get(relay)
    tag = first.headers["ETag"]
    assert tag.startswith('"')
    for known in (tag, f"W/{tag}", f'"other", {tag}', "*"):
        again = get(relay, If_None_Match=known)
        assert (again.status, again.body, again.headers["ETag"]) == (304, b"", tag), known
    assert get(relay, If_None_Match='"other"').status == 200
    # The same registry again changes nothing.
    assert put(relay, INVITATION).headers["ETag"] == tag
    changed = put(relay, {"id": "empty"})
    assert changed.headers["ETag"] != tag
    assert get(relay, If_None_Match=tag).json == changed.json


def test_a_change_with_an_old_tag_is_rejected(relay):
    tag = put(relay, INVITATION).headers["ETag"]
    assert put(relay, {"id": "one"}, If_Match=tag).status == 200
    late = put(relay, {"id": "two"}, If_Match=tag)
    assert (late.status, late.problem["code"], late.problem["at"]) == (412, "conflict", "/headers/if-match")
    assert get(relay).json["categories"] == [{"id": "one", "actions": [], "options": []}]
    assert put(relay, {"id": "two"}, If_Match=f"W/{get(relay).headers['ETag']}").status == 412
    assert put(relay, {"id": "two"}, If_Match="*").status == 200


def test_a_change_of_an_old_version_is_rejected(relay):
    version = put(relay, INVITATION).json["version"]
    assert put(relay, {"id": "one"}, version=version).json["version"] == version + 1
    late = put(relay, {"id": "two"}, version=version)
    assert (late.status, late.problem["code"], late.problem["at"]) == (409, "conflict", "/version")
    newest = get(relay)
    both = put(relay, {"id": "two"}, version=version, If_Match=newest.headers["ETag"])
    assert (both.status, both.problem["at"]) == (409, "/version")


def test_a_wrong_registry_is_rejected_and_changes_nothing(relay):
    """`CategoryFieldsTests` and `BadFieldsTests` have all cases."""
    put(relay, INVITATION)
    answer = put(relay, INVITATION, {"id": "b", "actions": [REPLY]})
    assert (answer.status, answer.problem["code"]) == (422, "bad_request")
    assert answer.problem["at"] == "/categories/1/actions/0/id"
    assert get(relay).json["categories"] == [INVITATION]


def test_all_users_read_categories_and_only_backends_set_them(start, secret, api_keys, backend):
    relay = start("--api-keys-file", api_keys, secret=secret)
    body = {"categories": [INVITATION]}
    assert call(relay, "GET", "/v1/categories").status == 401
    token = relay.token("ann")
    assert call(relay, "PUT", "/v1/categories", body, token=token).problem["code"] == "forbidden"
    assert call(relay, "PUT", "/v1/categories", body, token=backend).status == 200
    assert call(relay, "GET", "/v1/categories", token=token).json["categories"] == [INVITATION]


def test_a_message_with_an_unknown_category_is_rejected(relay, circle):
    put(relay, INVITATION)
    for category in ("unknown", "Invitation", "accept"):
        error = circle.alice.refusal("send", room=circle.room, body="hi", push={"category": category})
        assert error["code"] == "bad_request", category
        body = {"from": circle.alice.user, "body": "hi", "push": {"category": category}}
        answer = call(relay, "POST", f"/v1/rooms/{circle.room}/messages", body)
        assert (answer.status, answer.problem["at"]) == (422, "/push/category")
    assert circle.send("hi", push={"category": "invitation"})["seq"] == 1
    put(relay)
    assert circle.alice.refusal("send", room=circle.room, body="hi", push={"category": "invitation"})


def test_without_a_registry_every_category_is_refused(gather):
    circle = gather()
    error = circle.alice.refusal("send", room=circle.room, body="hi", push={"category": "invitation"})
    assert error["code"] == "bad_request"
    assert circle.send("hi")["seq"] == 1
