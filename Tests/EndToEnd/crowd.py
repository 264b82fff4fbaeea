# SPDX-License-Identifier: Apache-2.0
"""Many concurrent senders. Each records its acknowledged messages and the messages of others that it received."""

import asyncio
import json
from dataclasses import dataclass, field

from relay import Relay
from rfc6455 import Connection


@dataclass
class Sender:
    """A connection that sends messages with keys to its room, and has a few unanswered requests at a time."""

    user: str
    room: str
    most: int
    #: The acknowledged seq, by body.
    acknowledged: dict[str, int] = field(default_factory=dict)
    #: The bodies that may or may not have been stored.
    unanswered: set[str] = field(default_factory=set)
    #: The bodies of received messages, by seq.
    seen: dict[int, str] = field(default_factory=dict)


class Crowd:
    """Senders who send until the relay is killed or all messages are sent."""

    def __init__(self, relay: Relay, senders: list[Sender], window: int = 4):
        self.senders = senders
        self._relay = relay
        self._window = window

    @property
    def acknowledged(self) -> int:
        return sum(len(sender.acknowledged) for sender in self.senders)

    async def talk(self, kill_after: int) -> None:
        """Sends messages, and kills the relay when `kill_after` messages are acknowledged."""
        talking = [asyncio.create_task(self._talk(sender)) for sender in self.senders]
        while self.acknowledged < kill_after and not all(task.done() for task in talking):
            await asyncio.sleep(0.002)
        self._relay.kill()
        await asyncio.gather(*talking)

    async def repeat(self) -> None:
        """Sends all messages again, like a client that does not know which messages arrived."""
        await asyncio.gather(*(self._repeat(sender) for sender in self.senders))

    async def _talk(self, sender: Sender) -> None:
        try:
            async with await Connection.open(self._relay.port) as socket:
                await _enter(socket, sender)
                for number in range(self._window):
                    _send(socket, sender, f"{sender.user} {number}")
                next_number = self._window
                async for text in socket:
                    frame = json.loads(text)
                    if frame["type"] == "message":
                        sender.seen[frame["seq"]] = frame["body"]
                    elif frame["type"] == "ok":
                        sender.acknowledged[frame["id"]] = frame["seq"]
                        sender.unanswered.discard(frame["id"])
                        if next_number < sender.most:
                            _send(socket, sender, f"{sender.user} {next_number}")
                            next_number += 1
                        elif not sender.unanswered:
                            return
                    else:
                        assert frame["type"] in ("presence", "member"), frame
        except OSError:
            # `talk` has killed the relay.
            pass

    async def _repeat(self, sender: Sender) -> None:
        async with await Connection.open(self._relay.port) as socket:
            await _enter(socket, sender)
            for body in [*sender.acknowledged, *sender.unanswered]:
                _send(socket, sender, body)
            while sender.unanswered:
                frame = json.loads(await socket.text())
                if "id" not in frame:
                    continue
                assert frame["type"] == "ok", frame
                promised = sender.acknowledged.setdefault(frame["id"], frame["seq"])
                assert promised == frame["seq"], f"{frame['id']!r} was {promised} and is {frame}"
                sender.unanswered.discard(frame["id"])


async def _enter(socket: Connection, sender: Sender) -> None:
    socket.send_text(json.dumps({"type": "hello", "user": sender.user}))
    socket.send_text(json.dumps({"type": "join", "id": "join", "room": sender.room}))
    while json.loads(await socket.text()).get("id") != "join":
        pass


def _send(socket: Connection, sender: Sender, body: str) -> None:
    sender.unanswered.add(body)
    socket.send_text(json.dumps({"type": "send", "id": body, "room": sender.room, "body": body, "key": body}))
