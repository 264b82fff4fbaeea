# SPDX-License-Identifier: Apache-2.0
"""A parsed frame of the protocol that keeps its original text."""

import json
import re
from typing import Any

_decoder = json.JSONDecoder()
_BODY = re.compile(r'"body"\s*:\s*')
_MESSAGES = re.compile(r'"messages"\s*:\s*\[\s*')
_COMMA = re.compile(r"\s*,\s*")


class Frame(dict):
    """A JSON object that keeps its original text."""

    def __init__(self, text: str):
        super().__init__(json.loads(text))
        self.text = text

    @property
    def body_text(self) -> str | None:
        """The text of the first `body`, byte for byte."""
        found = _BODY.search(self.text)
        if found is None:
            return None
        _, end = _decoder.raw_decode(self.text, found.end())
        return self.text[found.end() : end]

    @property
    def messages(self) -> list["Frame"]:
        """The objects in `messages`, each with its own text."""
        found = _MESSAGES.search(self.text)
        parts: list[Frame] = []
        position = found.end() if found else len(self.text)
        while position < len(self.text) and self.text[position] == "{":
            _, end = _decoder.raw_decode(self.text, position)
            parts.append(Frame(self.text[position:end]))
            comma = _COMMA.match(self.text, end)
            if comma is None:
                break
            position = comma.end()
        return parts

    def fits(self, type: str, fields: dict[str, Any]) -> bool:
        return self.get("type") == type and all(key in self and self[key] == value for key, value in fields.items())
