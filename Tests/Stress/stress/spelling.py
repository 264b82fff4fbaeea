# SPDX-License-Identifier: Apache-2.0
"""Requests in which the caller chooses the text of the body."""

import json
from typing import Any


def body_spelled(body: Any) -> str:
    """The text of a body; a `Spelled` one keeps its own."""
    return body.text if isinstance(body, Spelled) else json.dumps(body, separators=(",", ":"))


class Spelled:
    """A body with a spelling of its own: numbers, escapes and spaces as they are."""

    def __init__(self, text: str):
        self.text = text


def request_spelled(type: str, fields: dict[str, Any]) -> str:
    """The text of a request whose `body` is spelled by the caller."""
    parts = [f'"type":{json.dumps(type)}']
    for key, value in fields.items():
        parts.append(f"{json.dumps(key)}:{body_spelled(value) if key == 'body' else json.dumps(value)}")
    return "{" + ",".join(parts) + "}"
