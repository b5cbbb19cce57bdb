// Uses the installed npm package once: a stack on disk that is closed and opened again. `scripts/release-step use` runs it.

import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { Stack } from "callstack-core"

const folder = mkdtempSync(join(tmpdir(), "callstack-"))
const first = Stack.open(folder)
const shop = first.push({ title: "Build a shop" })
const cart = first.push({ title: "Shopping cart", parent: shop })
first.pop(cart, "completed", "Cart with totals in src/cart.ts")
first.close()

const second = Stack.open(folder)
const pay = second.push({ title: "Pay for the cart", parent: shop })
const { xml } = second.context(pay)
second.close()
rmSync(folder, { recursive: true })
if (!xml.includes("Cart with totals in src/cart.ts")) throw new Error(`the context misses the results of the cart: ${xml}`)
