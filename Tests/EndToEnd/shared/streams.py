# SPDX-License-Identifier: Apache-2.0
"""Streams of server-sent events. Each event is checked against the OpenAPI document."""

import http.client
import json
from collections.abc import Iterator
from contextlib import closing, contextmanager

import documents
from relay import DEADLINE, Relay

#: The changes of presence and Focus.
PRESENCE = "/v1/presence/events"


class Stream:
    """An open stream: pairs of id, name and content."""

    def __init__(self, path, response):
        self._path = path
        self._response = response
        self.headers = response.headers
        self.id = None

    def __iter__(self):
        return self

    def __next__(self):
        try:
            return self.next()
        except EOFError:
            raise StopIteration from None

    def next(self):
        """Returns the name and the content of the next event."""
        name, data = None, None
        while line := self._response.readline():
            field, _, value = line.decode().rstrip("\n").partition(": ")
            if field == "id":
                self.id = value
            elif field == "event":
                name = value
            elif field == "data":
                data = json.loads(value)
            elif not field and name:
                documents.check_event(self._path, self.id, name, data)
                return name, data
        raise EOFError

    def changes(self, until):
        """Returns the entries up to the first one for which `until` is true."""
        entries = []
        while True:
            name, entry = self.next()
            assert name == "presence", (name, entry)
            entries.append(entry)
            if until(entry):
                return entries

    def reaches(self, states):
        """Reads until the users have these values of `isFocused`."""
        seen = {}

        def is_reached(entry):
            seen[entry["user"]] = entry["isFocused"]
            return all(user in seen and seen[user] == value for user, value in states.items())

        self.changes(is_reached)


@contextmanager
def follow(
    relay: Relay, query: str = "", after: str | None = None, key: str | None = None, path: str = PRESENCE
) -> Iterator[Stream]:
    """Opens a stream. The default is that of presence."""
    connection = http.client.HTTPConnection("127.0.0.1", relay.port, timeout=DEADLINE)
    headers = {"Last-Event-ID": after} if after else {}
    if key:
        headers["Authorization"] = f"Bearer {key}"
    with closing(connection):
        connection.request("GET", path + query, headers=headers)
        with connection.getresponse() as response:
            assert response.status == 200, response.read()
            assert response.headers.get_content_type() == "text/event-stream"
            yield Stream(path, response)
