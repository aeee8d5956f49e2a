"""A wall clock that is set forwards and back, for processes that load this library; steady clocks go on as they are."""

import shutil
import struct
import subprocess
from pathlib import Path

from tests.chaos.services import MissingServiceError

_VARIABLE = "PLACETO_TEST_CLOCK"
_SOURCE = f"""
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

static volatile long long *shift;

__attribute__((constructor)) static void open_shift(void) {{
  const char *path = getenv("{_VARIABLE}");
  int file = path ? open(path, O_RDONLY | O_CLOEXEC) : -1;
  if (file < 0) return;
  void *mapped = mmap(0, sizeof *shift, PROT_READ, MAP_SHARED, file, 0);
  if (mapped != MAP_FAILED) shift = mapped;
  close(file);
}}

int clock_gettime(clockid_t clock, struct timespec *now) {{
  int status = syscall(SYS_clock_gettime, clock, now);
  if (!status && shift && (clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE)) now->tv_sec += *shift;
  return status;
}}

int gettimeofday(struct timeval *restrict now, void *restrict zone) {{
  struct timespec precise;
  int status = clock_gettime(CLOCK_REALTIME, &precise);
  now->tv_sec = precise.tv_sec;
  now->tv_usec = precise.tv_nsec / 1000;
  return status;
}}

time_t time(time_t *seconds) {{
  struct timespec now;
  clock_gettime(CLOCK_REALTIME, &now);
  if (seconds) *seconds = now.tv_sec;
  return now.tv_sec;
}}
"""


class ShiftedClock:
    """The clock of the processes started with `settings`."""

    def __init__(self, folder: Path) -> None:
        """Compile the library in `folder`. Raises MissingServiceError without a C compiler."""
        compiler = shutil.which("cc") or shutil.which("gcc")
        if compiler is None:
            raise MissingServiceError("no C compiler is installed")
        source, library = folder / "clock.c", folder / "clock.so"
        source.write_text(_SOURCE)
        subprocess.run([compiler, "-shared", "-fPIC", "-O2", "-o", str(library), str(source)], check=True)
        self._shift = folder / "shift"
        self._shift.write_bytes(struct.pack("q", 0))
        self.settings = {"LD_PRELOAD": str(library), _VARIABLE: str(self._shift)}

    def set(self, shift_seconds: int) -> None:
        """Set the clock to the right time and `shift_seconds`."""
        with self._shift.open("r+b", buffering=0) as stream:  # the file that the processes have mapped
            stream.write(struct.pack("q", shift_seconds))
