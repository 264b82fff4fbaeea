# SPDX-License-Identifier: Apache-2.0
"""With a real relay, every client gets invitations of strangers, accepts, declines, and blocks the inviter."""

import asyncio
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

import pytest

from clients import CLIENTS
from driver import Driver
from relay import DEADLINE, Relay, running


class User:
    """A user with a client."""

    def __init__(self, name: str, driver: Driver):
        self.name = name
        self.driver = driver
        self._tags = 0

    async def do(self, command: str, **fields: Any) -> dict[str, Any]:
        """Gives a command, and returns its reply."""
        self._tags += 1
        self.driver.command(command, tag=str(self._tags), **fields)
        replied = await self.next("sent" if command == "send" else "replied")
        assert replied["tag"] == str(self._tags)
        return replied["reply"]

    async def request(self, request: str, **fields: Any) -> dict[str, Any]:
        return await self.do("request", type=request, fields=fields)

    async def join(self, room: str) -> None:
        self.driver.command("join", room=room, history=50)
        assert (await self.next("joined"))["room"] == room

    async def next(self, kind: str) -> dict[str, Any]:
        """Returns the next output of this kind."""
        return await asyncio.wait_for(self.driver.events[kind].get(), DEADLINE)

    async def invited_rooms(self) -> list[str]:
        return [invitation["room"] for invitation in (await self.do("invitations"))["invitations"]]


async def connected(stack: AsyncExitStack, client: str, relay: Relay, name: str) -> User:
    """Starts a client of a user, and connects it."""
    options = {"hello": {"user": name, "name": name.title()}, "clock": "real"}
    url = f"ws://127.0.0.1:{relay.port}/v1/connect"
    user = User(name, await stack.enter_async_context(Driver(CLIENTS[client], url, options)))
    user.driver.command("connect")
    while (await user.next("state"))["state"] != "open":
        pass
    return user


@pytest.mark.parametrize("client", CLIENTS)
def test_a_user_answers_the_invitations_of_strangers(client: str, tmp_path: Path) -> None:
    with running(tmp_path) as relay:
        asyncio.run(asyncio.wait_for(answered(client, relay), 4 * DEADLINE))


async def answered(client: str, relay: Relay) -> None:
    async with AsyncExitStack() as stack:
        ann = await connected(stack, client, relay, "ann")
        bob = await connected(stack, client, relay, "bob")
        assert (await bob.do("invitationCount"))["count"] == 0
        await accepted(ann, bob)

        eve = await connected(stack, client, relay, "eve")
        await declined(eve, bob)
        # A new client knows the number before it lists the invitations.
        group = (await eve.request("create", title="Books", members=["bob"]))["room"]
        assert (await bob.next("invitation"))["title"] == "Books"
        tablet = await connected(stack, client, relay, "bob")
        assert (await tablet.do("invitationCount"))["count"] == 1
        assert await tablet.invited_rooms() == [group]
        await blocked(eve, bob, tablet, group)


async def accepted(ann: User, bob: User) -> None:
    room = (await ann.request("direct", user="bob"))["room"]
    event = await bob.next("invitation")
    assert (event["event"], event["room"], event["kind"], event["members"]) == ("added", room, "direct", 2)
    assert event["by"] == {"user": "ann", "name": "Ann"}
    [entry] = (await bob.do("invitations"))["invitations"]
    assert entry.items() <= event.items()
    await ann.join(room)
    assert (await ann.do("send", room=room, body={"text": "Tea at four?"}))["seq"] == 1

    membership = await bob.do("acceptInvitation", room=room)
    expected = {"room": room, "user": "bob", "seq": 1, "read": 0, "memberCount": 2}
    assert expected.items() <= membership.items()
    event = await bob.next("invitation")
    assert (event["event"], event["room"], event["cause"]) == ("ended", room, "accepted")
    assert await bob.invited_rooms() == []
    await bob.join(room)
    message = await bob.next("message")
    assert (message["seq"], message["from"], message["body"]) == (1, "ann", {"text": "Tea at four?"})
    member = await ann.next("member")
    assert (member["event"], member["user"]) == ("joined", "bob")


async def declined(eve: User, bob: User) -> None:
    room = (await eve.request("direct", user="bob"))["room"]
    assert (await bob.next("invitation"))["by"]["user"] == "eve"
    await bob.do("declineInvitation", room=room)
    event = await bob.next("invitation")
    assert (event["event"], event["room"], event["cause"]) == ("ended", room, "declined")
    assert await bob.invited_rooms() == []
    # A second answer: nothing to decline, and nothing to accept.
    await bob.do("declineInvitation", room=room)
    bob.driver.command("acceptInvitation", tag="late", room=room)
    assert (await bob.next("failed"))["code"] == "not_found"


async def blocked(eve: User, bob: User, tablet: User, room: str) -> None:
    await tablet.request("block", users=["eve"])
    for user in (bob, tablet):
        event = await user.next("invitation")
        assert (event["event"], event["room"], event["cause"]) == ("ended", room, "blocked")
        assert await user.invited_rooms() == []
    # Later invitations of the blocked user are hidden.
    assert (await eve.request("add", room=room, user="bob"))["invited"] is True
    await eve.request("create", title="Cakes", members=["bob"])
    await bob.driver.settle()
    assert await bob.invited_rooms() == [] and bob.driver.events["invitation"].empty()
