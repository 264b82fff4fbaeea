# SPDX-License-Identifier: Apache-2.0
"""Both clients call each operation of the HTTP interface against a relay."""

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

import generate
import tokens
from both import Both
from relay import Relay, running
from stillwire import BadRequestError, ConflictError, NotFoundError, Stillwire
from test_generated import WITHOUT
from waiting import eventually

CATEGORY: Any = {"id": "invitation", "actions": [{"id": "accept", "title": "Accept"}]}


class Scenario:
    """One call of each operation, in an order in which each has its effect. Checks the results."""

    def __init__(self, relay: Relay, is_async: bool):
        self._relay = relay
        self._both = Both(is_async, relay.origin)
        self.called: set[str] = set()

    def call(self, operation: str, *arguments: Any, **fields: Any) -> Any:
        self.called.add(operation)
        return self._both.call(lambda client: getattr(client, generate.snake(operation))(*arguments, **fields))

    def play(self) -> None:
        self.operation()
        self.users()
        self.rooms()
        self.messages()
        self.calls()
        self.pushes()
        self.simulator()

    def operation(self) -> None:
        assert self.call("isLive") == {"status": "live"}
        assert self.call("isReady")["status"] == "ready"
        assert "stillwire_" in self.call("readMetrics")
        assert self.call("confirmClock") == {"waited": False}
        assert self.call("getOpenAPI")["openapi"] == "3.1.0"
        assert self.call("getAsyncAPI")["asyncapi"] == "3.0.0"
        assert self.call("getWebPushKey") == {"publicKey": None}
        assert self.call("disconnectUser", "ann", reason="moved") == {"sessions": 0}
        # A relay in open mode records nothing.
        assert self.call("listAuditEntries", user="ann", after=0, limit=10) == {"entries": [], "more": False}
        restricted = {"user": "eve", "suspended": True, "reason": "spam"}
        assert self.call("setAccess", "eve", suspended=True, reason="spam") == {**restricted, "sessions": 0}
        assert self.call("getAccess", "eve") == restricted
        exported = self.call("exportUser", "eve", limit=10).splitlines()
        assert len(exported) == 4 and exported[-1] == '{"type":"end"}'
        begun = self.call("eraseUser", "eve", messages="delete")
        assert (begun["state"], begun["sessions"]) == ("running", 0)
        eventually(lambda: self.call("getErasure", begun["erasure"])["state"] == "done")
        # A relay without a cluster.
        for operation in ("getCluster", "stepDown", "publishSnapshot"):
            if hasattr(Stillwire, generate.snake(operation)):
                with pytest.raises(NotFoundError):
                    self.call(operation)

    def users(self) -> None:
        assert self.call("setProfile", "ann", name="Ann", handle="+4930123456")["handle"] == "+4930123456"
        assert "handle" not in self.call("setProfile", "ann", handle=None)
        assert self.call("getPresence", "ann")["online"] is False
        assert [entry["user"] for entry in self.call("listPresence", ["ann", "bob"])["presence"]] == ["ann", "bob"]
        begun = self.first("followPresence", ["ann", "team-*"])
        assert (begun["event"], begun["data"]) == ("reset", {"reason": "new"})
        assert self.first("followPresence", after=begun["id"]) == {"id": begun["id"], "event": "resumed", "data": {}}
        assert self.call("reportFocus", "bob", True, device="phone")["isFocused"] is True
        assert self.call("reportFilter", "bob", False, device="phone")["applied"] is True
        muted = {"work": {"level": "none"}}
        assert self.call("setPreferences", "bob", rooms=muted)["rooms"] == muted
        assert self.call("setPreferences", "bob", rooms={"work": None})["rooms"] == {}
        assert self.call("getPreferences", "bob")["quietHours"] is None
        assert self.call("setStatus", "bob", text="On holiday")["status"] == {"text": "On holiday"}
        assert self.call("blockUser", "bob", "eve") == {"user": "bob", "blocked": "eve"}
        assert self.call("unblockUser", "bob", "eve") is None
        phone = {"platform": "simulator", "app": "org.example.chat"}
        assert self.call("registerDevice", "bob", "phone", "bob-phone", **phone)["reportKey"].startswith("swr_")
        assert self.call("getDevice", "bob", "phone")["platform"] == "simulator"
        assert [device["device"] for device in self.call("listDevices", "bob", limit=10)["devices"]] == ["phone"]
        assert self.call("listSessions", "bob") == {"sessions": [], "more": False}
        assert self.call("listAllSessions", prefix="bob") == {"sessions": [], "more": False}
        (bob,) = self.call("listUsers", prefix="bob", limit=1)["users"]
        assert (bob["user"], bob["online"], bob["devices"]) == ("bob", False, 1)
        assert self.call("revokeReportKeys", "bob", "phone") is None
        assert self.call("revokeAllReportKeys", "bob") is None
        self.call("registerDevice", "ann", "tablet", "ann-tablet", **phone)
        assert self.call("forgetDevice", "ann", "tablet") is None

    def rooms(self) -> None:
        made = self.call("createRoom", owner="ann", title="Books", members=["bob"], key="books")
        assert made["room"].startswith("group.") and made["version"] == 1
        assert made["room"] in [room["room"] for room in self.call("listAllRooms", prefix="group.")["rooms"]]
        assert self.call("createRoom", owner="ann", title="Books", key="books")["duplicate"] is True
        assert self.call("updateRoom", made["room"], title="Good books", version=1)["version"] == 2
        with pytest.raises(ConflictError):
            self.call("updateRoom", made["room"], title="Books", version=1)
        assert self.call("getRoom", made["room"])["title"] == "Good books"
        moderator = {"room": made["room"], "user": "bob", "role": "moderator"}
        assert self.call("setRole", made["room"], "bob", "moderator") == moderator
        self.moderation(made["room"])
        assert self.call("removeMember", made["room"], "bob", ban=True) is None
        assert self.call("deleteRoom", made["room"]) is None
        with pytest.raises(NotFoundError):
            self.call("getRoom", made["room"])
        pair = self.call("openDirectRoom", "ann", "bob")
        assert self.call("openDirectRoom", "bob", "ann")["room"] == pair["room"]
        listed = self.call("listRooms", "bob", limit=100)["rooms"]
        assert next(entry for entry in listed if entry["room"] == pair["room"])["members"]["other"]["user"] == "ann"
        # A backend invites nobody.
        assert self.call("listInvitations", "bob", limit=10) == {"invitations": []}
        assert self.call("acceptInvitation", "bob", pair["room"])["memberCount"] == 2
        assert self.call("declineInvitation", "bob", pair["room"]) is None

    def moderation(self, room: str) -> None:
        restriction = {"room": room, "user": "bob", "until": 1893456000000}
        assert self.call("restrictMember", room, "bob", until=restriction["until"]) == restriction
        assert self.call("restrictMember", room, "bob") == {"room": room, "user": "bob"}
        sent = self.call("sendMessage", room, "buy pills", from_="bob")
        report = self.call("reportMessage", room, sent["seq"], "spam", user="ann")
        assert (report["from"], report["user"], report["state"]) == ("bob", "ann", "open")
        assert self.call("listReports", room, state="open")["reports"] == [report]
        assert self.call("listAllReports", limit=1)["reports"] == [report]
        ended = self.call("resolveReport", room, report["report"], "dismissed")
        assert (ended["state"], ended["report"]) == ("dismissed", report["report"])

    def messages(self) -> None:
        for user in ("ann", "bob", "eve"):
            assert self.call("addMember", "tea", user)["user"] == user
        assert self.call("removeMember", "tea", "eve") is None
        assert [member["user"] for member in self.call("listMembers", "tea")["members"]] == ["ann", "bob"]
        sent = self.call("sendMessage", "tea", {"text": "Kettle is on"}, from_="ann", key="order-17")
        assert (sent["seq"], sent["delivery"]["quiet"]) == (1, ["bob"])
        assert self.call("sendMessage", "tea", {}, from_="ann", key="order-17")["duplicate"] is True
        assert self.call("editMessage", "tea", 1, {"text": "The kettle is on"}, from_="ann")["seq"] == 1
        assert self.call("notifyAnyway", "tea", 1, from_="ann", users=["bob"]) == {"push": 1}
        assert self.call("markRead", "tea", 1, user="bob")["read"] == 1
        self.call("sendMessage", "tea", "oops", from_="ann")
        assert self.call("react", "tea", 1, "👍", from_="ann")["reactions"][0]["users"] == ["ann"]
        assert self.call("unreact", "tea", 1, "👍", from_="ann")["reactions"] == []
        assert self.call("pinMessage", "tea", 1)["pinned"] is True
        assert [pin["seq"] for pin in self.call("listPins", "tea")["pins"]] == [1]
        assert self.call("unpinMessage", "tea", 1)["pinned"] is False
        assert self.call("deleteMessage", "tea", 2) is None
        assert [message["seq"] for message in self.call("listMessages", "tea", limit=10)["messages"]] == [1, 2]

    def calls(self) -> None:
        room = self.call("openDirectRoom", "ann", "bob")["room"]
        rung = self.call("ring", room, from_="ann", media="video", push={"expires": 60})
        assert (rung["state"], rung["media"]) == ("ringing", "video")
        assert self.call("answerCall", room, rung["seq"], user="bob", device="tablet")["state"] == "answered"
        with pytest.raises(ConflictError):
            self.call("answerCall", room, rung["seq"], user="bob", device="phone")
        assert self.call("hangUpCall", room, rung["seq"], user="ann")["state"] == "ended"
        declined = self.call("ring", room, from_="ann")
        assert self.call("declineCall", room, declined["seq"], user="bob")["state"] == "declined"
        assert self.call("getCall", room, rung["seq"])["state"] == "ended"
        listed = self.call("listCalls", room, limit=20)["calls"]
        assert [call["seq"] for call in listed] == [declined["seq"], rung["seq"]]

    def pushes(self) -> None:
        changed = self.call("setCategories", [CATEGORY], version=0)
        assert self.call("getCategories") == changed
        assert self.call("lintPush", {"aps": {"alert": "Hi", "badge": "1"}})["findings"]
        assert len(self.call("decide", "tea", "ann", "bob")["devices"]) == 1
        sent = self.call("sendMessage", "tea", "Come", from_="ann", push={"category": "invitation"})
        pushes = self.call("listPushes", user="bob", limit=100)["pushes"]
        push = next(push for push in pushes if push.get("seq") == sent["seq"])["id"]
        eventually(lambda: self.call("explainPush", push)["state"] == "sent")
        (payload,) = [
            shown["payload"]
            for shown in self.call("getLockScreen", "bob-phone")["notifications"]
            if shown["payload"]["communication"]["notification"] == push
        ]
        assert self.call("receivePush", push, receipt=payload["communication"]["receipt"])["received"] > 0
        assert self.call("respond", push, "accept", user="bob")["action"] == "accept"
        with pytest.raises(ConflictError):
            self.call("retryPush", push)
        assert self.call("retryPushes", user="bob") == {"pushes": [], "more": False}
        notified = self.call("notifyUser", "bob", {"title": "Shop", "body": "Your tea is on its way."}, from_="shop")
        assert notified["devices"][0]["device"] == "phone"

    def simulator(self) -> None:
        with repeatedly(lambda relay: relay.send_message("tea", "Kettle", from_="ann"), self._relay):
            # Earlier pushes may still change the badge.
            while (event := self.first("followLockScreen", "bob-phone"))["event"] == "badge":
                pass
        assert event["event"] == "notification" and "aps" in event["data"]["payload"]
        assert self.call("setReachable", "bob-phone", False) == {"isReachable": False}

    def first(self, operation: str, *arguments: Any, **fields: Any) -> Any:
        """Returns the first event of a stream."""
        self.called.add(operation)

        def first(client: Any) -> Any:
            events = getattr(client, generate.snake(operation))(*arguments, **fields)
            return anext(events) if hasattr(events, "__anext__") else next(events)

        return self._both.call(first)


