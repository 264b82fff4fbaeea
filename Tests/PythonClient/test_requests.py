# SPDX-License-Identifier: Apache-2.0
"""The requests that the clients send, and their retries and errors, with a transport that answers by itself."""

import json
from collections.abc import AsyncIterator, Callable, Iterator
from inspect import isawaitable
from typing import Any

import anyio
import httpx
import pytest

from both import Both
from stillwire import (
    AsyncStillwire,
    ConflictError,
    ConnectionFailedError,
    ForbiddenError,
    NotFoundError,
    RateLimitedError,
    RelayError,
    RequestTimeoutError,
    UnavailableError,
    errors,
)

SENT = httpx.Response(201, json={"room": "tea", "seq": 1, "time": 2})


def problem(status: int, code: str, headers: dict[str, str] | None = None, **fields: Any) -> httpx.Response:
    content = {"type": "about:blank", "title": "", "status": status, "code": code, "detail": "no", **fields}
    kind = {"Content-Type": "application/problem+json"}
    return httpx.Response(status, content=json.dumps(content), headers=kind | (headers or {}))


class Stream(httpx.SyncByteStream, httpx.AsyncByteStream):
    """A body that calls `act` when it is read, and then ends, or fails with `error`."""

    def __init__(self, text: str = "", act: Callable[[], object] | None = None, error: Exception | None = None):
        self._text = text
        self._act = act
        self._error = error

    def __iter__(self) -> Iterator[bytes]:
        yield self._text.encode()
        if self._act:
            self._act()
        if self._error:
            raise self._error

    async def __aiter__(self) -> AsyncIterator[bytes]:
        for part in iter(self):
            yield part


class Relay:
    """A transport that answers with these answers in turn, and records the requests."""

    def __init__(self, *answers: httpx.Response | Exception | Stream):
        self._answers = list(answers)
        self.requests: list[httpx.Request] = []

    def __call__(self, request: httpx.Request) -> httpx.Response:
        self.requests.append(request)
        answer = self._answers.pop(0)
        if isinstance(answer, Exception):
            raise answer
        if isinstance(answer, Stream):
            return httpx.Response(200, stream=answer)
        # A response belongs to one request.
        return httpx.Response(answer.status_code, headers=answer.headers, content=answer.content)

    def bodies(self) -> list[Any]:
        return [json.loads(request.content) for request in self.requests]


def send(relay: Any) -> Any:
    return relay.send_message("tea", {"text": "hi"}, from_="ann")


def test_a_request_has_the_callers_fields_and_no_others(is_async: bool) -> None:
    relay = Relay(SENT, httpx.Response(200, json={}))
    client = Both(is_async, "https://relay.example.org/base/", relay)
    client.call(lambda client: client.send_message("a/b", None, from_="ann", key="k", reply_to=3, push={"sound": None}))
    client.call(lambda client: client.set_profile("ann", handle=None))
    sent, profile = relay.requests
    assert str(sent.url) == "https://relay.example.org/base/v1/rooms/a%2Fb/messages"
    assert relay.bodies() == [
        {"body": None, "from": "ann", "key": "k", "replyTo": 3, "push": {"sound": None}}, {"handle": None}
    ]  # fmt: skip
    assert (profile.method, profile.url.path) == ("PUT", "/base/v1/users/ann")
    assert sent.headers["User-Agent"].startswith("stillwire-python/")
    assert "Authorization" not in sent.headers and "X-Stillwire-User" not in sent.headers


def test_the_credentials_and_the_user_are_headers(is_async: bool) -> None:
    keys = iter("ab")
    relay = Relay(SENT, SENT)
    client = Both(is_async, handler=relay, api_key=lambda: next(keys), user="ann")
    client.call(send)
    client.call(lambda client: send(client.with_options(user=None)))
    assert [request.headers["Authorization"] for request in relay.requests] == ["Bearer a", "Bearer b"]
    assert [request.headers.get("X-Stillwire-User") for request in relay.requests] == ["ann", None]


