// Calls to the native library: strings in, strings out, failures as errors.

import koffi, { type LibraryHandle } from "koffi"
import { CallstackError, type ErrorCode, type ErrorDetails } from "./error.js"
import { readJson } from "./json.js"
import { findLibrary } from "./library.js"

/** The version of the C interface that this package needs (`CALLSTACK_ABI`). */
const ABI = 1

/**
 * The parameters of each function between the stack and the error, one letter each:
 *
 * - `t`: a text; `t?`: a text that may be NULL
 * - `n`: a number
 * - `o`: an output that receives a text
 * - `v`: an output that receives a value: a flag, a time, or the address of a new stack
 * - `N` at the beginning: the function takes no stack
 *
 * The types of all calls follow from these letters. A test compares the letters with the C header.
 */
export const SIGNATURES = {
  open: "Ntt?v",
  in_memory: "Nt?v",
  from_state: "Ntt?v",
  rebuild: "Nttt?v",
  flush: "",
  refresh: "v",
  compact_history: "to",
  prune_logs: "to",
  poll: "o",
  deadline: "v",
  info: "o",
  push: "to",
  plan: "to",
  plan_children: "tto",
  ensure: "tt?t?o",
  identify: "ttt?t?",
  edit: "tt",
  activate: "t",
  begin: "t",
  replace_id: "tt",
  set_status: "tnt?t?",
  pop: "tntt?o",
  pop_and_begin: "tntt?t?o",
  complete: "ttt?t?o",
  block: "ttt?t?o",
  answer: "tt",
  stop: "t?to",
  retry: "tt?o",
  hold: "tnt?t?o",
  renew: "tno",
  release: "t",
  finish: "tto",
  as_actor: "tv",
  work_left: "t?o",
  resumption: "t?o",
  standing: "to",
  note_interruptions: "o",
  deliver: "t",
  forget: "t",
  summarize: "ttt?",
  invalidate: "tto",
  reopen: "tto",
  undo: "o",
  set_limits: "tt",
  record_cost: "tt",
  allowance: "to",
  overspent: "to",
  add_artifact: "ttv",
  add_decision: "tt",
  record_usage: "tt",
  set_active: "t",
  import: "to",
  resolve: "to",
  active: "o",
  frame: "to",
  frames: "to",
  usage: "to",
  state: "o",
  export_files: "t",
  outline: "t?o",
  context: "tt?oooo",
  context_changes: "Ntto",
  clear_cache: "t?",
  settings: "Noo",
  fold: "Nttt?oo",
  allocate_chunk: "tt",
  write_chunk: "ttt",
  free_chunk: "tt",
  chunks: "to",
  update_registers: "tt",
  memory_tools: "Nto",
  start_run: "to",
  advance_run: "to",
  runs: "o",
  run_status: "to",
  run_reply: "tt",
  run_tell: "tt",
  run_answer: "tttn",
  configure: "t?o",
  event: "to",
  offered_tools: "o",
  tools: "No",
  named_tools: "Nt?o",
  tool: "ttto",
  place: "to",
  session_context: "too",
  append_log: "tt",
  read_log: "tt?o",
  set_log_path: "tt",
  history: "t?o",
  export_history: "o",
} as const

/** The functions of the library that was built with PostgreSQL. */
export const POSTGRES_SIGNATURES = {
  open_url: "Ntt?v",
} as const

const ALL_SIGNATURES = { ...SIGNATURES, ...POSTGRES_SIGNATURES } as const

type Signatures = typeof ALL_SIGNATURES

/** A function of the C interface, without its prefix. */
export type Name = keyof Signatures

/** A text or a number for the library; undefined is passed as NULL. */
type Argument = string | number | undefined

/** The address of a stack. */
export type Address = bigint

/** The inputs that letters stand for, as a tuple. */
type InputsOf<Letters extends string> = Letters extends `t?${infer Rest}`
  ? [string | undefined, ...InputsOf<Rest>]
  : Letters extends `t${infer Rest}`
    ? [string, ...InputsOf<Rest>]
    : Letters extends `n${infer Rest}`
      ? [number, ...InputsOf<Rest>]
      : Letters extends `${string}${infer Rest}`
        ? InputsOf<Rest>
        : []

/** The letters of the outputs. */
type OutputsOf<Letters extends string> = Letters extends `${infer First}${infer Rest}`
  ? `${First extends "o" | "v" ? First : ""}${OutputsOf<Rest>}`
  : ""

/** The inputs of each function. */
export type Inputs = { [N in Name]: InputsOf<Signatures[N]> }

/** The stack of each function; undefined for a function that takes none. */
type Stacks = { [N in Name]: Signatures[N] extends `N${string}` ? undefined : Address }

/** The functions with exactly these outputs. */
type NameWith<Outputs extends string> = { [N in Name]: OutputsOf<Signatures[N]> extends Outputs ? N : never }[Name]

/** A function without outputs. */
export type RunName = NameWith<"">
/** A function that answers one text. */
export type TextName = NameWith<"o">
/** A function that takes a stack and answers one text. */
export type StackTextName = { [N in TextName]: Stacks[N] extends Address ? N : never }[TextName]
/** A function that answers one value. */
export type ValueName = NameWith<"v">

