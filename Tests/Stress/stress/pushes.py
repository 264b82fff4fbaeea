# SPDX-License-Identifier: Apache-2.0
"""python -m stress.pushes: compares the throughput of the gateway with that of nghttp2's h2load.

Starts `stillwire-simulator`, which answers after some milliseconds. Both push to it in turn, several times. Prints each
run and the ratios of the medians.
"""

import argparse
import json
import os
import re
import statistics
import subprocess
import tempfile
from pathlib import Path

import stress  # noqa: F401  (makes the shared modules known)
from apple import AppleSimulator, headers
from relay import CHECKOUT


def h2load(service: AppleSimulator, connections: int, streams: int, payload: Path, seconds: float) -> float:
    """Returns the accepted requests per second."""
    # Many devices, because the service limits the pushes to a single one.
    paths = payload.with_name("paths")
    paths.write_text("\n".join(f"https://localhost:{service.port}/3/device/{number:064x}" for number in range(10_000)))
    named = [f"--header={name}: {value}" for name, value in headers(service.signer.token()).items()]
    said = subprocess.run(
        ["h2load", f"--duration={seconds:.0f}", "--warm-up-time=1", f"-c{connections}", f"-m{streams}", f"--data={payload}",
         "--header=:method: POST", f"--input-file={paths}", *named],
        capture_output=True, text=True, check=True,
    ).stdout  # fmt: skip
    accepted = re.search(r"status codes: (\d+) 2xx", said)
    if not accepted or not int(accepted[1]):
        raise SystemExit(said)
    return int(accepted[1]) / seconds


def gateway(
    binary: str, service: AppleSimulator, connections: int, streams: int, payload: int, seconds: float
) -> dict:
    command = [
        f"{binary}-bench", "pushes", "--json", "--address", "localhost", "--port", str(service.port),
        "--ca-file", str(service.certificate), "--connections", str(connections), "--streams", str(streams),
        "--payload", str(payload), "--seconds", str(seconds),
    ]  # fmt: skip
    said = subprocess.run(command, capture_output=True, text=True)
    if said.returncode:
        raise SystemExit(said.stdout + said.stderr)
    return json.loads(said.stdout)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--binary", default=str(CHECKOUT / ".build/release/stillwire"))
    parser.add_argument("--latency", type=float, default=0.02, help="the service's delay, in seconds")
    parser.add_argument("--payload", type=int, default=1024, help="the size of a payload, in bytes")
    parser.add_argument("--streams", type=int, default=500, help="the maximum number of streams per connection")
    parser.add_argument("--seconds", type=float, default=5)
    parser.add_argument("--repeats", type=int, default=3)
    options = parser.parse_args()
    os.environ["STILLWIRE_BINARY"] = options.binary
    with tempfile.TemporaryDirectory() as folder:
        payload = Path(folder) / "payload"
        start, end = '{"aps":{"alert":{"body":"', '"}}}'
        payload.write_text(start + "x" * (options.payload - len(start + end)) + end)
        service = AppleSimulator(Path(folder), "--latency", options.latency).start()
        try:
            service.settings(acceptsAnyKey=True)
            for connections in (1, 4):
                compare(options, service, connections, payload)
        finally:
            service.stop()


def compare(options: argparse.Namespace, service: AppleSimulator, connections: int, payload: Path) -> None:
    asked, pushed = [], []
    for _ in range(options.repeats):
        asked.append(h2load(service, connections, options.streams, payload, options.seconds))
        service.control("POST", "/reset")
        run = gateway(options.binary, service, connections, options.streams, options.payload, options.seconds)
        service.control("POST", "/reset")
        used = run["gateway"]
        pushed.append(run["pushes"]["accepted"])
        print(
            f"{connections} connections: h2load {asked[-1]:,.0f}/s; gateway {pushed[-1]:,.0f}/s, "
            f"{used['connections']} connections, {used['streams']} streams, "
            f"{used['processorPerPush'] * 1e6:.0f} µs of processor a push, p50 {run['latency']['p50'] * 1e3:.1f} ms, "
            f"p99 {run['latency']['p99'] * 1e3:.1f} ms",
            flush=True,
        )
    ratios = [mine / other for mine, other in zip(pushed, asked, strict=True)]
    print(
        f"{connections} connections: {statistics.median(pushed) / statistics.median(asked):.2f} of h2load "
        f"({min(ratios):.2f} to {max(ratios):.2f})",
        flush=True,
    )


if __name__ == "__main__":
    main()