@pytest.mark.parametrize("name", ["", ".", ".."])
def test_a_name_cannot_change_the_path(name: str, is_async: bool) -> None:
    with pytest.raises(ValueError):
        Both(is_async, handler=Relay()).call(lambda client: client.list_members(name))


def test_a_refused_request_is_repeated_with_the_same_key_when_the_relay_permits_it(is_async: bool) -> None:
    limited = problem(429, "rate_limited", retryAfter=0.01)
    relay = Relay(problem(503, "unavailable", {"Retry-After": "7"}), limited, SENT)
    client = Both(is_async, handler=relay)
    assert client.call(send)["seq"] == 1
    first, second = client.delays
    assert first == 7 and 0.25 <= second <= 0.5
    assert len({body["key"] for body in relay.bodies()}) == 1


def test_each_call_has_a_key_of_its_own(is_async: bool) -> None:
    relay = Relay(SENT, SENT)
    Both(is_async, handler=relay).call(send)
    Both(is_async, handler=relay).call(send)
    first, second = relay.bodies()
    assert first["key"] != second["key"]


@pytest.mark.parametrize(
    "call",
    [
        lambda client: client.disconnect_user("ann"),
        lambda client: client.notify_anyway("tea", 1),
        lambda client: client.send_message("tea", "hi", key=None),
        lambda client: client.with_options(retries=0).list_members("tea"),
    ],
)  # fmt: skip
def test_a_request_that_may_take_effect_twice_is_not_repeated(call: Callable[[Any], Any], is_async: bool) -> None:
    relay = Relay(problem(503, "unavailable"))
    with pytest.raises(UnavailableError):
        Both(is_async, handler=relay).call(call)
    assert len(relay.requests) == 1


def test_a_long_delay_is_the_callers_decision(is_async: bool) -> None:
    with pytest.raises(RateLimitedError) as failure:
        Both(is_async, handler=Relay(problem(429, "rate_limited", {"Retry-After": "31"}))).call(send)
    assert failure.value.retry_after == 31


def test_a_lost_connection_is_repeated_and_then_an_error(is_async: bool) -> None:
    relay = Relay(httpx.ConnectError("refused"), httpx.ReadError("lost"), SENT)
    assert Both(is_async, handler=relay).call(send)["seq"] == 1
    assert len({body["key"] for body in relay.bodies()}) == 1
    relay = Relay(*[httpx.ConnectError("refused")] * 4)
    with pytest.raises(ConnectionFailedError, match="ConnectError: refused") as failure:
        Both(is_async, handler=relay).call(send)
    assert isinstance(failure.value.__cause__, httpx.ConnectError)
    with pytest.raises(RequestTimeoutError):
        Both(is_async, handler=Relay(httpx.ReadTimeout("late")), retries=0).call(send)


NODES = ["https://a.example.org", "https://b.example.org/", "https://c.example.org"]


def standby(leader: str | None = None) -> httpx.Response:
    return problem(307, "unavailable", {"Stillwire-Leader": leader} if leader else {})


def hosts(relay: Relay) -> str:
    return "".join(str(request.url.host)[0] for request in relay.requests)


@pytest.mark.parametrize("call", [send, lambda client: client.notify_anyway("tea", 1)])
def test_the_client_finds_the_leader_of_a_cluster(call: Callable[[Any], Any], is_async: bool) -> None:
    relay = Relay(standby("https://c.example.org:443/"), SENT, SENT)
    client = Both(is_async, NODES, relay)
    client.call(lambda client: in_turn(client, call, call))
    assert (hosts(relay), client.delays) == ("acc", [])


def in_turn(client: Any, *calls: Callable[[Any], Any]) -> Any:
    """Makes several calls of one client, one after the other."""

    async def asynchronously(first: Any) -> None:
        await first
        for call in calls[1:]:
            await call(client)

    first = calls[0](client)
    if isawaitable(first):
        return asynchronously(first)
    for call in calls[1:]:
        call(client)


def failing(call: Callable[[], Any], error: type[Exception]) -> Any:
    """Makes a call that raises this error."""

    async def asynchronously(result: Any) -> None:
        with pytest.raises(error):
            await result

    try:
        result = call()
    except error:
        return None
    assert isawaitable(result)
    return asynchronously(result)


