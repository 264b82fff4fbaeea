# SPDX-License-Identifier: Apache-2.0
"""The clients under test: how the driver of each is started."""

from pathlib import Path

HERE = Path(__file__).parent

CLIENTS: dict[str, list[str]] = {
    "javascript": ["node", "--expose-gc", str(HERE / "javascript" / "driver.js")],
    "swift": [str(HERE.parents[1] / ".build" / "debug" / "ConformanceDriver")],
}
