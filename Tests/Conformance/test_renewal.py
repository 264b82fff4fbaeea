# SPDX-License-Identifier: Apache-2.0
"""With a real relay and a token that expires, every client continues with a newer token."""

import asyncio
import json
import time
from pathlib import Path

import pytest

import tokens
from clients import CLIENTS
from driver import Driver
from relay import DEADLINE, SLOW, Relay, running
from rfc6455 import Connection

#: Seconds until the first token expires. The client must connect in this time, and renews the token after half of it.
LIFE = int(15 * SLOW)


@pytest.mark.parametrize("client", CLIENTS)
def test_a_session_outlives_its_first_token(client: str, tmp_path: Path) -> None:
    with running(tmp_path, "--tokens-grace", "0", secret=tokens.secret_file(tmp_path)) as relay:
        asyncio.run(asyncio.wait_for(outlive(client, relay), LIFE + DEADLINE))


async def outlive(client: str, relay: Relay) -> None:
    url = f"ws://127.0.0.1:{relay.port}/v1/connect"
    end = int(time.time()) + LIFE
    first, second = (tokens.token(tokens.SECRET, tokens.claims("ann", exp=exp)) for exp in (end, end + 3600))
    async with Driver(CLIENTS[client], url, {"tokens": [first, second], "clock": "real"}) as driver:
        driver.command("connect")
        # Another session, which does not renew the first token, ends when the token expires.
        async with await Connection.open(relay.port) as other:
            other.send_text(json.dumps({"type": "hello", "token": first}))
            assert await other.end(LIFE + DEADLINE) == 4002
        driver.command("request", tag="still there", type="presence", fields={"users": ["ann"]})
        reply = await driver.events["replied"].get()
        assert reply["reply"]["presence"][0]["online"] is True
        events = {kind: [queue.get_nowait() for _ in range(queue.qsize())] for kind, queue in driver.events.items()}
        assert [change["state"] for change in events["state"]] == ["connecting", "open"]
        assert [asked["isExpired"] for asked in events["token"]] == [False, True]