@pytest.mark.parametrize("leader", [None, "http://c.example.org", "https://evil.example.org", "https://c.example.org:x"])
def test_the_client_ignores_a_leader_that_is_not_in_its_list(leader: str | None, is_async: bool) -> None:
    relay = Relay(standby(leader), problem(503, "unavailable"), SENT)
    assert Both(is_async, NODES, relay).call(send)["seq"] == 1
    assert hosts(relay) == "abc"


def test_the_client_tries_each_node_once_before_it_waits(is_async: bool) -> None:
    relay = Relay(*[standby("https://b.example.org")] * 3, SENT)
    client = Both(is_async, NODES, relay)
    assert client.call(send)["seq"] == 1
    assert (hosts(relay), len(client.delays)) == ("abca", 1)


@pytest.mark.parametrize("urls, connect", [(NODES[0], 10), (NODES, 5)])
def test_a_node_of_several_has_a_shorter_timeout_to_connect(
    urls: str | list[str], connect: float, is_async: bool
) -> None:
    relay = Relay(SENT)
    Both(is_async, urls, relay).call(send)
    timeout = relay.requests[0].extensions["timeout"]
    assert (timeout["connect"], timeout["read"]) == (connect, 10)


def test_a_request_that_may_have_arrived_is_not_sent_to_another_node(is_async: bool) -> None:
    relay = Relay(httpx.ConnectError("refused"), httpx.ReadError("lost"), SENT)
    with pytest.raises(ConnectionFailedError):
        Both(is_async, NODES, relay).call(lambda client: client.notify_anyway("tea", 1))
    assert hosts(relay) == "ab"
    assert Both(is_async, NODES, Relay(httpx.ReadError("lost"), SENT)).call(send)["seq"] == 1


@pytest.mark.parametrize("answer", [httpx.Response(503, text="proxy"), httpx.Response(302), problem(503, "")])
def test_only_the_relay_sends_a_request_that_may_take_effect_twice_to_another_node(
    answer: httpx.Response, is_async: bool
) -> None:
    relay = Relay(answer, SENT)
    with pytest.raises(RelayError):
        Both(is_async, NODES, relay).call(lambda client: client.notify_anyway("tea", 1))
    assert hosts(relay) == "a"
    for own in (problem(503, "unavailable"), httpx.Response(307, headers={"Stillwire-Leader": "https://c.example.org"})):
        relay = Relay(own, SENT)
        Both(is_async, NODES, relay).call(lambda client: client.notify_anyway("tea", 1))
        assert len(relay.requests) == 2
    relay = Relay(answer, SENT)
    assert Both(is_async, NODES, relay).call(send)["seq"] == 1


def test_the_proxy_of_a_node_that_is_down_leads_to_the_next_node(is_async: bool) -> None:
    for status in (502, 504):
        relay = Relay(httpx.Response(status), SENT)
        assert Both(is_async, NODES, relay).call(send)["seq"] == 1
        assert hosts(relay) == "ab"
    relay = Relay(httpx.Response(502), SENT)
    with pytest.raises(RelayError):
        Both(is_async, NODES, relay).call(lambda client: client.notify_anyway("tea", 1))
    assert hosts(relay) == "a"


@pytest.mark.parametrize(
    "call, answer",
    [
        (lambda client: client.is_live(), httpx.Response(200, json={"status": "live"})),
        (lambda client: client.is_ready(), httpx.Response(503, json={"status": "standby"})),
        (lambda client: client.get_cluster(), httpx.Response(200, json={"role": "follower"})),
        (lambda client: client.read_metrics(), httpx.Response(200, text="up 1")),
        (lambda client: client.publish_snapshot(), httpx.Response(200, json={"role": "follower"})),
    ],
)  # fmt: skip
def test_an_answer_of_a_node_about_itself_does_not_make_it_the_leader(
    call: Callable[[Any], Any], answer: httpx.Response, is_async: bool
) -> None:
    # The leader is c. It is then unreachable for the request about a node.
    relay = Relay(standby("https://c.example.org"), SENT, httpx.ConnectError("refused"), answer, SENT)
    client = Both(is_async, NODES, relay)
    client.call(lambda client: in_turn(client, send, call, send))
    assert hosts(relay) == "accac"


