# SPDX-License-Identifier: Apache-2.0
"""With a real relay, every client sends the reports of its device after the token has expired, until the key ends."""

import asyncio
import time
from pathlib import Path
from typing import Any

import pytest

import tokens
from api import call
from clients import CLIENTS
from driver import Driver
from relay import DEADLINE, SLOW, Relay, run, running
from waiting import eventually

#: Seconds until the token of the session expires. The client must register its device in this time.
LIFE = int(10 * SLOW)
DEVICE = "phone"
REPORTS: dict[str, dict[str, Any]] = {
    "focus": {"device": DEVICE, "isFocused": True}, "filter": {"device": DEVICE, "allow": ["work"]},
    "respond": {"action": "accept"}, "received": {},
}  # fmt: skip


@pytest.mark.parametrize("client", CLIENTS)
def test_a_device_reports_with_its_key_after_its_token_has_expired(client: str, tmp_path: Path) -> None:
    made = run("api-key", "tests", "--file", tmp_path / "keys")
    assert made.returncode == 0, made.stderr
    options = ("--api-keys-file", tmp_path / "keys", "--tokens-grace", "0", "--simulated-phones", "true")
    with running(tmp_path, *options, secret=tokens.secret_file(tmp_path)) as relay:
        asyncio.run(asyncio.wait_for(reported(client, relay, made.stdout.strip()), LIFE + 3 * DEADLINE))


async def reported(client: str, relay: Relay, backend: str) -> None:
    url = f"ws://127.0.0.1:{relay.port}/v1/connect"
    first = tokens.token(tokens.SECRET, tokens.claims("bob", exp=int(time.time()) + LIFE))
    # The token function fails after the first call, as if the person were signed out of the app's backend.
    options = {"tokens": [first, None], "hello": {"device": DEVICE}, "clock": "real"}
    async with Driver(CLIENTS[client], url, options) as driver:
        driver.command("connect")
        await state(driver, "open")
        phone = {"device": DEVICE, "platform": "simulator", "token": "bob-phone"}
        driver.command("request", tag="device", type="device", fields=phone)
        key = (await result(driver, "device"))["reply"]["reportKey"]
        await state(driver, "waiting", "refused")
        assert call(relay, "GET", "/v1/users/bob/preferences", token=first).status == 401
        notification = pushed(relay, backend)

        for kind, reply in (await results(driver, key, notification, "first")).items():
            assert "reply" in reply, (kind, reply)
            if kind in ("focus", "filter"):
                assert reply["reply"]["applied"] is True, kind
        token = tokens.token(tokens.SECRET, tokens.claims("bob"))
        assert call(relay, "GET", "/v1/users/bob/presence", token=token).json["isFocused"] is True
        # A second report has a higher number.
        driver.command("report", tag="again", report="focus", key=key, device=DEVICE, isFocused=False)
        assert (await result(driver, "again"))["reply"]["applied"] is True

        assert call(relay, "DELETE", f"/v1/users/bob/devices/{DEVICE}/report-keys", token=token).status == 204
        for kind, reply in (await results(driver, key, notification, "revoked")).items():
            assert reply.get("code") == "unauthorized", (kind, reply)


async def results(driver: Driver, key: str, notification: str, tag: str) -> dict[str, dict[str, Any]]:
    """Sends the four reports, and returns the results."""
    found = {}
    for kind, fields in REPORTS.items():
        fields = fields | ({"notification": notification} if kind in ("respond", "received") else {})
        driver.command("report", tag=f"{tag} {kind}", report=kind, key=key, **fields)
        found[kind] = await result(driver, f"{tag} {kind}")
    return found


async def result(driver: Driver, tag: str) -> dict[str, Any]:
    """The result of the command with this tag."""
    waiting = [asyncio.create_task(driver.events[kind].get()) for kind in ("replied", "failed")]
    done, others = await asyncio.wait(waiting, timeout=DEADLINE, return_when=asyncio.FIRST_COMPLETED)
    for other in others:
        other.cancel()
    assert done, f"no result of {tag}"
    event = done.pop().result()
    assert event["tag"] == tag
    return event


async def state(driver: Driver, *states: str) -> str:
    """Waits until the client has one of these states, and returns it."""
    while True:
        event = await asyncio.wait_for(driver.events["state"].get(), LIFE + DEADLINE)
        if event["state"] in states:
            return event["state"]


def pushed(relay: Relay, backend: str) -> str:
    """Sends a push with an action to the phone. Returns its id when it has arrived."""
    actions = [{"id": "accept", "title": "Accept"}]
    registry = {"categories": [{"id": "invitation", "actions": actions}]}
    assert call(relay, "PUT", "/v1/categories", registry, token=backend).status == 200
    body = {"from": "alice", "push": {"body": "Tea at four?", "category": "invitation"}}
    assert call(relay, "POST", "/v1/users/bob/notifications", body, token=backend).status == 201

    def arrived() -> list[dict[str, Any]]:
        answer = call(relay, "GET", "/v1/simulator/devices/bob-phone", token=backend)
        return answer.json["notifications"] if answer.status == 200 else []

    payload = eventually(arrived)[0]["payload"]
    return payload["communication"]["notification"]
