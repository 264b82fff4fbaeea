# SPDX-License-Identifier: Apache-2.0
"""Requests in which the caller chooses the text of the body."""

import json
from typing import Any


def body_spelled(body: Any) -> str:
    """Returns the text of a body. A `Spelled` body keeps its text."""
    return body.text if isinstance(body, Spelled) else json.dumps(body, separators=(",", ":"))


class Spelled:
    """A body with the text that the caller gives: its numbers, escapes and spaces."""

    def __init__(self, text: str):
        self.text = text


def request_spelled(type: str, fields: dict[str, Any]) -> str:
    """Returns the text of a request. `body` may be `Spelled`."""
    parts = [f'"type":{json.dumps(type)}']
    for key, value in fields.items():
        parts.append(f"{json.dumps(key)}:{body_spelled(value) if key == 'body' else json.dumps(value)}")
    return "{" + ",".join(parts) + "}"
