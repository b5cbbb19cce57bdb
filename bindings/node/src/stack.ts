// The Stack class: how stacks are made, and contexts. The other methods are generated.

import { Context } from "./context.js"
import { CallstackError } from "./error.js"
import { StackMethods } from "./generated/methods.js"
import type {
  Actor,
  Budget,
  ContextReport,
  FrameRef,
  MemoryOptions,
  Settings,
  StackOptions,
  StackState,
  StateOptions,
  Tool,
  ToolQuery,
} from "./generated/types.js"
import { readJson, writeJson } from "./json.js"
import { Native } from "./native.js"

/** A record that has a value for every key. */
type Complete<T> = { [Key in keyof T]-?: Exclude<T[Key], undefined> }

/**
 * A call stack: a tree of frames, and a context for each frame.
 *
 * A stack in a folder is persistent: when a command returns, its change survives the death of the process.
 * Several processes and worker threads may open the same folder at the same time, each with its own `Stack`.
 *
 * Calls are synchronous. A call that fails throws a {@link CallstackError} and changes nothing. Every method
 * that takes a {@link FrameRef} may throw `unknown_frame` or `ambiguous_frame`; every command on a stack in a
 * folder may throw `busy`, `disk_full`, `read_only`, `io` or `damaged`; after {@link Stack.close} every other
 * method throws `closed`.
 *
 * If a command throws `damaged`, the database has an event that cannot be read or does not fit. All later
 * commands then throw the same, and nothing is written any more. Queries continue with the frames before the
 * damage: {@link Stack.exportHistory} returns the events before it, and {@link Stack.rebuild} makes a new
 * stack of them.
 *
 * ```js
 * using stack = Stack.open(".opencode/stack")   // or close() it
 * const shop = stack.push({ title: "Build a shop", sessionID: "ses_1" })
 * const cart = stack.push({ title: "Cart", parent: shop })
 * stack.pop(cart, { status: "completed", results: "Cart in src/cart.ts", next: true })
 * console.log(stack.context(shop).xml)
 * ```
 */
export class Stack extends StackMethods {
  /**
   * Opens the stack in a folder. Creates the folder and the stack if they do not exist.
   *
   * @param folder - A path, absolute or relative to the working directory; or the URL of a stack in
   * PostgreSQL, `postgres://HOST/DATABASE/STACK`, with the native library that `make native-postgres` builds
   * (`CALLSTACK_LIBRARY` names it).
   * @throws `damaged` or `version` if a file cannot be read or comes from a newer version (the file is left
   * unchanged), `empty` if the folder is the empty string, `json` for wrong options, `disconnected` if the
   * server cannot be reached, `library` for a URL if the native library was built without PostgreSQL.
   */
  static open(folder: string, options?: StackOptions): Stack {
    const native = Native.get()
    if (!isServerUrl(folder)) return new Stack(native.value("open", undefined, folder, writeJson(options)))
    if (!native.has("open_url")) {
      const message =
        "the native library of callstack-core was built without PostgreSQL; build one with `make native-postgres`, and " +
        "name it in CALLSTACK_LIBRARY"
      throw new CallstackError("library", message, {})
    }
    return new Stack(native.value("open_url", undefined, folder, writeJson(options)))
  }

  /** Creates an empty stack in memory. Nothing is written to the disk. */
  static inMemory(options?: MemoryOptions): Stack {
    return new Stack(Native.get().value("in_memory", undefined, writeJson(options)))
  }

  /**
   * Creates a stack in memory from a state: an object, or the text of a `state.json`. Inconsistencies are
   * repaired and listed in {@link Stack.info}; no frame is lost.
   *
   * @throws `json` if the text is not a state, `version` if it comes from a newer version.
   */
  static fromState(state: StackState | string, options?: StateOptions): Stack {
    const text = typeof state === "string" ? state : writeJson(state)
    return new Stack(Native.get().value("from_state", undefined, text, writeJson(options)))
  }

  /**
   * Rebuilds a stack in an empty folder from the text of {@link Stack.exportHistory}: the same frames,
   * handles and history.
   *
   * @throws `not_empty` if the folder holds a stack, `json` or `history` (which name the line or the event)
   * if the text is damaged or incomplete.
   */
  static rebuild(folder: string, history: string, options?: StackOptions): Stack {
    return new Stack(Native.get().value("rebuild", undefined, folder, history, writeJson(options)))
  }

