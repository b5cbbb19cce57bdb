// Calls to the native library: strings in, strings out, failures as errors.

import koffi, { type LibraryHandle } from "koffi"
import { CallstackError, type ErrorCode, type ErrorDetails } from "./error.js"
import { ABI, SIGNATURES, type Signature } from "./generated/signatures.js"
import { CONTEXT_WORDS, type HeldContext, HeldContexts } from "./held.js"
import { readJson } from "./json.js"
import { findLibrary } from "./library.js"

/** The functions of the library that was built with PostgreSQL. */
const POSTGRES_SIGNATURES = {
  open_url: { stack: false, inputs: 2, outputs: 1 },
} as const satisfies Record<string, Signature>

const ALL_SIGNATURES: Readonly<Record<Name, Signature>> = { ...SIGNATURES, ...POSTGRES_SIGNATURES }

/** A function of the C interface, without its prefix. */
export type Name = keyof typeof SIGNATURES | keyof typeof POSTGRES_SIGNATURES

/** A text for the library; undefined is an absent one. */
export type Input = string | undefined

/** The address of a stack. */
export type Address = bigint

type Foreign = (...values: unknown[]) => number
type ErrorText = (error: bigint) => string

/** The size of the outputs of a call, in words of 8 bytes: two texts of two words, or a context of eight. */
const OUTPUT_WORDS = CONTEXT_WORDS
const TEXT_WORDS = 2
/** The size of a word in bytes. */
const WORD = 8

/** A text as the library takes it, by value. */
const VIEW = koffi.struct({ data: "const char *", len: "size_t" })
const ABSENT = { data: null, len: 0 }

/** The library, loaded once in each thread. */
export class Native {
  static #loaded: Native | undefined

  // koffi's objects must not be collected: their finalizers make calls that Bun 1.3 forbids there, and Bun
  // crashes.
  static readonly #kept: unknown[] = [VIEW]

  readonly #functions: ReadonlyMap<Name, Foreign>
  readonly #contexts: Foreign
  readonly #held: HeldContexts
  readonly #freeText: Foreign
  readonly #freeContext: Foreign
  readonly #close: Foreign
  readonly #errorName: ErrorText
  readonly #errorMessage: ErrorText
  readonly #errorDetails: ErrorText
  readonly #freeError: Foreign

  // The memory that the library writes to. Calls in one thread do not overlap, so all calls share it.
  // Memory of an ArrayBuffer does not move, so its address is asked for once: passing it is faster than passing
  // the array.
  readonly #words = new BigUint64Array(new ArrayBuffer((OUTPUT_WORDS + 1) * WORD))
  readonly #outputs = [this.#words, this.#words.subarray(TEXT_WORDS)]
  readonly #error = this.#words.subarray(OUTPUT_WORDS)
  readonly #wordsAt = koffi.address(this.#words)
  readonly #errorAt = koffi.address(this.#error)
  readonly #passed = new PassedTexts()

  /**
   * Returns the library. The first call finds and loads it. Throws a {@link CallstackError} with code
   * `library`.
   */
  static get(): Native {
    Native.#loaded ??= new Native(findLibrary())
    return Native.#loaded
  }

