# SPDX-License-Identifier: Apache-2.0
"""Users with phones, and the room in which Alice writes to them."""

import itertools
import time
from collections.abc import Callable
from typing import Any

from api import Answer, call
from client import Frame, Session
from phone import Phone
from relay import Relay
from waiting import eventually

HOUR = 3_600_000


def now() -> int:
    """Returns the time in milliseconds, as in requests."""
    return int(time.time() * 1000)


class Person:
    """A user whose requests use HTTP, in the relay's open mode, so that they need no session."""

    def __init__(self, relay: Relay, user: str, session: Session | None = None):
        self.user = user
        self.session = session
        self.phone = Phone(relay, f"{user}-phone")
        self._relay = relay

    def ask(self, method: str, what: str, body: Any = None) -> Answer:
        return call(self._relay, method, f"/v1/users/{self.user}/{what}", body, user=self.user)

    def put(self, what: str, body: Any) -> dict[str, Any]:
        answer = self.ask("PUT", what, body)
        assert answer.status == 200, answer
        return answer.json

    def register(self, device: str = "phone", **fields: Any) -> Phone:
        """Registers a device, and returns its phone."""
        phone = Phone(self._relay, f"{self.user}-{device}")
        self.put(f"devices/{device}", phone.registration | fields)
        return phone

    def forget(self, device: str = "phone") -> None:
        assert self.ask("DELETE", f"devices/{device}").status == 204

    def focus(self, is_focused: bool | None, **fields: Any) -> dict[str, Any]:
        return self.put("focus", {"isFocused": is_focused, "device": "phone"} | fields)

    def filter(self, *allow: str, **fields: Any) -> dict[str, Any]:
        """Reports an active filter that permits these criteria. `fields` replace the other fields of the report."""
        return self.put("filter", {"active": True, "allow": list(allow), "device": "phone"} | fields)

    def prefer(self, **fields: Any) -> dict[str, Any]:
        return self.put("preferences", fields)

    def block(self, other: "Person | Session") -> None:
        self.put(f"blocks/{other.user}", {})

    def unblock(self, other: "Person | Session") -> None:
        assert self.ask("DELETE", f"blocks/{other.user}").status == 204


class Circle:
    """A room in which Alice writes."""

    def __init__(self, connect: Callable[..., Session], names: Callable[..., list[str]], relay: Relay):
        self.relay = relay
        self._connect = connect
        self._names = names
        self._marks = itertools.count(1)
        self._marker: Person | None = None
        user, self.room = names("alice", "room")
        self.alice = connect(relay, user, name="Alice")
        self.alice.join(self.room)

    def stranger(self, stem: str, **hello: Any) -> Person:
        """Returns a user with a session who is in no room."""
        (user,) = self._names(stem)
        return Person(self.relay, user, self._connect(self.relay, user, **hello))

    def live(self, stem: str, *rooms: str, **hello: Any) -> Person:
        """Returns a member with a phone and with a session in the room."""
        person = self.stranger(stem, **hello)
        person.register()
        for room in rooms or [self.room]:
            person.session.join(room)
        return person

    def away(self, stem: str, *rooms: str, **preferences: Any) -> Person:
        """Returns a member with a phone who has closed the session."""
        person = self.live(stem, *rooms)
        if preferences:
            person.prefer(**preferences)
        person.session.close(1000)
        self.alice.expect("presence", user=person.user, online=False)
        return person

    def silenced(self, stem: str, *rooms: str, **preferences: Any) -> Person:
        """The same, but a Focus that holds pushes is on."""
        person = self.away(stem, *rooms, **({"onFocus": "hold"} | preferences))
        assert person.focus(True)["isFocused"] is True
        return person

    def back(self, person: Person | Session, **hello: Any) -> Session:
        """Opens a new session of a user, in no room yet."""
        return self._connect(self.relay, person.user, **hello)

    def restart(self, end: Callable[[Relay], Any] = Relay.kill) -> None:
        """Ends the relay and starts it again. Alice joins her room again. The simulated phones are empty."""
        end(self.relay)
        self.relay.start()
        self._marker = None
        self.alice = self.back(self.alice, name="Alice")
        self.alice.join(self.room)

    def send(self, body: Any, room: str | None = None, **fields: Any) -> Frame:
        return self.alice.send(room or self.room, body, **fields)

    def post(self, body: Any, **fields: Any) -> dict[str, Any]:
        """Sends a message from Alice over HTTP."""
        path = f"/v1/rooms/{self.room}/messages"
        answer = call(self.relay, "POST", path, {"from": self.alice.user, "body": body} | fields, user=self.alice.user)
        assert answer.status == 201, answer
        return answer.json

    def pass_due(self) -> None:
        """Waits until all due pushes are sent: a later push to another member has arrived."""
        room = f"{self.room}-marker"
        if self._marker is None:
            self.alice.join(room)
            self._marker = self.away("marker", room)
        text = f"mark {next(self._marks)}"
        self.alice.send(room, text)
        self._marker.phone.ring(text)


def pushed_sender(writer: Session, reader: Session, relay: Relay, backend: str, room: str) -> dict[str, Any]:
    """Disconnects the reader, sends a message to the room, and returns the sender in its push."""
    user = reader.welcome["user"]
    reader.request("device", device="phone", platform="simulator", token=user)
    reader.close(1000)
    writer.expect("presence", user=user, online=False)
    writer.send(room, "hi")

    def notifications() -> list[dict[str, Any]]:
        return call(relay, "GET", f"/v1/simulator/devices/{user}", token=backend).json["notifications"]

    return eventually(notifications)[0]["payload"]["communication"]["sender"]


def without_ids(notification: dict[str, Any]) -> dict[str, Any]:
    """Returns a notification without the user and the values that differ in every notification."""
    payload, headers = dict(notification["payload"]), dict(notification["headers"])
    for part in payload.keys() & {"communication", "push"}:
        payload[part] = {key: value for key, value in payload[part].items() if key not in ("recipient", "notification", "receipt")}
    del headers["apns-id"]
    # The collapse id ends with the recipient.
    headers["apns-collapse-id"] = headers["apns-collapse-id"].rpartition("/")[0]
    return {"payload": payload, "headers": headers}
