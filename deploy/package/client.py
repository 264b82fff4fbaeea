# SPDX-License-Identifier: Apache-2.0
"""The client of `inside`: runs with the packages of Debian."""

import asyncio
import json
import sqlite3
import sys
import urllib.request

import websockets

ADDRESS = "127.0.0.1:8080"


def ready() -> None:
    """Fails unless the relay, its page and its documentation answer."""
    for path in ("/ready", "/", "/docs/"):
        try:
            urllib.request.urlopen(f"http://{ADDRESS}{path}", timeout=2).close()
        except OSError:
            sys.exit(1)


async def messages(token: str, *texts: str) -> None:
    """Sends the texts, and prints all messages of the room."""
    async with websockets.connect(f"ws://{ADDRESS}/v1/connect", subprotocols=["stillwire.v1.json"]) as socket:

        async def ask(**request: object) -> dict:
            await socket.send(json.dumps(request | {"id": 1}))
            while (reply := json.loads(await socket.recv())).get("id") != 1:
                pass
            assert reply["type"] != "error", reply
            return reply

        await ask(type="hello", token=token)
        await ask(type="join", room="tea")
        for text in texts:
            await ask(type="send", room="tea", body={"text": text})
        for message in (await ask(type="history", room="tea"))["messages"]:
            print(message["body"]["text"])


def migrate(database: str, statement: str) -> None:
    """Changes the list of migrations in the database, as a later release does."""
    connection = sqlite3.connect(database, isolation_level=None, timeout=5)
    connection.execute(statement)
    connection.close()


match sys.argv[1:]:
    case ["ready"]:
        ready()
    case ["messages", token, *texts]:
        asyncio.run(messages(token, *texts))
    case ["newer", database]:
        migrate(database, "INSERT INTO grdb_migrations VALUES ('99.0.0')")
    case ["older", database]:
        migrate(database, "DELETE FROM grdb_migrations WHERE identifier = '99.0.0'")