  private constructor(path: string) {
    const library = load(path)
    const askAbi = library.func("uint32_t callstack_abi()")
    const askVersion = library.func("const char *callstack_version()")
    Native.#kept.push(library, askAbi, askVersion)
    const abi: unknown = askAbi()
    if (abi !== ABI) {
      const version: unknown = askVersion()
      const message =
        `the library ${path} (version ${version}) has interface ${abi}, but this package needs ${ABI}; ` +
        "install both in the same version"
      throw new CallstackError("library", message, { path, abi: Number(abi), needed: ABI })
    }
    const names = Object.keys(SIGNATURES) as Name[]
    const functions = new Map(names.map((name) => [name, declare(library, name)]))
    for (const name of Object.keys(POSTGRES_SIGNATURES) as Name[]) {
      if (exports(library, name)) functions.set(name, declare(library, name))
    }
    this.#functions = functions
    this.#contexts = library.func(
      "int32_t callstack_contexts(void *stack, void *frames, size_t count, void *settings, void *contexts, void *error)",
    )
    this.#freeText = library.func("void callstack_text_free(void *text)")
    this.#freeContext = library.func("void callstack_context_free(void *context)")
    this.#held = new HeldContexts(this.#freeContext)
    this.#close = library.func("int32_t callstack_close(void *stack, void *error)")
    this.#errorName = library.func("const char *callstack_error_name(void *error)")
    this.#errorMessage = library.func("const char *callstack_error_message(void *error)")
    this.#errorDetails = library.func("const char *callstack_error_details(void *error)")
    this.#freeError = library.func("void callstack_error_free(void *error)")
  }

  /** Whether the library has a function. */
  has(name: Name): boolean {
    return this.#functions.has(name)
  }

  /** Calls a function that returns nothing. `stack` is undefined for a function that takes none. */
  run(name: Name, stack: Address | undefined, ...inputs: Input[]): void {
    this.#call(name, stack, inputs)
  }

  /** Calls a function that returns a text. */
  text(name: Name, stack: Address | undefined, ...inputs: Input[]): string {
    this.#call(name, stack, inputs)
    return this.#take(0)
  }

  /** Calls a function that returns two texts. */
  twoTexts(name: Name, ...inputs: Input[]): [string, string] {
    this.#call(name, undefined, inputs)
    return [this.#take(0), this.#take(1)]
  }

  /** Calls a function that returns a value: a flag (0 or 1), a time, or the address of a new stack. */
  value(name: Name, stack: Address | undefined, ...inputs: Input[]): bigint {
    // A flag is shorter than a word: the library does not write the other bytes.
    this.#words[0] = 0n
    this.#call(name, stack, inputs)
    return this.#word(0)
  }

  /** Calls a function that returns a context, or none. */
  context(name: Name, stack: Address, ...inputs: Input[]): HeldContext | undefined {
    this.#call(name, stack, inputs)
    return this.#held.take(this.#words, 0)
  }

  /** Makes the contexts of frames. All of them have the same settings. */
  contexts(stack: Address, frames: readonly string[], settings: Input): HeldContext[] {
    const count = frames.length
    const [framesAt, settingsAt] = this.#passed.write(frames, settings)
    // One context, which is by far the most frequent number, needs no memory of its own.
    const words = count === 1 ? this.#words : new BigUint64Array(new ArrayBuffer(count * OUTPUT_WORDS * WORD))
    const outputs = count === 1 ? this.#wordsAt : koffi.address(words)
    this.#check(this.#contexts(stack, framesAt, count, settingsAt, outputs, this.#errorAt))
    const contexts: HeldContext[] = []
    for (let place = 0; place < count; place++) {
      const context = this.#held.take(words, place * OUTPUT_WORDS)
      if (context === undefined) throw new TypeError("the library has returned no context")
      contexts.push(context)
    }
    return contexts
  }

  /** Makes a context and returns its report. */
  contextReport(stack: Address, ...inputs: Input[]): string {
    this.#call("context", stack, inputs)
    const context = this.#words.slice(0, OUTPUT_WORDS)
    try {
      this.#check(this.#function("context_report")(context, this.#outputs[0], this.#error))
      return this.#take(0)
    } finally {
      this.#freeContext(context)
    }
  }

  /** Flushes and frees a stack. The stack is freed even if the flush fails. */
  close(stack: Address): void {
    this.#words[0] = stack
    this.#check(this.#close(this.#outputs[0], this.#error))
  }

  #function(name: Name): Foreign {
    const declared = this.#functions.get(name)
    if (declared === undefined) throw new TypeError(`the library has no function ${name}`)
    return declared
  }

  #call(name: Name, stack: Address | undefined, inputs: readonly Input[]): void {
    const call = this.#function(name)
    const signature = ALL_SIGNATURES[name]
    const passed: unknown[] = signature.stack ? [stack ?? null] : []
    for (let index = 0; index < signature.inputs; index++) {
      const value = inputs[index]
      if (value === undefined || value === null) passed.push(ABSENT)
      else if (typeof value === "string") passed.push({ data: value, len: Buffer.byteLength(value) })
      else throw new TypeError(`${name}: expected a string, got ${typeof value} ${String(value)}`)
    }
    for (let index = 0; index < signature.outputs; index++) passed.push(this.#outputs[index])
    passed.push(this.#error)
    this.#check(call(...passed))
  }

  /** A word of the shared memory. The index is never out of range; 0n is NULL. */
  #word(index: number): bigint {
    return this.#words[index] ?? 0n
  }

  /** Reads a text of the outputs. */
  #read(output: number): string {
    const place = output * TEXT_WORDS
    return koffi.decode.string(this.#word(place), this.#word(place + 1))
  }

  /** Reads a text of the outputs and frees it. */
  #take(output: number): string {
    try {
      return this.#read(output)
    } finally {
      this.#freeText(this.#outputs[output])
    }
  }

  #check(code: number): void {
    if (code === 0) return
    const error = this.#word(OUTPUT_WORDS)
    const name = this.#errorName(error) as ErrorCode
    const message = this.#errorMessage(error)
    const details = readJson<ErrorDetails>(this.#errorDetails(error))
    this.#freeError(this.#error)
    throw new CallstackError(name, message, details)
  }
}