def test_an_error_of_a_node_about_itself_does_not_make_it_the_leader(is_async: bool) -> None:
    relay = Relay(
        standby("https://c.example.org"), SENT, httpx.ConnectError("refused"), problem(401, "unauthorized"), SENT
    )

    def refused(client: Any) -> Any:
        return failing(lambda: client.get_cluster(), RelayError)

    Both(is_async, NODES, relay).call(lambda client: in_turn(client, send, refused, send))
    assert hosts(relay) == "accac"


def test_step_down_finds_the_leader(is_async: bool) -> None:
    stepped = httpx.Response(200, json={"role": "follower"})
    relay = Relay(problem(409, "conflict"), stepped)
    assert Both(is_async, NODES, relay).call(lambda client: client.step_down()) == {"role": "follower"}
    assert hosts(relay) == "ab"
    relay = Relay(*[problem(409, "conflict")] * 3)
    with pytest.raises(ConflictError):
        Both(is_async, NODES, relay).call(lambda client: client.step_down())
    assert hosts(relay) == "abc"
    # Any other conflict is an answer of the leader.
    relay = Relay(problem(409, "conflict"), SENT)
    with pytest.raises(ConflictError):
        Both(is_async, NODES, relay).call(send)


def test_an_error_of_the_leader_is_not_repeated_at_another_node(is_async: bool) -> None:
    relay = Relay(problem(404, "not_found"), SENT)
    with pytest.raises(NotFoundError):
        Both(is_async, NODES, relay).call(send)
    assert hosts(relay) == "a"


def events(*lines: str) -> httpx.Response:
    return httpx.Response(200, text="".join(f"{line}\n" for line in lines), headers={"Content-Type": "text/event-stream"})


def followed(client: Any, error: type[Exception], after: str | None = None) -> Any:
    """Returns the names of the events until this error."""
    stream = client.follow_presence(["ann"], after=after)
    found: list[str] = []

    async def asynchronously() -> list[str]:
        with pytest.raises(error):
            async for event in stream:
                found.append(event["event"])
        return found

    if hasattr(stream, "__anext__"):
        return asynchronously()
    with pytest.raises(error):
        for event in stream:
            found.append(event["event"])
    return found


def test_the_presence_stream_continues_after_a_lost_connection(is_async: bool) -> None:
    relay = Relay(
        events("id: r.1", "event: reset", 'data: {"reason":"new"}', "", "id: r.5", "", "id: r.6", "event: presence"),
        httpx.ReadError("lost"),
        events("id: r.5", "event: resumed", "data: {}", "", "id: r.6", "event: end", 'data: {"reason":"shutdown"}', ""),
        problem(403, "forbidden"),
    )
    client = Both(is_async, handler=relay)
    assert client.call(lambda client: followed(client, ForbiddenError, "r.0")) == ["reset", "resumed", "end"]
    # An incomplete event moves no position.
    assert [request.headers["Last-Event-ID"] for request in relay.requests] == ["r.0", "r.5", "r.5", "r.6"]
    assert len(client.delays) == 3


@pytest.mark.parametrize("timeout, expected", [(10, 45), (60, 60)])
def test_the_presence_stream_connects_again_after_a_silence(timeout: float, expected: float, is_async: bool) -> None:
    reset = events("id: r.1", "event: reset", 'data: {"reason":"new"}', "")
    relay = Relay(httpx.ReadTimeout("silence"), reset, problem(403, "forbidden"))
    client = Both(is_async, handler=relay, timeout=timeout)
    assert client.call(lambda client: followed(client, ForbiddenError)) == ["reset"]
    # The relay sends a comment every 15 s.
    assert {request.extensions["timeout"]["read"] for request in relay.requests} == {expected}


