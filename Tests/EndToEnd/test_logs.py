# SPDX-License-Identifier: Apache-2.0
"""The log: it has enough to find a fault, and contains no token or body."""

import re

import pytest

from api import call
from client import Refused
from relay import run
from waiting import eventually
from wire import Wire


def lines(relay, *parts):
    """Returns the lines of the log that contain all parts."""
    return [line for line in relay.log.read_text().splitlines() if all(part in line for part in parts)]


@pytest.fixture
def verbose(start, secret):
    return start("--log-level", "debug", secret=secret)


def test_a_request_is_a_line_of_debug(verbose):
    token = verbose.token("ann")
    assert call(verbose, "GET", "/v1/users/ann/preferences?a=1", token=token).status == 200
    (line,) = eventually(lambda: lines(verbose, "route=/v1/users/{user}/preferences"))
    assert " debug " in line and "method=GET" in line and "status=200" in line
    assert re.search(r"duration=\S+ seconds", line.replace('"', "")) and re.search(r"\bid=\w+", line)
    assert call(verbose, "GET", "/v1/users/ann/presence", token=token).status == 200
    other = eventually(lambda: lines(verbose, "route=/v1/users/{user}/presence"))[0]
    assert re.search(r"\bid=\w+", line)[0] != re.search(r"\bid=\w+", other)[0]
    assert not lines(verbose, token)


def test_a_request_of_a_session_is_a_line_of_debug(verbose, connect):
    session = connect(verbose, token=verbose.token("ann"))
    session.request("presence", users=["ann"])
    name = session.welcome["session"]
    assert eventually(lambda: lines(verbose, f"session={name}", "type=presence", "status=ok"))
    assert lines(verbose, f"session={name}", "type=hello", "status=ok")


def test_connections_are_lines_of_debug(verbose, connect):
    session = connect(verbose, token=verbose.token("ann"))
    name = session.welcome["session"]
    assert eventually(lambda: lines(verbose, f"session {name} begins, from 127.0.0.1"))
    session.close(1000)
    assert eventually(lambda: lines(verbose, f"session {name} ends, closed by the client with 1000"))


def test_a_refused_token_is_a_line_of_debug(verbose):
    expired = verbose.token("ann", exp=1_000_000_000)
    assert call(verbose, "GET", "/v1/users/ann/preferences", token=expired).status == 401
    assert eventually(lambda: lines(verbose, " debug ", "a token was refused", "the token has expired"))
    assert not lines(verbose, expired)


def test_refusals_are_lines_of_info_at_a_bounded_rate(start, secret):
    relay = start(secret=secret)
    for _ in range(30):
        assert call(relay, "GET", "/v1/users/ann/preferences", token="wrong").status == 401
    refused = eventually(lambda: len(found := lines(relay, "a request was refused")) >= 5 and found)
    assert len(refused) <= 15
    assert "status=401" in refused[0] and "code=unauthorized" in refused[0] and "/v1/users/{user}/preferences" in refused[0]
    assert not lines(relay, " debug ")


def test_a_refused_hello_is_a_line_of_info(start, secret, connect):
    relay = start(secret=secret)
    with pytest.raises(Refused):
        connect(relay, token="wrong")
    assert eventually(lambda: lines(relay, " info ", "type=hello", "status=unauthorized", "the token is no JWT"))


def test_a_refused_origin_is_a_line_with_the_setting_that_allows_it(start):
    relay = start()
    with Wire(relay) as wire:
        assert wire.upgrade({"Origin": "http://localhost:3000"}).status == 403
    (line,) = eventually(lambda: lines(relay, "the setting origins does not list this Origin"))
    assert " info " in line and '"http://localhost:3000"' in line
    assert "--origins" in line and "STILLWIRE_ORIGINS" in line


def test_an_unknown_variable_is_named_at_the_start(start):
    relay = start(STILLWIRE_LIMIT_SEND_RATE="7", STILLWIRE_LIMITS_SEND_BURST="7")
    (line,) = eventually(lambda: lines(relay, "STILLWIRE_LIMIT_SEND_RATE"))
    assert " warning " in line and "did you mean STILLWIRE_LIMITS_SEND_RATE?" in line
    assert not lines(relay, "STILLWIRE_LIMITS_SEND_BURST")


def test_an_unknown_variable_is_named_by_the_check(tmp_path):
    checked = run("serve", "--check", "--data", tmp_path, STILLWIRE_PROT="7")
    assert checked.returncode == 0
    assert "STILLWIRE_PROT has no effect; did you mean STILLWIRE_PORT?" in checked.stderr


def test_the_help_begins_with_the_common_options():
    shown = run("serve", "--help").stdout
    sections = re.findall(r"^([A-Z][A-Z ]+):$", shown, re.MULTILINE)
    groups = ["TOKENS AND KEYS", "NETWORK", "OPERATION", "AUDIT LOG", "CLUSTER", "LIMITS", "PACE OF NOTIFICATIONS", "ROOMS"]
    assert sections == ["COMMON OPTIONS", *groups, "OPTIONS"]
    options = re.findall(r"^  (--[\w-]+)", shown, re.MULTILINE)
    assert options[:3] == ["--port", "--data", "--secret-file"]
    assert shown.index("--address") < shown.index("--tokens-keys") < shown.index("--limits-frame")
