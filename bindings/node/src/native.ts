// Calls into the native library: texts in as strings, texts out as strings, failures as errors.

import koffi, { type LibraryHandle } from "koffi"
import { CallstackError, type ErrorCode } from "./error.js"
import { findLibrary } from "./library.js"

/** The number of the C interface that this package is made for (`CALLSTACK_ABI`). */
const ABI = 1

/**
 * What each function takes between the stack and the error, one letter each: a text in (t), a number in (n), an output
 * (o). N: there is no stack to take. A test compares them with the header.
 */
export const SIGNATURES = {
  open: "Ntto",
  in_memory: "Nto",
  from_state: "Ntto",
  rebuild: "Nttto",
  flush: "",
  refresh: "o",
  poll: "o",
  deadline: "o",
  info: "o",
  push: "to",
  plan: "to",
  plan_children: "tto",
  ensure: "ttto",
  identify: "tttt",
  activate: "t",
  replace_id: "tt",
  set_status: "tntt",
  pop: "tntto",
  summarize: "ttt",
  invalidate: "tto",
  add_artifact: "tto",
  add_decision: "tt",
  set_active: "t",
  import: "to",
  resolve: "to",
  active: "o",
  frame: "to",
  frames: "to",
  state: "o",
  export_files: "t",
  outline: "to",
  context: "ttoooo",
  clear_cache: "t",
  settings: "No",
  allocate_chunk: "tt",
  write_chunk: "ttt",
  free_chunk: "tt",
  chunks: "to",
  update_registers: "tt",
  memory_tools: "Nto",
  start_run: "to",
  advance_run: "to",
  run_status: "to",
  run_reply: "tt",
  run_answer: "tttn",
  configure: "to",
  event: "to",
  tools: "No",
  tool: "ttto",
  session_context: "too",
  append_log: "tt",
  read_log: "tto",
  set_log_path: "tt",
  history: "to",
  export_history: "o",
} as const

/** A function of the C interface, without its prefix. */
type Name = keyof typeof SIGNATURES

/** A text or a number for the library; undefined is NULL. */
type Argument = string | number | undefined

/** The address of a stack. */
export type Address = bigint

type Foreign = (...values: unknown[]) => number

/** A function and the letters of its inputs. */
interface Declared {
  readonly call: Foreign
  readonly inputs: string
}
type ErrorText = (error: bigint) => string

/** Most outputs that a function has. */
const OUTPUTS = 4
/** Words of 8 bytes that an output takes: those of a CallstackText. */
const OUTPUT_WORDS = 2

/** The library, loaded once in each thread. */
export class Native {
  static #loaded: Native | undefined

  // What koffi has made must not be collected: its finalizers do what Bun 1.3 does not allow there, and dies of.
  static readonly #kept: unknown[] = []

  readonly #functions: ReadonlyMap<string, Declared>
  readonly #freeText: Foreign
  readonly #close: Foreign
  readonly #errorName: ErrorText
  readonly #errorMessage: ErrorText
  readonly #errorDetails: ErrorText
  readonly #freeError: Foreign

  // What the library writes to. Calls do not overlap, so one set serves all.
  readonly #words = new BigUint64Array(OUTPUTS * OUTPUT_WORDS + 1)
  readonly #outputs = Array.from({ length: OUTPUTS }, (_, index) => this.#words.subarray(index * OUTPUT_WORDS))
  readonly #error = this.#words.subarray(OUTPUTS * OUTPUT_WORDS)

  /** The library; it is looked for and loaded by the first call. */
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
      throw new CallstackError("library", message, { path, abi, needed: ABI })
    }
    this.#functions = new Map(
      Object.entries(SIGNATURES).map(([name, letters]) => [name, declare(library, name, letters)]),
    )
    this.#freeText = library.func("void callstack_text_free(void *text)")
    this.#close = library.func("int32_t callstack_close(void *stack, void *error)")
    this.#errorName = library.func("const char *callstack_error_name(void *error)")
    this.#errorMessage = library.func("const char *callstack_error_message(void *error)")
    this.#errorDetails = library.func("const char *callstack_error_details(void *error)")
    this.#freeError = library.func("void callstack_error_free(void *error)")
  }

  /** Calls a function that answers nothing. */
  run(name: Name, stack: Address, ...inputs: Argument[]): void {
    this.#call(name, stack, inputs, 0)
  }

  /** Calls a function that answers a text. */
  text(name: Name, stack: Address | undefined, ...inputs: Argument[]): string {
    this.#call(name, stack, inputs, 1)
    return this.#take(0)
  }

  /** Calls a function that answers several texts; undefined: it has none to give. */
  texts(count: number, name: Name, stack: Address, ...inputs: Argument[]): string[] | undefined {
    this.#call(name, stack, inputs, count)
    if (this.#words[0] === 0n) return undefined
    return Array.from({ length: count }, (_, index) => this.#take(index))
  }

  /** Calls a function that answers a number: a flag, a time, or the address of a new stack. */
  number(name: Name, stack: Address | undefined, ...inputs: Argument[]): bigint {
    // A flag is shorter than the word that is read.
    this.#words[0] = 0n
    this.#call(name, stack, inputs, 1)
    return this.#words[0]
  }

  /** Flushes and frees a stack, whatever comes of the flush. */
  close(stack: Address): void {
    this.#words[0] = stack
    this.#check(this.#close(this.#outputs[0], this.#error))
  }

  #call(name: Name, stack: Address | undefined, values: readonly Argument[], outputs: number): void {
    const { call, inputs } = this.#functions.get(name) as Declared
    const passed: unknown[] = stack === undefined ? [] : [stack]
    for (let index = 0; index < inputs.length; index++) {
      const value = values[index]
      if (inputs[index] === "n") passed.push(value)
      else if (value === undefined || value === null) passed.push(null, 0)
      else if (typeof value === "string") passed.push(value, Buffer.byteLength(value))
      else throw new TypeError(`${name}: expected a string, got ${typeof value} ${String(value)}`)
    }
    for (let index = 0; index < outputs; index++) passed.push(this.#outputs[index])
    passed.push(this.#error)
    this.#check(call(...passed))
  }

  /** The text of an output, which is freed. */
  #take(output: number): string {
    const place = output * OUTPUT_WORDS
    try {
      return koffi.decode.string(this.#words[place], this.#words[place + 1])
    } finally {
      this.#freeText(this.#outputs[output])
    }
  }

  #check(code: number): void {
    if (code === 0) return
    const error = this.#error[0] as bigint
    const name = this.#errorName(error) as ErrorCode
    const message = this.#errorMessage(error)
    const details = JSON.parse(this.#errorDetails(error)) as Record<string, unknown>
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

function declare(library: LibraryHandle, name: string, letters: string): Declared {
  const types: string[] = letters.startsWith("N") ? [] : ["void *"]
  for (const letter of letters) {
    if (letter === "t") types.push("const char *", "size_t")
    else if (letter === "n") types.push("int32_t")
    else if (letter === "o") types.push("void *")
  }
  types.push("void *")
  const call: Foreign = library.func(`callstack_${name}`, "int32_t", types)
  return { call, inputs: letters.replaceAll(/[No]/g, "") }
}
