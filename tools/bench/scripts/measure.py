"""Runs a command, and prints what it took as JSON: wall seconds, CPU seconds, peak megabytes, exit code.

usage: measure.py COMMAND [ARGUMENT...]
"""

import json
import os
import sys
import time

start = time.monotonic()
pid = os.fork()
if pid == 0:
    # Standard output is for the figures alone.
    os.dup2(2, 1)
    os.execvp(sys.argv[1], sys.argv[1:])
_, status, used = os.wait4(pid, 0)
print(
    json.dumps(
        {
            "code": os.waitstatus_to_exitcode(status),
            "seconds": time.monotonic() - start,
            "cpuSeconds": used.ru_utime + used.ru_stime,
            "megabytes": used.ru_maxrss * 1024 / 1e6,
        }
    )
)
