# SPDX-License-Identifier: Apache-2.0
"""The clients under test, and the commands that start their drivers."""

from pathlib import Path

CHECKOUT = Path(__file__).resolve().parents[2]

CLIENTS: dict[str, list[str]] = {
    "javascript": ["node", "--expose-gc", str(CHECKOUT / "Tests" / "Apps" / "JavaScriptDriver" / "driver.js")],
    "swift": [str(CHECKOUT / ".build" / "debug" / "ConformanceDriver")],
}
