# SPDX-License-Identifier: Apache-2.0
"""Code that a backend may have. mypy checks it, and each `type: ignore` must hide an error. It never runs."""

from stillwire import AsyncStillwire, RateLimitedError, Stillwire, types


def backend(relay: Stillwire) -> None:
    sent = relay.send_message("tea", {"text": "hi"}, from_="ann", push={"title": "Shop", "sound": None})
    number: int = sent["seq"]
    sent["number"]  # type: ignore[typeddict-item]
    relay.send_message("tea", "hi", sender="ann")  # type: ignore[call-arg]
    relay.send_message("tea", "hi", push={"tilte": "Shop"})  # type: ignore[arg-type]
    relay.send_message("tea")  # type: ignore[call-arg]
    for message in relay.iterate_messages("tea", after=number):
        if "deleted" in message:
            message["body"]  # type: ignore[typeddict-item]
        else:
            print(message["from"], message["body"])
    outcome = relay.decide("tea", "ann", "bob")["devices"][0]["decision"]["outcome"]
    if outcome["kind"] == "hold":
        print(outcome["until"])
        outcome["level"]  # type: ignore[typeddict-item]
    change: types.QuietHours = {"from": "22:00", "to": "07:00", "timeZone": "Europe/Berlin", "mode": "hold"}
    relay.set_preferences("ann", quiet_hours=change, rooms={"tea": None})
    relay.set_preferences("ann", on_focus="never")  # type: ignore[arg-type]
    try:
        relay.set_profile("ann", handle=None)
    except RateLimitedError as error:
        delay: float | None = error.retry_after
        print(delay, error.at)


async def asynchronous(relay: AsyncStillwire) -> int:
    relay.send_message("tea", "hi")["seq"]  # type: ignore[index]
    async for member in relay.iterate_members("tea"):
        print(member["online"])
    return (await relay.send_message("tea", "hi", from_="ann"))["seq"]
