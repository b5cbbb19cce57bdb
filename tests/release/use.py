"""Uses the installed Python package once: a stack on disk that is closed and opened again. `scripts/release-step use` runs it."""

import tempfile

from callstack_core import Stack

with tempfile.TemporaryDirectory() as folder:
    with Stack.open(folder) as stack:
        shop = stack.push({"title": "Build a shop"})
        cart = stack.push({"title": "Shopping cart", "parent": shop})
        stack.pop(cart, {"status": "completed", "results": "Cart with totals in src/cart.py"})
    with Stack.open(folder) as stack:
        pay = stack.push({"title": "Pay for the cart", "parent": shop})
        xml = stack.context(pay).xml
if "Cart with totals in src/cart.py" not in xml:
    raise SystemExit(f"the context misses the results of the cart: {xml}")
