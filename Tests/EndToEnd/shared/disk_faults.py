# SPDX-License-Identifier: Apache-2.0
"""Faults of the disk for one program, see `disk_faults.c`. Depends on a C compiler."""

import shutil
import subprocess
from pathlib import Path

SOURCE = Path(__file__).with_name("disk_faults.c")


class DiskFaults:
    """Makes the variables of the environment with which a program has faults."""

    def __init__(self, folder: Path):
        self._library = folder / "disk_faults.so"
        compiler = shutil.which("cc") or shutil.which("clang") or "gcc"
        subprocess.run([compiler, "-shared", "-fPIC", "-O1", "-o", self._library, SOURCE, "-ldl"], check=True)

    def kill_at(self, call: int) -> dict[str, str]:
        """The program is killed immediately before its call of this number that changes or synchronizes files."""
        return {"LD_PRELOAD": str(self._library), "FAULT_KILL_AT": str(call)}

    def no_locks(self, text: str) -> dict[str, str]:
        """Files whose path contains this text cannot be locked."""
        return {"LD_PRELOAD": str(self._library), "FAULT_NO_LOCKS": text}
