# SPDX-License-Identifier: Apache-2.0
"""Requests and their replies: one reply for each id."""

from stress.spelling import Spelled
from stress.registry import UNLIMITED, scenario
from stress.session import Refused
from stress.stage import Stage


@scenario(*UNLIMITED)
async def two_hundred_requests_at_once_have_one_reply_each(stage: Stage) -> None:
    """Each of 200 concurrent requests of all kinds gets one reply."""
    room, other = stage.names("room", "other")
    ann = await stage.session(stage.name("ann"))
    await ann.join(room)
    kinds = [
        lambda: ann.begin("send", room=room, body="x"),
        lambda: ann.begin("signal", room=room, name="n"),
        lambda: ann.begin("read", room=room, seq=0),
        lambda: ann.begin("history", room=room, limit=1),
        lambda: ann.begin("join", room=other),
        lambda: ann.begin("leave", room=other),
        lambda: ann.begin("ping"),
        lambda: ann.begin("activity", state="idle"),
        lambda: ann.begin("sing"),
        lambda: ann.begin("send", room="elsewhere", body=1),
    ]
    replies = [stage.random.choice(kinds)() for _ in range(200)]
    for reply in replies:
        try:
            await ann.replied(reply)
        except Refused as refused:
            # A later `join` of the same room may have the reply.
            assert refused.code in ("unsupported", "not_joined", "superseded"), refused


@scenario(*UNLIMITED)
async def requests_behind_the_hello_are_answered(stage: Stage) -> None:
    """hello, join and fifty sends in one packet take effect in their order."""
    room, user = stage.names("room", "ann")
    ann = await stage.stranger(user)
    hello = ann.begin("hello", user=user)
    join = ann.begin("join", room=room)
    sends = [ann.begin("send", room=room, body=number) for number in range(50)]
    page = ann.begin("history", room=room, limit=50)
    assert (await ann.replied(hello))["type"] == "welcome"
    assert (await ann.replied(join))["seq"] == 0
    assert [(await ann.replied(send))["seq"] for send in sends] == list(range(1, 51))
    assert [message["body"] for message in (await ann.replied(page))["messages"]] == list(range(50))


@scenario(*UNLIMITED)
async def requests_take_effect_in_their_order(stage: Stage) -> None:
    """join, send, leave, send and join at once: only the send after the leave is refused."""
    room, ann = stage.name("room"), await stage.session(stage.name("ann"))
    for turn in range(10):
        first = [ann.begin("join", room=room), ann.begin("send", room=room, body=[turn, 1])]
        gone = [ann.begin("leave", room=room), ann.begin("send", room=room, body=[turn, 2])]
        await ann.replied(first[0])
        assert (await ann.replied(first[1]))["seq"] == turn + 1
        await ann.replied(gone[0])
        try:
            await ann.replied(gone[1])
            raise AssertionError("a send after leave was accepted")
        except Refused as refused:
            assert refused.code == "not_joined", refused


@scenario(*UNLIMITED)
async def ids_are_echoed(stage: Stage) -> None:
    """Strings of 1 to 64 bytes and integers within 2^53 are echoed. Any other id is an error without an id."""
    ann = await stage.session(stage.name("ann"))
    for id in ("a", "i" * 64, "\u00e9" * 32, '\u2028"\\', 0, -1, (1 << 53) - 1, 1 - (1 << 53)):
        reply = await ann.request("ping", id=id)
        assert reply["id"] == id and type(reply["id"]) is type(id), reply.text
    wrong = ['""', f'"{"i" * 65}"', '"' + "\u00e9" * 33 + '"', "9007199254740992", "-9007199254740992",
             "1.5", "true", "null", "[]", "{}", "1e400"]  # fmt: skip
    for id in wrong:
        await ann.forget_events()
        ann.connection.send_text(f'{{"type":"activity","state":"idle","id":{id}}}')
        errors = await ann.received("error")
        assert [error["code"] for error in errors] == ["bad_request"] and "id" not in errors[0], f"{id}: {errors}"


@scenario(*UNLIMITED)
async def repeated_and_unknown_keys_of_a_frame(stage: Stage) -> None:
    """A repeated key is an error, an unknown key is ignored, and the nesting has a limit."""
    room, ann = stage.name("room"), await stage.session(stage.name("ann"))
    await ann.join(room)
    ann.connection.send_text(f'{{"type":"send","room":"{room}","room":"{room}","body":1}}')
    ann.connection.send_text('{"type":"ping","type":"ping"}')
    ann.connection.send_text(f'{{"type":"send","\\u0072oom":"{room}","room":"{room}","body":1}}')
    assert [error["code"] for error in await ann.received("error")] == ["bad_request"] * 3
    await ann.send(room, "new", colour="green", later={"a": [1, {}]})
    await ann.forget_events()
    # The frame's own object counts as one level, before the arrays of the body.
    deep = "[" * 127 + "]" * 127
    ann.post("send", room=room, body=Spelled(deep))
    assert not await ann.received("error"), "128 deep was refused"
    ann.connection.send_text(f'{{"type":"send","room":"{room}","body":[{deep}]}}')
    assert [error["code"] for error in await ann.received("error")] == ["bad_request"]


@scenario(*UNLIMITED)
async def many_requests_pause_reading_and_lose_none(stage: Stage) -> None:
    """A thousand stored sends at once pause the reading, and none is lost or reordered."""
    room = f"{stage.name('room')}"
    ann, bob = [await stage.session(name) for name in stage.names("ann", "bob")]
    await ann.join(room)
    await bob.join(room)
    replies = [ann.begin("send", room=room, body=number) for number in range(1000)]
    assert [(await ann.replied(reply))["seq"] for reply in replies] == list(range(1, 1001))
    await bob.hears(room, 1000)


@scenario(*UNLIMITED)
async def replies_never_end_a_session_that_reads_slowly(stage: Stage) -> None:
    """A client that requests megabytes of history before it reads gets all of them. Replies never cause 4003."""
    room = stage.name("room")
    writer = await stage.session(stage.name("writer"))
    await writer.join(room)
    for reply in [writer.begin("send", room=room, body="x" * 20000) for _ in range(40)]:
        await writer.replied(reply)
    reader = await stage.session(stage.name("reader"), receive_buffer=4096)
    await reader.join(room)
    reader.connection.pause()
    pages = [reader.begin("history", room=room, limit=40) for _ in range(36)]
    for number in range(20):
        await writer.request("signal", room=room, name="tick", body=number)
    reader.connection.resume()
    for page in pages:
        assert len((await reader.replied(page))["messages"]) == 13  # a page has at most 256 KiB of bodies
    assert len(await reader.received("signal", name="tick")) == 20
