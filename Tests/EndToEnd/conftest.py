# SPDX-License-Identifier: Apache-2.0
"""Fixtures: one relay for each test file, sessions that are closed after each test, and unique names."""

import itertools
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from client import Session
from people import Circle
from phone import Phone
from relay import Relay, api_key, running
from tokens import secret_file

_numbers = itertools.count(1)


@pytest.fixture(scope="module")
def relay(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Relay]:
    """The relay of the test file, with the options `RELAY_OPTIONS`. It must still run after the last test."""
    options = getattr(request.module, "RELAY_OPTIONS", ())
    with running(tmp_path_factory.mktemp("relay"), *options) as relay:
        yield relay


@pytest.fixture
def start(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Callable[..., Relay]]:
    """Starts relays for one test, each with its own data folder."""
    with ExitStack() as ends:

        def start(*options: object, **more: Any) -> Relay:
            relay = Relay(tmp_path_factory.mktemp("relay"), *options, **more)
            ends.callback(relay.kill)
            return relay.start()

        yield start


@pytest.fixture
def connect(request: pytest.FixtureRequest) -> Iterator[Callable[..., Session]]:
    """Connects users. The first argument may be a relay; the default is the relay of the test file."""
    with ExitStack() as ends:

        def connect(*arguments: object, **hello: object) -> Session:
            if not arguments or not isinstance(arguments[0], Relay):
                arguments = (request.getfixturevalue("relay"), *arguments)
            session = Session(*arguments, **hello)
            ends.callback(session.drop)
            return session

        yield connect


@pytest.fixture
def names() -> Callable[..., list[str]]:
    """Makes the given names unique."""

    def names(*stems: str) -> list[str]:
        number = next(_numbers)
        return [f"{stem}-{number}" for stem in stems]

    return names


@pytest.fixture
def phone(names: Callable[..., list[str]]) -> Callable[..., Phone]:
    """Registers a phone for a connected user: `phone(relay, session)`."""

    def phone(relay: Relay, session: Session, device: str = "phone") -> Phone:
        phone = Phone(relay, names(f"{session.user}-{device}")[0])
        session.request("device", device=device, **phone.registration)
        return phone

    return phone


@pytest.fixture
def circle(connect: Callable[..., Session], names: Callable[..., list[str]], relay: Relay) -> Circle:
    """Alice in a room of the test file's relay."""
    return Circle(connect, names, relay)


@pytest.fixture
def gather(
    connect: Callable[..., Session], names: Callable[..., list[str]], start: Callable[..., Relay]
) -> Callable[..., Circle]:
    """Starts a relay with these options, in which Alice has joined a room."""
    return lambda *options, **more: Circle(connect, names, start(*options, **more))


@pytest.fixture(scope="session")
def secret(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A file with the shared secret of the tokens."""
    return secret_file(tmp_path_factory.mktemp("secret"))


@pytest.fixture(scope="module")
def api_keys(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The path of the test file's API keys, which `backend` writes."""
    return tmp_path_factory.mktemp("keys") / "api-keys"


@pytest.fixture(scope="module")
def backend(api_keys: Path) -> str:
    """The API key of a backend, from `stillwire api-key`."""
    return api_key(api_keys)