/** Texts that are passed to the library by their addresses, in memory that later calls use again. */
class PassedTexts {
  /** For each text the address and the length. */
  #views = new BigUint64Array(new ArrayBuffer(8 * TEXT_WORDS * WORD))
  #viewsAt = koffi.address(this.#views)
  #bytes = Buffer.from(new ArrayBuffer(4096))
  #bytesAt = koffi.address(this.#bytes)

  /** Writes a list of texts and one more, and returns the addresses of their views. That of an absent text is null. */
  write(texts: readonly string[], last: Input): [bigint, bigint | null] {
    let needed = last?.length ?? 0
    for (const text of texts) {
      if (typeof text !== "string")
        throw new TypeError(`contexts: expected a string, got ${typeof text} ${String(text)}`)
      needed += text.length
    }
    this.#reserve(texts.length + 1, needed)
    let end = 0
    for (let place = 0; place < texts.length; place++) end = this.#put(place, texts[place] ?? "", end)
    if (last === undefined) return [this.#viewsAt, null]
    this.#put(texts.length, last, end)
    return [this.#viewsAt, this.#viewsAt + BigInt(texts.length * TEXT_WORDS * WORD)]
  }

  #put(place: number, text: string, start: number): number {
    const end = start + this.#bytes.write(text, start)
    this.#views[place * TEXT_WORDS] = this.#bytesAt + BigInt(start)
    this.#views[place * TEXT_WORDS + 1] = BigInt(end - start)
    return end
  }

  /** Makes room for a number of texts with a number of characters. */
  #reserve(texts: number, characters: number): void {
    if (texts * TEXT_WORDS > this.#views.length) {
      this.#views = new BigUint64Array(new ArrayBuffer(texts * TEXT_WORDS * WORD))
      this.#viewsAt = koffi.address(this.#views)
    }
    // A unit of UTF-16 has at most three bytes in UTF-8.
    if (characters * 3 > this.#bytes.length) {
      this.#bytes = Buffer.from(new ArrayBuffer(characters * 3))
      this.#bytesAt = koffi.address(this.#bytes)
    }
  }
}

function load(path: string): LibraryHandle {
  try {
    return koffi.load(path)
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error)
    const message = `the native library of callstack-core cannot be loaded from ${path}: ${reason}`
    // biome-ignore lint/style/useErrorCause: the rule does not see the cause in the fourth argument
    throw new CallstackError("library", message, { path, reason }, { cause: error })
  }
}

/** Whether the library exports a function. */
function exports(library: LibraryHandle, name: Name): boolean {
  try {
    library.symbol(`callstack_${name}`, "void *")
    return true
  } catch {
    return false
  }
}

function declare(library: LibraryHandle, name: Name): Foreign {
  const { stack, inputs, outputs } = ALL_SIGNATURES[name]
  const pointers = Array.from({ length: outputs + 1 }, () => "void *")
  return library.func(`callstack_${name}`, "int32_t", [
    ...(stack ? ["void *"] : []),
    ...Array.from({ length: inputs }, () => VIEW),
    ...pointers,
  ])
}
