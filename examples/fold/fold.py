"""Folds a request to a model: takes the stretches of finished frames out of it.

    python fold.py anthropic < request.json > folded.json

The request is read from the standard input; what was folded goes to the standard error.
"""

import sys
from typing import cast

from callstack_core import CallstackError, fold
from callstack_core.types import Wire


def main() -> int:
    wire = sys.argv[1] if len(sys.argv) > 1 else ""
    try:
        folded = fold(cast(Wire, wire), sys.stdin.read())
    except CallstackError as error:
        print(f"fold: {error}", file=sys.stderr)
        return 1
    for stretch in folded["report"]["stretches"]:
        what = f"{stretch['items']} items, {stretch['bytes']} bytes, {stretch['tokens']} tokens are gone"
        print(f"{stretch['frame']} ({stretch['status']}): {what}", file=sys.stderr)
    for turns in folded["report"]["turns"]:
        print(f"{turns['turns']} turns: {turns['tokens']} tokens are gone", file=sys.stderr)
    sys.stdout.write(folded["request"])
    return 0


sys.exit(main())
