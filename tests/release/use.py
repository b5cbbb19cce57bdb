"""Uses the installed Python package once: loads the library and opens a stack. `scripts/release-step use` runs it."""

import callstack_core

callstack_core.Stack.in_memory().close()
