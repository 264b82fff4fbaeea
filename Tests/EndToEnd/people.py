# SPDX-License-Identifier: Apache-2.0
"""People with phones, and the room in which somebody writes to them."""

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
    """The time as requests tell it."""
    return int(time.time() * 1000)


class Person:
    """Somebody who needs no session to be heard: all is asked over HTTP, in the relay's open mode."""

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
        """Says what a device is, and returns its lock screen."""
        phone = Phone(self._relay, f"{self.user}-{device}")
        self.put(f"devices/{device}", phone.registration | fields)
        return phone

    def forget(self, device: str = "phone") -> None:
        assert self.ask("DELETE", f"devices/{device}").status == 204

    def focus(self, is_focused: bool | None, **fields: Any) -> dict[str, Any]:
        return self.put("focus", {"isFocused": is_focused, "device": "phone"} | fields)

    def filter(self, *allow: str, **fields: Any) -> dict[str, Any]:
        """An active filter that lets these criteria through, unless the fields say otherwise."""
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
        """Somebody who is there, and in no room."""
        (user,) = self._names(stem)
        return Person(self.relay, user, self._connect(self.relay, user, **hello))

    def live(self, stem: str, *rooms: str, **hello: Any) -> Person:
        """A member who has a phone, and a session in the room."""
        person = self.stranger(stem, **hello)
        person.register()
        for room in rooms or [self.room]:
            person.session.join(room)
        return person

    def away(self, stem: str, *rooms: str, **preferences: Any) -> Person:
        """A member who has a phone, and has said goodbye."""
        person = self.live(stem, *rooms)
        if preferences:
            person.prefer(**preferences)
        person.session.close(1000)
        self.alice.expect("presence", user=person.user, online=False)
        return person

    def silenced(self, stem: str, *rooms: str, **preferences: Any) -> Person:
        """The same, on whose phone a Focus is on that holds pushes."""
        person = self.away(stem, *rooms, **({"onFocus": "hold"} | preferences))
        assert person.focus(True)["isFocused"] is True
        return person

    def back(self, person: Person | Session, **hello: Any) -> Session:
        """A new session of somebody, in no room yet."""
        return self._connect(self.relay, person.user, **hello)

    def restart(self, end: Callable[[Relay], Any] = Relay.kill) -> None:
        """Ends the relay and starts it again; Alice comes back to her room. What the phones showed is forgotten."""
        end(self.relay)
        self.relay.start()
        self._marker = None
        self.alice = self.back(self.alice, name="Alice")
        self.alice.join(self.room)

    def send(self, body: Any, room: str | None = None, **fields: Any) -> Frame:
        return self.alice.send(room or self.room, body, **fields)

    def post(self, body: Any, **fields: Any) -> dict[str, Any]:
        """Alice writes over HTTP."""
        path = f"/v1/rooms/{self.room}/messages"
        answer = call(self.relay, "POST", path, {"from": self.alice.user, "body": body} | fields, user=self.alice.user)
        assert answer.status == 201, answer
        return answer.json

    def pass_due(self) -> None:
        """Waits until what was due before has been pushed: a push made now, to somebody else, has arrived."""
        room = f"{self.room}-marker"
        if self._marker is None:
            self.alice.join(room)
            self._marker = self.away("marker", room)
        text = f"mark {next(self._marks)}"
        self.alice.send(room, text)
        self._marker.phone.ring(text)


def pushed_sender(writer: Session, reader: Session, relay: Relay, backend: str, room: str) -> dict[str, Any]:
    """Disconnects the reader. Returns the sender in the push of a message that the writer sends to their room."""
    user = reader.welcome["user"]
    reader.request("device", device="phone", platform="simulator", token=user)
    reader.close(1000)
    writer.expect("presence", user=user, online=False)
    writer.send(room, "hi")

    def notifications() -> list[dict[str, Any]]:
        return call(relay, "GET", f"/v1/simulator/devices/{user}", token=backend).json["notifications"]

    return eventually(notifications)[0]["payload"]["communication"]["sender"]


def without_ids(notification: dict[str, Any]) -> dict[str, Any]:
    """A notification but for what is another one's in every other."""
    payload, headers = dict(notification["payload"]), dict(notification["headers"])
    for part in payload.keys() & {"communication", "push"}:
        payload[part] = {key: value for key, value in payload[part].items() if key not in ("notification", "receipt")}
    del headers["apns-id"]
    return {"payload": payload, "headers": headers}