@contextmanager
def repeatedly(act: Callable[[Stillwire], object], relay: Relay) -> Iterator[None]:
    """Repeats a call in another thread during the context."""
    has_ended = threading.Event()

    def repeat() -> None:
        with Stillwire(relay.origin) as client:
            while not has_ended.wait(0.1):
                act(client)

    thread = threading.Thread(target=repeat)
    thread.start()
    try:
        yield
    finally:
        has_ended.set()
        thread.join()


def test_each_operation_has_its_effect(is_async: bool, tmp_path: Path, document: dict[str, Any]) -> None:
    with running(tmp_path) as relay:
        scenario = Scenario(relay, is_async)
        scenario.play()
    operations = {
        details["operationId"]
        for methods in document["paths"].values()
        for method, details in methods.items()
        if method != "parameters"
    }
    assert operations - scenario.called == set(WITHOUT)


def test_a_user_answers_the_invitations_of_a_stranger(is_async: bool, tmp_path: Path) -> None:
    with running(tmp_path, secret=tokens.secret_file(tmp_path)) as relay:
        ann, bob = (
            Both(is_async, relay.origin, api_key=tokens.token(tokens.SECRET, tokens.claims(user)))
            for user in ("ann", "bob")
        )
        books, cakes = (
            ann.call(lambda client, title=title: client.create_room(title=title))["room"]
            for title in ("Books", "Cakes")
        )
        for room in (books, cakes):
            added = ann.call(lambda client, room=room: client.add_member(room, "bob"))
            assert added == {"room": room, "user": "bob", "invited": True}
        first = bob.call(lambda client: client.list_invitations("me", limit=1))
        second = bob.call(lambda client: client.list_invitations("me", limit=1, after=first["next"]))
        (invitation,) = first["invitations"]
        assert (invitation["room"], invitation["kind"], invitation["title"]) == (cakes, "group", "Cakes")
        assert invitation["by"] == {"user": "ann"} and "next" not in second
        assert [entry["room"] for entry in second["invitations"]] == [books]

        assert bob.call(lambda client: client.decline_invitation("me", cakes)) is None
        accepted = bob.call(lambda client: client.accept_invitation("me", books))
        assert (accepted["user"], accepted["memberCount"]) == ("bob", 2)
        assert bob.call(lambda client: client.list_invitations("me")) == {"invitations": []}
        with pytest.raises(NotFoundError):
            bob.call(lambda client: client.accept_invitation("me", cakes))


def test_iterations_read_all_pages_of_a_relay(is_async: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("stillwire.client._MESSAGES", 2)
    monkeypatch.setattr("stillwire.client._ENTRIES", 2)
    with running(tmp_path) as relay:
        users = ["ann", "bob", "eve"]
        with Stillwire(relay.origin) as client:
            for user in users:
                client.add_member("tea", user)
            for number in range(5):
                client.send_message("tea", number, from_="ann")
        both = Both(is_async, relay.origin)
        assert [message["body"] for message in both.call(lambda client: client.iterate_messages("tea"))] == [*range(5)]
        assert [member["user"] for member in both.call(lambda client: client.iterate_members("tea"))] == users


def test_an_error_of_a_relay_names_its_location(is_async: bool, tmp_path: Path) -> None:
    with running(tmp_path) as relay:
        both = Both(is_async, relay.origin)
        both.call(lambda client: client.add_member("tea", "ann"))
        with pytest.raises(BadRequestError) as failure:
            both.call(lambda client: client.send_message("tea", "x", from_="ann", push={"tilte": "Shop"}))
        assert (failure.value.status, failure.value.at) == (422, "/push/tilte")
