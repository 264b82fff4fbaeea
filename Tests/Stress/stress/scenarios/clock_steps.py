# SPDX-License-Identifier: Apache-2.0
"""Devices whose clocks step while they report Focus and filters."""

from stress.registry import UNLIMITED, scenario
from stress.reports import OFFSETS, Device
from stress.session import Session
from stress.stage import Stage


async def devices_of(stage: Stage, user: str, names: list[str]) -> list[Device]:
    devices = [Device(stage, user, name) for name in names]
    for device in devices:
        await device.connect()
    return devices


async def check_states(stage: Stage, room: str, watcher: Session, devices: list[Device]) -> None:
    """Compares the newest report of each device of a user with the state that decides a push."""
    user = devices[0].user
    question = {"room": room, "from": watcher.user, "user": user, "push": {}}
    answer = await stage.http("POST", "/v1/decisions", question, user=watcher.user)
    assert answer.status == 200, answer
    found = {one["device"]: one["facts"] for one in answer.json["devices"]}
    for device in devices:
        facts = found[device.name]
        for fault in device.state_faults(facts["device"], facts["now"]):
            stage.witness.fault(user, fault)


async def check_shown(stage: Stage, watcher: Session, devices: list[Device]) -> None:
    """Waits until others see the Focus of a user that follows from the newest reports of all devices."""
    states = {device.focus.newest.fields["isFocused"] for device in devices if device.focus.newest}
    wanted = True if True in states else False if False in states else None

    async def is_shown() -> bool:
        entries = (await watcher.request("presence", users=[devices[0].user]))["presence"]
        return entries[0]["isFocused"] is wanted

    # A false counts 3 s after its report.
    await stage.eventually(is_shown, f"the Focus of {devices[0].user} is {wanted}", within=10)


@scenario(*UNLIMITED)
async def no_step_of_a_clock_blocks_a_report(stage: Stage) -> None:
    """After each step of a device's clock, with and without its counters, the next report becomes the state."""
    room, watcher = stage.name("room"), await stage.session(stage.name("watcher"))
    await watcher.join(room)
    steps = [(first, second) for first in OFFSETS for second in OFFSETS if first != second]

    async def play(turn: int) -> None:
        user = stage.name(f"user{turn}")
        devices = await devices_of(stage, user, [f"device{number}" for number in range(10)])
        await devices[0].session.join(room)
        for device, (first, second) in zip(devices, steps[turn // 2 :: 2]):
            for offset in (first, second, first):
                device.offset = offset
                await device.begin(over_http=False)
                await device.begin(over_http=turn % 2 == 1)
                if turn % 2 == 0:
                    await device.forget()
        await check_states(stage, room, watcher, devices)
        await check_shown(stage, watcher, devices)

    await stage.all(play(turn) for turn in range(4))


@scenario(*UNLIMITED)
async def the_newest_report_counts_while_clocks_step(stage: Stage) -> None:
    """Devices whose clocks step make reports over sessions and HTTP, many at once. The newest of each device counts."""
    room, watcher = stage.name("room"), await stage.session(stage.name("watcher"))
    await watcher.join(room)

    async def live(device: Device) -> None:
        for _ in range(6):
            await stage.random.choice([device.in_order, device.at_once])()
            if stage.random.random() < 0.5:
                await device.step()

    async def play(user: str) -> None:
        devices = await devices_of(stage, user, ["phone", "tablet", "watch"])
        await devices[0].session.join(room)
        for _ in range(3):
            await stage.all(live(device) for device in devices)
            await check_states(stage, room, watcher, devices)
        await check_shown(stage, watcher, devices)

    await stage.all(play(user) for user in stage.names("ann", "bob", "eve"))
