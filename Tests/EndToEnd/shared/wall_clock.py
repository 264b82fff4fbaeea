# SPDX-License-Identifier: Apache-2.0
"""A wall clock that is set while a program runs. Depends on a C compiler."""

import os
import shutil
import struct
import subprocess
from pathlib import Path

SOURCE = Path(__file__).with_name("wall_clock.c")


class Clock:
    """The wall clock of a program that is started with the command `under`, or with the variables `environment`. `set`
    sets its difference from the true time, in seconds. `suspend` has the effect of a machine that was suspended for these
    seconds."""

    def __init__(self, folder: Path):
        self._suspended = 0
        self._file = folder / "offset"
        self._file.write_bytes(struct.pack("=qq", 0, 0))
        library = folder / "wall_clock.so"
        compiler = shutil.which("cc") or shutil.which("clang") or "gcc"
        subprocess.run([compiler, "-shared", "-fPIC", "-O1", "-o", library, SOURCE, "-ldl"], check=True)
        self.environment = {"LD_PRELOAD": str(library), "WALL_CLOCK_OFFSET": str(self._file)}
        self.under = ("env", *(f"{name}={value}" for name, value in self.environment.items()))

    def set(self, seconds: int) -> None:
        self._write(seconds, 0)

    def suspend(self, seconds: int) -> None:
        self._suspended += seconds
        self._write(self._suspended, 8)

    def _write(self, seconds: int, position: int) -> None:
        descriptor = os.open(self._file, os.O_WRONLY)
        os.pwrite(descriptor, struct.pack("=q", seconds * 1000), position)
        os.close(descriptor)
