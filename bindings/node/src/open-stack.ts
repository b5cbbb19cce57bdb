// A stack of the native library from its opening to its closing: what every method needs.

import { CallstackError } from "./error.js"
import type { HeldContext } from "./held.js"
import { readJson } from "./json.js"
import { type Address, type Input, type Name, Native } from "./native.js"

/** Frees stacks that were garbage-collected without being closed. */
const forgotten = new FinalizationRegistry<Address>((address) => {
  try {
    Native.get().close(address)
  } catch {
    // The database holds everything that was acknowledged; the next open writes the files beside it.
  }
})

/** A stack that can be closed. */
export abstract class OpenStack implements Disposable {
  readonly #native = Native.get()
  #open: Address | undefined

  protected constructor(address: Address) {
    this.#open = address
    forgotten.register(this, address, this)
  }

  get #address(): Address {
    if (this.#open === undefined) throw new CallstackError("closed", "this stack has been closed; open it again")
    return this.#open
  }

  /**
   * Flushes and frees the stack. Closing it again does nothing. If the flush fails, the stack is closed all
   * the same and the error says what could not be written.
   */
  close(): void {
    if (this.#open === undefined) return
    const address = this.#open
    this.#open = undefined
    forgotten.unregister(this)
    this.#native.close(address)
  }

  /** The same as {@link close}, for `using`. */
  [Symbol.dispose](): void {
    this.close()
  }

  /** Calls a function that returns nothing. */
  protected run(name: Name, ...inputs: Input[]): void {
    this.#native.run(name, this.#address, ...inputs)
  }

  /** Calls a function that returns a text. */
  protected text(name: Name, ...inputs: Input[]): string {
    return this.#native.text(name, this.#address, ...inputs)
  }

  /** Calls a function that returns JSON. */
  protected record<T>(name: Name, ...inputs: Input[]): T {
    return readJson(this.#native.text(name, this.#address, ...inputs))
  }

  /** Calls a function that returns whether something is so. */
  protected flag(name: Name, ...inputs: Input[]): boolean {
    return this.#native.value(name, this.#address, ...inputs) !== 0n
  }

  /** Calls a function that returns a time; 0 is none. */
  protected time(name: Name, ...inputs: Input[]): number | undefined {
    return Number(this.#native.value(name, this.#address, ...inputs)) || undefined
  }

  /** Calls a function that returns a context, or none. */
  protected heldContext(name: Name, ...inputs: Input[]): HeldContext | undefined {
    return this.#native.context(name, this.#address, ...inputs)
  }

  /** Makes the contexts of frames. */
  protected heldContexts(frames: readonly string[], settings: Input): HeldContext[] {
    return this.#native.contexts(this.#address, frames, settings)
  }

  /** Returns the report of a context as JSON. */
  protected reportText(...inputs: Input[]): string {
    return this.#native.contextReport(this.#address, ...inputs)
  }

  /** Calls a function that makes another stack. */
  protected made(name: Name, ...inputs: Input[]): Address {
    return this.#native.value(name, this.#address, ...inputs)
  }
}
