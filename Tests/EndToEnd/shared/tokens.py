# SPDX-License-Identifier: Apache-2.0
"""Signs tokens without the relay's code, so that the tests check that code independently."""

import base64
import hashlib
import hmac
import json
import time
from pathlib import Path
from typing import Any

_HASHES = {"HS256": hashlib.sha256, "HS384": hashlib.sha384, "HS512": hashlib.sha512}

#: The secret that the tests' relays share with their backends.
SECRET = "6f1d0c8e4b7a2935d1e0f7a6b5c4d3e2f1a0b9c8d7e6f5a4"
#: All rights except `moderate`.
RIGHTS = ("join", "send", "push", "urgent", "history", "presence", "create")


def secret_file(folder: Path) -> Path:
    """Writes SECRET to a file that only its owner can read, and returns its path."""
    file = folder / "secret"
    file.write_text(SECRET)
    file.chmod(0o600)
    return file


def claims(user: str, **others: Any) -> dict[str, Any]:
    """Returns claims that are valid for an hour, in every room. `rooms=None` leaves out the claim `rooms`."""
    made = {"sub": user, "exp": int(time.time()) + 3600, "rooms": [{"match": "*", "can": list(RIGHTS)}]} | others
    return {key: value for key, value in made.items() if key != "rooms" or value is not None}


def token(secret: str, payload: Any, algorithm: str = "HS256") -> str:
    """Returns a JWT (RFC 7519) with any payload. With the algorithm `none` the signature is empty."""
    signed = f"{encoded({'alg': algorithm, 'typ': 'JWT'})}.{encoded(payload)}"
    if algorithm == "none":
        return f"{signed}."
    signature = hmac.new(secret.encode(), signed.encode(), _HASHES[algorithm]).digest()
    return f"{signed}.{base64url(signature)}"


def encoded(value: Any) -> str:
    return base64url(json.dumps(value).encode())


def base64url(text: bytes) -> str:
    return base64.urlsafe_b64encode(text).decode().rstrip("=")