def test_the_presence_stream_leaves_a_silent_node_sooner(is_async: bool) -> None:
    reset = events("id: r.1", "event: reset", 'data: {"reason":"new"}', "")
    relay = Relay(httpx.ReadTimeout("silence"), reset, problem(403, "forbidden"))
    assert Both(is_async, NODES, relay).call(lambda client: followed(client, ForbiddenError)) == ["reset"]
    assert {request.extensions["timeout"]["read"] for request in relay.requests} == {20}


def test_the_presence_stream_raises_an_error_if_it_was_never_open(is_async: bool) -> None:
    relay = Relay(*[httpx.ConnectError("refused")] * 4)
    client = Both(is_async, handler=relay)
    assert client.call(lambda client: followed(client, ConnectionFailedError)) == []
    assert len(relay.requests) == 4
    assert Both(is_async, handler=Relay(problem(502, ""))).call(lambda client: followed(client, RelayError)) == []


def test_the_presence_stream_survives_a_long_restart(is_async: bool) -> None:
    outage = [httpx.ConnectError("refused"), standby(), problem(429, "rate_limited"), httpx.Response(502),
              problem(503, "unavailable", retryAfter=31), httpx.Response(504), *[httpx.ReadTimeout("late")] * 1100]  # fmt: skip
    reset = events("id: r.1", "event: reset", 'data: {"reason":"restarted"}', "")
    client = Both(is_async, handler=Relay(events(""), *outage, reset, problem(403, "forbidden")))
    assert client.call(lambda client: followed(client, ForbiddenError)) == ["reset"]
    ceilings = [0.5, 1, 2, 4, 8, 16, *[20] * (len(outage) - 4)]
    for delay, ceiling in zip(client.delays, ceilings, strict=True):
        assert delay == 31 or ceiling / 2 <= delay <= ceiling
    assert client.delays.count(31) == 1


def test_only_a_long_open_stream_resets_the_delays(is_async: bool) -> None:
    ping = "id: r.1\nevent: reset\ndata: {}\n\n"
    client = Both(is_async)

    def lasting(seconds: float) -> Stream:
        def act() -> None:
            client.now += seconds

        return Stream(ping, act, httpx.ReadError("lost"))

    client._handler = Relay(lasting(0), lasting(19), lasting(19), lasting(20), lasting(0), problem(403, "forbidden"))
    assert client.call(lambda client: followed(client, ForbiddenError)) == ["reset"] * 5
    for delay, ceiling in zip(client.delays, [0.5, 1, 2, 0.5, 1], strict=True):
        assert ceiling / 2 <= delay <= ceiling


def test_failovers_in_sequence_do_not_make_the_delays_grow(is_async: bool) -> None:
    reset = events("id: r.1", "event: reset", 'data: {"reason":"new"}', "")
    end = events("id: r.1", "event: end", 'data: {"reason":"shutdown"}', "")
    slow = events("id: r.1", "event: end", 'data: {"reason":"too_slow"}', "")
    down = httpx.ConnectError("refused")
    # Each leader fails at once, and the next one follows.
    relay = Relay(reset, down, reset, down, reset, down, reset, problem(403, "forbidden"))
    client = Both(is_async, NODES, relay)
    assert client.call(lambda client: followed(client, ForbiddenError)) == ["reset"] * 4
    assert hosts(relay) == "aabbccaa"
    assert all(0.25 <= delay <= 0.5 for delay in client.delays), client.delays
    for answer, ceilings in ((end, [0.5, 0.5, 0.5]), (slow, [0.5, 1, 2])):
        client = Both(is_async, NODES, Relay(answer, answer, answer, problem(403, "forbidden")))
        assert client.call(lambda client: followed(client, ForbiddenError)) == ["end"] * 3
        for delay, ceiling in zip(client.delays, ceilings, strict=True):
            assert ceiling / 2 <= delay <= ceiling