type Foreign = (...values: unknown[]) => number
type ErrorText = (error: bigint) => string

/** A function of the library, with the letters of its inputs: `t` and `n`. */
interface Declared {
  readonly call: Foreign
  readonly inputs: string
}

/** The largest number of outputs of a function. */
const OUTPUTS = 4
/** The size of an output, in words of 8 bytes: the size of a CallstackText. */
const OUTPUT_WORDS = 2

/** The library, loaded once in each thread. */
export class Native {
  static #loaded: Native | undefined

  // koffi's objects must not be collected: their finalizers make calls that Bun 1.3 forbids there, and Bun crashes.
  static readonly #kept: unknown[] = []

  readonly #functions: ReadonlyMap<Name, Declared>
  readonly #freeText: Foreign
  readonly #close: Foreign
  readonly #errorName: ErrorText
  readonly #errorMessage: ErrorText
  readonly #errorDetails: ErrorText
  readonly #freeError: Foreign

  // The memory that the library writes to. Calls in one thread do not overlap, so all calls share it.
  readonly #words = new BigUint64Array(OUTPUTS * OUTPUT_WORDS + 1)
  readonly #outputs = Array.from({ length: OUTPUTS }, (_, index) => this.#words.subarray(index * OUTPUT_WORDS))
  readonly #error = this.#words.subarray(OUTPUTS * OUTPUT_WORDS)

  /** Returns the library. The first call finds and loads it. Throws a {@link CallstackError} with code `library`. */
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

  /** Calls a function that answers nothing. */
  run<N extends RunName>(name: N, stack: Stacks[N], ...inputs: Inputs[N]): void {
    this.#call(name, stack, inputs, 0)
  }

  /** Calls a function that answers a text. */
  text<N extends TextName>(name: N, stack: Stacks[N], ...inputs: Inputs[N]): string {
    this.#call(name, stack, inputs, 1)
    return this.#take(0)
  }

  /** Calls a function that answers two texts. */
  twoTexts<N extends NameWith<"oo">>(name: N, stack: Stacks[N], ...inputs: Inputs[N]): [string, string] {
    this.#call(name, stack, inputs, 2)
    return [this.#take(0), this.#take(1)]
  }

  /** Calls a function that answers two texts, or nothing. */
  maybeTwoTexts<N extends NameWith<"oo">>(
    name: N,
    stack: Stacks[N],
    ...inputs: Inputs[N]
  ): [string, string] | undefined {
    this.#call(name, stack, inputs, 2)
    return this.#word(0) === 0n ? undefined : [this.#take(0), this.#take(1)]
  }

  /** Calls a function that answers four texts. */
  fourTexts<N extends NameWith<"oooo">>(
    name: N,
    stack: Stacks[N],
    ...inputs: Inputs[N]
  ): [string, string, string, string] {
    this.#call(name, stack, inputs, 4)
    return [this.#take(0), this.#take(1), this.#take(2), this.#take(3)]
  }

  /** Calls a function that answers a value: a flag (0 or 1), a time, or the address of a new stack. */
  value<N extends ValueName>(name: N, stack: Stacks[N], ...inputs: Inputs[N]): bigint {
    // A flag is shorter than a word: the library does not write the other bytes.
    this.#words[0] = 0n
    this.#call(name, stack, inputs, 1)
    return this.#word(0)
  }

  /** Flushes and frees a stack. The stack is freed even if the flush fails. */
  close(stack: Address): void {
    this.#words[0] = stack
    this.#check(this.#close(this.#outputs[0], this.#error))
  }

  #call(name: Name, stack: Address | undefined, values: readonly Argument[], outputs: number): void {
    const declared = this.#functions.get(name)
    if (declared === undefined) throw new TypeError(`the library has no function ${name}`)
    const { call, inputs } = declared
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

  /** A word of the shared memory. The index is never out of range; 0n is NULL. */
  #word(index: number): bigint {
    return this.#words[index] ?? 0n
  }

  /** Reads the text of an output and frees it. */
  #take(output: number): string {
    const place = output * OUTPUT_WORDS
    try {
      return koffi.decode.string(this.#word(place), this.#word(place + 1))
    } finally {
      this.#freeText(this.#outputs[output])
    }
  }

  #check(code: number): void {
    if (code === 0) return
    const error = this.#word(OUTPUTS * OUTPUT_WORDS)
    // A test checks that ErrorCode has every name of the header.
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

function declare(library: LibraryHandle, name: Name): Declared {
  const letters = ALL_SIGNATURES[name]
  const types: string[] = letters.startsWith("N") ? [] : ["void *"]
  for (const letter of letters) {
    if (letter === "t") types.push("const char *", "size_t")
    else if (letter === "n") types.push("int32_t")
    else if (letter === "o" || letter === "v") types.push("void *")
  }
  types.push("void *")
  const call: Foreign = library.func(`callstack_${name}`, "int32_t", types)
  return { call, inputs: letters.replaceAll(/[^tn]/g, "") }
}
