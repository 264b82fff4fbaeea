# SPDX-License-Identifier: Apache-2.0
"""`stillwire-simulator`, its control API, and provider tokens that the tests sign themselves."""

import base64
import json
import re
import signal
import ssl
import subprocess
import time
import urllib.request
from pathlib import Path
from typing import Any

from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec, utils

from certificates import write_key
from relay import CHECKOUT, DEADLINE, environment, tool
from waiting import eventually

KEY_ID = "KEY4567890"
TEAM = "TEAM567890"
TOPIC = "org.example.chat"
ALERT = {"aps": {"alert": {"title": "Ann", "body": "Kettle is on"}}}
#: A device that the simulator does not know yet.
DEVICE = "ab" * 32


class Signer:
    """A P-256 private key, and the provider tokens that it signs."""

    def __init__(self, key_id: str = KEY_ID, team: str = TEAM):
        self.key_id = key_id
        self.team = team
        self._key = ec.generate_private_key(ec.SECP256R1())

    @property
    def public_pem(self) -> str:
        return self._key.public_key().public_bytes(
            serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo
        ).decode()

    def token(
        self, age: float = 0, header: Any = None, claims: Any = None, is_der: bool = False
    ) -> str:
        """Returns a token that is `age` seconds old. `header` and `claims` replace the valid ones."""
        header = {"alg": "ES256", "kid": self.key_id} if header is None else header
        claims = {"iss": self.team, "iat": int(time.time() - age)} if claims is None else claims
        signed = f"{base64url(json.dumps(header).encode())}.{base64url(json.dumps(claims).encode())}"
        signature = self._key.sign(signed.encode(), ec.ECDSA(hashes.SHA256()))
        if not is_der:
            r, s = utils.decode_dss_signature(signature)
            signature = r.to_bytes(32, "big") + s.to_bytes(32, "big")
        return f"{signed}.{base64url(signature)}"


def base64url(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).decode().rstrip("=")


def headers(token: str | None = None, **others: str | None) -> dict[str, str]:
    """Returns the headers of an alert. `others` sets headers, and None removes them: `apns_topic` is `apns-topic`."""
    named = {
        "authorization": f"bearer {token}" if token else None,
        "apns-topic": TOPIC,
        "apns-push-type": "alert",
        "apns-priority": "10",
        "apns-expiration": str(int(time.time()) + 3600),
    }
    named |= {name.replace("_", "-"): value for name, value in others.items()}
    return {name: value for name, value in named.items() if value is not None}


class AppleSimulator:
    """The simulator as a process on free ports, and the requests to its control port."""

    def __init__(self, folder: Path, *options: object):
        self.signer = Signer()
        self.certificate = folder / "certificate.pem"
        self.log = folder / "simulator.log"
        self._key_file = folder / "key.pem"
        self._key_file.write_text(self.signer.public_pem)
        self._options = [str(option) for option in options]
        self.port = 0
        self.control_port = 0

    def start(self) -> "AppleSimulator":
        command = [tool("simulator"), "--port", "0", "--control-port", "0"]
        if "--certificate" not in self._options:
            command += ["--save-certificate", str(self.certificate)]
        command += ["--key-file", str(self._key_file), "--key-id", KEY_ID, "--team", TEAM, *self._options]
        self._output = self.log.with_suffix(".out")
        with self.log.open("w") as log, self._output.open("w") as output:
            self._process = subprocess.Popen(command, env=environment(), cwd=CHECKOUT, stdout=output, stderr=log)

        def ports() -> list[str]:
            assert self._process.poll() is None, self.log.read_text()
            return re.findall(r"https?://[^\s:]+:(\d+)", self._output.read_text())

        self.port, self.control_port = map(int, eventually(lambda: len(ports()) == 2 and ports()))
        return self

    @property
    def trust(self) -> ssl.SSLContext:
        """The TLS context of a client that trusts the simulator's certificate."""
        return ssl.create_default_context(cafile=str(self.certificate))

    def stop(self) -> int:
        self._process.send_signal(signal.SIGTERM)
        return self._process.wait(DEADLINE)

    def kill(self) -> None:
        self._process.kill()
        self._process.wait()

    def control(self, method: str, path: str, body: Any = None) -> Any:
        """Sends a request to the control API and returns the answer. Raises HTTPError for an error."""
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(f"http://127.0.0.1:{self.control_port}{path}", data, method=method)
        with urllib.request.urlopen(request, timeout=DEADLINE) as answer:
            text = answer.read()
            return json.loads(text) if text else None

    def settings(self, **changes: Any) -> dict[str, Any]:
        return self.control("PATCH", "/settings", changes)

    def faults(self, *faults: dict[str, Any]) -> None:
        self.control("PUT", "/faults", {"faults": faults})

    def phone(self, token: str, **script: Any) -> dict[str, Any]:
        return self.control("PUT", f"/phones/{token}", script)

    def arrivals(self, **query: int) -> list[dict[str, Any]]:
        text = "&".join(f"{name}={value}" for name, value in query.items())
        return self.control("GET", f"/arrivals?{text}")["arrivals"]


def pair(folder: Path) -> tuple[AppleSimulator, dict[str, str]]:
    """Starts a simulator, and returns it with the credential of a relay whose tokens it accepts."""
    file, public = folder / "provider.p8", folder / "public.pem"
    public.write_bytes(
        write_key(file).public_key().public_bytes(
            serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo
        )
    )
    simulator = AppleSimulator(folder, "--key-file", public).start()
    return simulator, {"keyFile": str(file), "keyID": KEY_ID, "team": TEAM}


def bench_configuration(simulator: AppleSimulator, credential: dict[str, str]) -> dict[str, Any]:
    """Returns the configuration of a relay for the load `pushes --through`."""
    app = {"app": "com.example.bench", "environment": "sandbox", "credential": credential}
    service = {"host": "127.0.0.1", "port": simulator.port, "caFile": str(simulator.certificate)}
    return {"apps": [app], "apple": service}