  /**
   * Returns the default settings of contexts. The environment variables `STACK_TOKEN_BUDGET_TOTAL`,
   * `STACK_TOKEN_BUDGET_ANCESTORS`, `STACK_TOKEN_BUDGET_SIBLINGS` and `STACK_TOKEN_BUDGET_CURRENT` (tokens)
   * override them. A variable that is not a whole number of at least 1 leaves the default, and emits a
   * warning of the process.
   */
  static settings(): Complete<Settings> & { budget: Complete<Omit<Budget, "bytes">> } {
    const [settings, problems] = Native.get().twoTexts("settings")
    for (const problem of readJson<string[]>(problems)) process.emitWarning(problem, "CallstackWarning")
    return readJson(settings)
  }

  /**
   * Returns all tools for agents, also those that a host does not offer, or the tools of a run: see
   * {@link ToolQuery}.
   *
   * @throws `json` for an unknown key or a wrong type, `setting` for a name that is empty, longer than 64
   * characters, or has control characters.
   */
  static tools(query?: ToolQuery): Tool[] {
    return readJson(Native.get().text("tools", undefined, writeJson(query)))
  }

  /**
   * Returns the tools that the host registers for its agents: those of the setting `tools` of
   * {@link Stack.configure}. Call it after `configure`.
   *
   * ```js
   * const context = { tools: { prefix: "mcp__callstack__" } }
   * stack.configure({ tools: ["standard", "stack_tree"], context })
   * const tools = stack.tools()
   * ```
   */
  tools(query?: ToolQuery): Tool[] {
    return this.record("tools", writeJson(query))
  }

  /**
   * Returns the same stack for an actor. What other actors hold is theirs: commands of the returned stack
   * that begin, continue, end, block or invalidate such a frame throw `held`. A conversation, or a person
   * with a name, holds what it begins. If the actor is a hold, each command throws `hold_lost` when another
   * actor has held that frame since. Close the returned stack too. Commands of this stack work as before.
   */
  asActor(actor: Actor): Stack {
    return new Stack(this.made("as_actor", writeJson(actor)))
  }

  /**
   * Returns the context of a frame: what its agent should see before the next model call. It never exceeds
   * its budget. A cache answers repeated calls with the same settings until something in the context changes.
   *
   * ```js
   * const { stable, volatile, tokens } = stack.context("ses_1", { budget: { total: 2000 } })
   * ```
   *
   * @throws `budget_too_small`, with the budget that is `needed` and its `unit` in the details; `setting` or
   * `json` for wrong settings.
   */
  context(frame: FrameRef, settings?: Settings): Context {
    const [context] = this.contexts([frame], settings)
    if (context === undefined) throw new TypeError("the library has returned no context")
    return context
  }

  /**
   * Returns the contexts of several frames in one call, in the order of the frames. Each is what
   * {@link context} returns.
   *
   * ```js
   * for (const { xml } of stack.contexts(stack.handles({ status: "in_progress" }))) console.log(xml)
   * ```
   *
   * @throws what {@link context} throws, for the first frame whose context fails.
   */
  contexts(frames: readonly FrameRef[], settings?: Settings): Context[] {
    return this.heldContexts(frames, writeJson(settings)).map((held) => new Context(held))
  }

  /**
   * Returns which frames and chunks were considered for a context, and how much of each it shows.
   *
   * @throws what {@link context} throws.
   */
  contextReport(frame: FrameRef, settings?: Settings): ContextReport {
    return readJson(this.reportText(frame, writeJson(settings)))
  }

  /**
   * Returns the context of a session's frame, made with the settings of {@link Stack.configure}. Returns
   * undefined if the session has no frame, or if the settings give it no context.
   *
   * @throws `budget_too_small`, with the budget that is `needed` and its `unit` in the details.
   */
  sessionContext(sessionID: string): Context | undefined {
    const held = this.heldContext("session_context", sessionID)
    return held && new Context(held)
  }
}

/** Whether a place of stacks is the URL of a server. */
function isServerUrl(place: string): boolean {
  return /^postgres(ql)?:\/\//.test(place)
}
