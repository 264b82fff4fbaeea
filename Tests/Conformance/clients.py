# SPDX-License-Identifier: Apache-2.0
"""The clients under test: how the driver of each is started."""

from pathlib import Path

CHECKOUT = Path(__file__).resolve().parents[2]

CLIENTS: dict[str, list[str]] = {
    "javascript": ["node", "--expose-gc", str(CHECKOUT / "Tests" / "Apps" / "JavaScriptDriver" / "driver.js")],
    "swift": [str(CHECKOUT / ".build" / "debug" / "ConformanceDriver")],
}
