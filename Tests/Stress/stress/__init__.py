# SPDX-License-Identifier: Apache-2.0
"""Scenarios for a relay, played over real sockets. Every frame is checked."""

import sys
from pathlib import Path

_SHARED = str(Path(__file__).resolve().parents[2] / "EndToEnd" / "shared")
if _SHARED not in sys.path:
    sys.path.insert(0, _SHARED)
