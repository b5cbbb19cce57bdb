"""A worker: does the frames of a plan one after the other, on any number of machines. python worker.py STACK COMMAND…"""

import subprocess
import sys
import time
from contextlib import suppress
from os import getpid, uname

from callstack_core import CallstackError, Stack

LEASE = 60_000
with Stack.open(sys.argv[1]) as stack:
    while any(stack.work_left()[which] for which in ("free", "held", "later")):
        hold = stack.hold({"name": f"{uname().nodename}-{getpid()}", "lease": LEASE})
        if hold is None:
            time.sleep(0.2)
            continue
        # The command reads on its standard input what the frame is about, and writes its results.
        context = stack.context(hold["handle"], {"guidance": "none"}).xml
        try:
            work = subprocess.Popen(sys.argv[2:], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        except OSError:
            stack.release(hold)
            raise
        results = None
        while results is None:
            try:
                results, _ = work.communicate(context, timeout=LEASE / 3_000)
            except subprocess.TimeoutExpired:
                with suppress(CallstackError):  # If it is refused, the end of the frame says why.
                    stack.renew(hold, {"lease": LEASE})
        results = results.strip() or "It wrote nothing."
        try:
            if work.returncode:
                stack.finish(hold, {"end": "failed", "results": results})
            else:
                stack.finish(hold, {"end": "done", "results": results})
        except CallstackError as refused:  # A person has stopped the frame, or another worker has it by now.
            print(refused, file=sys.stderr)
