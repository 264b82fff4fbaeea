# SPDX-License-Identifier: Apache-2.0
"""Plays a case, with the scripted relay on one side and the app's commands on the other."""

import asyncio
import base64
import json
from collections.abc import Sequence
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

from driver import Driver
from match import Mismatch, filled, match
from relay import DEADLINE
from scripted_relay import Answer, Connection, ScriptedRelay

HERE = Path(__file__).parent
PARTS = json.loads((HERE / "parts.json").read_text())
#: Kinds of output that are so frequent that a case need not expect them, unless it names them in `strict`.
USUAL = {"state", "token", "joined", "presence", "person"}


class Player:
    """Plays the steps of one case to one client."""

    def __init__(
        self, relays: dict[str, ScriptedRelay], strangers: dict[str, ScriptedRelay], driver: Driver, strict: Sequence[str]
    ):
        self._relays = relays
        self._strangers = strangers
        self._driver = driver
        self._free = USUAL - set(strict)
        self._connection: Connection | None = None
        self._taken: dict[str, Any] = {}

    async def play(self, steps: list[dict[str, Any]]) -> None:
        for step in steps:
            for single in repeated(step):
                self._driver.log.append(f"step   {json.dumps(single)[:500]}")
                await self._take(single)

    async def _take(self, step: dict[str, Any]) -> None:
        (verb,) = step.keys() & VERBS.keys()
        rest = {key: value for key, value in step.items() if key != verb}
        work = asyncio.create_task(VERBS[verb](self, step[verb], **rest))
        await asyncio.wait({work, self._driver.reading}, timeout=DEADLINE, return_when=asyncio.FIRST_COMPLETED)
        if not work.done():
            work.cancel()
            raise AssertionError(f"this step has no result: {json.dumps(step)}")
        work.result()

    async def _do(self, name: str, **fields: Any) -> None:
        # The client must process all earlier frames before the command, and the command before all later frames.
        await self._settle()
        self._driver.command(name, **filled(fields, self._taken))
        if name == "advance":
            await self._driver.events["advanced"].get()
        await self._driver.settle()

    async def _play(self, name: str, **values: Any) -> None:
        await self.play(filled(PARTS[name], values, is_strict=False))

    async def _accept(self, how: Answer, of: str | None = None) -> None:
        relay = self._relays[of] if of else next(iter(self._relays.values()))
        if isinstance(how, dict) and "leader" in how:
            nodes = {name: node.authority for name, node in (self._relays | self._strangers).items()}
            how = {**how, "leader": how["leader"].format(**nodes)}
        self._connection = await relay.accept(how)

    async def _expect(self, pattern: dict[str, Any]) -> None:
        match(pattern, await self._frame(), self._taken)

    async def _expect_all(self, patterns: list[dict[str, Any]]) -> None:
        left = list(patterns)
        while left:
            frame = await self._frame()
            for pattern in left:
                taken = dict(self._taken)
                try:
                    match(pattern, frame, taken)
                except Mismatch:
                    continue
                self._taken = taken
                left.remove(pattern)
                break
            else:
                raise Mismatch(f"{frame} matches none of {left}")

    async def _frame(self) -> dict[str, Any]:
        frame = await self._connection.frames.get()
        self._driver.log.append(f"frame  {json.dumps(frame)[:500]}")
        assert frame is not None, f"the client ended the connection with {self._connection.code}"
        return frame

    async def _say(self, frame: dict[str, Any]) -> None:
        await self._connection.say(json.dumps(filled(frame, self._taken)))

    async def _say_text(self, text: str) -> None:
        await self._connection.say(text)

    async def _say_binary(self, text: str) -> None:
        await self._connection.say(base64.b64decode(text))

    async def _close(self, code: int, reason: str = "") -> None:
        await self._connection.close(code, reason)

    async def _drop(self, _: bool) -> None:
        self._connection.drop()

    async def _gone(self, pattern: dict[str, Any]) -> None:
        frame = await self._connection.frames.get()
        assert frame is None, f"the client sends {frame} instead of its end"
        match(pattern, {"code": self._connection.code}, self._taken)

    async def _see(self, pattern: dict[str, Any]) -> None:
        kind = pattern["app"]
        wanted = {key: value for key, value in pattern.items() if key != "app"}
        match(wanted, await self._driver.events[kind].get(), self._taken)

    async def _quiet(self, _: bool) -> None:
        await self._settle()
        for name, relay in self._relays.items():
            assert relay.knocks.empty(), f"the client connects to {name}"
        for name, stranger in self._strangers.items():
            assert stranger.requests == 0, f"the client sends a request to {name}"
        if self._connection and not self._connection.frames.empty():
            frame = self._connection.frames.get_nowait()
            assert frame is None, f"the client sends {frame}"
            # The end of the connection is not a frame: a later `gone` may expect it.
            self._connection.frames.put_nowait(frame)
        for kind, queue in self._driver.events.items():
            if kind not in self._free and not queue.empty():
                raise AssertionError(f"the app receives {kind} {queue.get_nowait()}")

    # The first round trip delivers the relay's frames to the client. The last one delivers the client's answers.
    async def _settle(self) -> None:
        if self._connection and not self._connection.is_over:
            await self._connection.settle()
        await self._driver.settle()
        if self._connection and not self._connection.is_over:
            await self._connection.settle()


VERBS = {
    "do": Player._do,
    "play": Player._play,
    "accept": Player._accept,
    "expect": Player._expect,
    "expectAll": Player._expect_all,
    "say": Player._say,
    "sayText": Player._say_text,
    "sayBinary": Player._say_binary,
    "close": Player._close,
    "drop": Player._drop,
    "gone": Player._gone,
    "see": Player._see,
    "quiet": Player._quiet,
}


def repeated(step: dict[str, Any]) -> list[dict[str, Any]]:
    """Returns the step once for each number of its `for`."""
    if "for" not in step:
        return [step]
    ((name, (first, last)),) = step["for"].items()
    once = {key: value for key, value in step.items() if key != "for"}
    return [filled(once, {name: number}, is_strict=False) for number in range(first, last + 1)]


async def play_case(command: Sequence[str], case: dict[str, Any]) -> None:
    """Plays a case to the client that `command` starts. A failure contains the log until then."""
    async with AsyncExitStack() as stack:
        relays = {name: await stack.enter_async_context(ScriptedRelay()) for name in case.get("relays", ["a"])}
        strangers = {name: await stack.enter_async_context(ScriptedRelay()) for name in case.get("strangers", [])}
        driver = Driver(command, " ".join(relay.url for relay in relays.values()), case.get("options", {}))
        try:
            async with driver:
                player = Player(relays, strangers, driver, case.get("strict", ()))
                await player.play([*case["steps"], {"quiet": True}])
        except AssertionError as failure:
            raise AssertionError("\n".join([str(failure), *driver.log[-40:]])) from None
