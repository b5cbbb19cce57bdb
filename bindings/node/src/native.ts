// Calls to the native library: strings in, strings out, failures as errors.

import koffi, { type LibraryHandle } from "koffi"
import { CallstackError, type ErrorCode, type ErrorDetails } from "./error.js"
import { ABI, SIGNATURES, type Signature } from "./generated/signatures.js"
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

/** The texts of a context, and its size. */
export interface ContextParts {
  xml: string
  stable: string
  volatile: string
  tokens: number
}

type Foreign = (...values: unknown[]) => number
type ErrorText = (error: bigint) => string

/** The size of the outputs of a call, in words of 8 bytes: two texts of two words, or a context of eight. */
const OUTPUT_WORDS = 8
const TEXT_WORDS = 2
/** Where in a context its size in tokens is, and the owner of the texts. */
const TOKENS = 6
const OWNER = 7

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
  readonly #freeText: Foreign
  readonly #freeContext: Foreign
  readonly #close: Foreign
  readonly #errorName: ErrorText
  readonly #errorMessage: ErrorText
  readonly #errorDetails: ErrorText
  readonly #freeError: Foreign

  // The memory that the library writes to. Calls in one thread do not overlap, so all calls share it.
  readonly #words = new BigUint64Array(OUTPUT_WORDS + 1)
  readonly #outputs = [this.#words, this.#words.subarray(TEXT_WORDS)]
  readonly #error = this.#words.subarray(OUTPUT_WORDS)

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
    this.#freeText = library.func("void callstack_text_free(void *text)")
    this.#freeContext = library.func("void callstack_context_free(void *context)")
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
  context(name: Name, stack: Address, ...inputs: Input[]): ContextParts | undefined {
    this.#call(name, stack, inputs)
    if (this.#word(OWNER) === 0n) return undefined
    try {
      const tokens = Number(this.#word(TOKENS))
      return { xml: this.#read(0), stable: this.#read(1), volatile: this.#read(2), tokens }
    } finally {
      this.#freeContext(this.#words)
    }
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