def test_the_presence_stream_finds_the_leader(is_async: bool) -> None:
    reset = events("id: r.1", "event: reset", 'data: {"reason":"new"}', "")
    relay = Relay(standby("https://c.example.org"), reset, problem(403, "forbidden"))
    client = Both(is_async, NODES, relay)
    assert client.call(lambda client: followed(client, ForbiddenError)) == ["reset"]
    # After the end of a stream the client asks the leader first.
    assert (hosts(relay), len(client.delays)) == ("acc", 1)


def test_the_stream_of_a_lock_screen_finds_the_leader(is_async: bool) -> None:
    cleared = events("event: cleared", 'data: {"count":1}', "")
    relay = Relay(httpx.ConnectError("refused"), standby("https://c.example.org"), cleared)
    client = Both(is_async, NODES, relay)
    assert client.call(lambda client: client.follow_lock_screen("t")) == [{"event": "cleared", "data": {"count": 1}}]
    assert hosts(relay) == "abc"
    with pytest.raises(NotFoundError):
        Both(is_async, NODES, Relay(problem(404, "not_found"))).call(lambda client: client.follow_lock_screen("t"))


@pytest.mark.parametrize("code", sorted(errors.BY_CODE))
def test_each_code_raises_its_class(code: str, is_async: bool) -> None:
    relay = Relay(problem(404, code, at="/path/room"))
    with pytest.raises(errors.BY_CODE[code]) as failure:
        Both(is_async, handler=relay).call(send)
    assert type(failure.value) is errors.BY_CODE[code]
    assert (failure.value.status, failure.value.code, failure.value.at) == (404, code, "/path/room")
    assert str(failure.value) == f"404 {code}: no (at /path/room)"


def test_errors_that_are_not_the_relays(is_async: bool) -> None:
    for answer in (
        httpx.Response(502, text="<html>Bad Gateway"),
        problem(418, "an_unknown_code"),
        httpx.Response(404, content=b"[", headers={"Content-Type": "application/problem+json"}),
        httpx.Response(200, text="<html>Log in"),
    ):
        with pytest.raises(RelayError) as failure:
            Both(is_async, handler=Relay(answer)).call(send)
        assert type(failure.value) is RelayError
        assert failure.value.status == answer.status_code


def test_the_asynchronous_client_works_with_trio() -> None:
    relay = Relay(problem(503, "unavailable", {"Retry-After": "0"}), SENT)

    async def call() -> Any:
        http = httpx.AsyncClient(transport=httpx.MockTransport(relay))
        return await AsyncStillwire("http://relay", http=http).list_members("tea")

    assert anyio.run(call, backend="trio")["seq"] == 1


def test_the_readiness_of_a_relay_that_stops_is_no_error(is_async: bool) -> None:
    stopping = Relay(httpx.Response(503, json={"status": "stopping"}))
    assert Both(is_async, handler=stopping).call(lambda client: client.is_ready()) == {"status": "stopping"}
    with pytest.raises(UnavailableError):
        Both(is_async, handler=Relay(problem(503, "unavailable")), retries=0).call(lambda client: client.is_ready())


def test_an_iteration_requests_further_pages(is_async: bool) -> None:
    def page(key: str, name: str, values: list[Any], more: bool) -> httpx.Response:
        return httpx.Response(200, json={key: [{name: value} for value in values], "more": more})

    for call, key, name, first, second in (
        (lambda client: client.iterate_messages("tea", after=4), "messages", "seq", [5, 6], [7]),
        (lambda client: client.iterate_members("tea"), "members", "user", ["ann", "bob"], ["eve"]),
        (lambda client: client.iterate_pushes(state="dead"), "pushes", "id", ["b"], ["a"]),
    ):
        relay = Relay(page(key, name, first, True), page(key, name, second, False))
        found = Both(is_async, handler=relay).call(call)
        assert [entry[name] for entry in found] == first + second
        assert relay.requests[1].url.params["after"] == str(first[-1])
    assert relay.requests[1].url.params["state"] == "dead"


def test_a_missing_room_is_the_error_of_an_iteration(is_async: bool) -> None:
    with pytest.raises(NotFoundError):
        Both(is_async, handler=Relay(problem(404, "not_found"))).call(lambda client: client.iterate_messages("tea"))
