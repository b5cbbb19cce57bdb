// Permissions: the person at the terminal is asked about actions of a session that neither its mode nor its
// rules allow.

import type { CanUseTool, PermissionRequest } from "../drivers/claude/index.js"
import { indented, type Line, line, toned } from "./lines.js"
import { oneLine } from "./text.js"

type Result = Awaited<ReturnType<CanUseTool>>

/** The decision of a person: allow this call, refuse it, or allow every call of the tool by this frame. */
export type Decision = "yes" | "no" | "always"

/** A request that waits for a person. */
export interface Asked {
  frame: string
  tool: string
  input: Record<string, unknown>
  title: string | undefined
}

/**
 * The number of lines that are shown of a long text, such as the content of a file. A command is shown in
 * full.
 */
const SHOWN_LINES = 10

/** The text for a session and a person if no person can be asked. */
export const NO_PERSON =
  "no person can be asked for permission here; start flame with `--permission-mode acceptEdits` for edits of files, with " +
  "`--allow RULE` for other tools, or name the tools that frames may use with `--tools`"

/** Refuses everything, for a program without a terminal. `tell` is called once for each frame and tool. */
export function refuseAll(tell: (frame: string, tool: string) => void): CanUseTool {
  const told = new Set<string>()
  return (tool, _, { frame }) => {
    if (!told.has(`${frame} ${tool}`)) tell(frame, tool)
    told.add(`${frame} ${tool}`)
    return Promise.resolve({ behavior: "deny", message: NO_PERSON })
  }
}

/** The requests of all sessions. One person decides them, one after another. */
export class Permissions {
  /** Called when a request has come or is not open any more. */
  onChange: (news: Asked | undefined) => void = () => undefined
  readonly #open = new Map<Asked, (result: Result) => void>()
  /** The tools that a person has always allowed, by frame. */
  readonly #allowed = new Set<string>()

  /** The oldest request that is not decided. */
  get next(): Asked | undefined {
    return this.#open.keys().next().value
  }

  /** Asks the person. */
  readonly ask: CanUseTool = (tool, input, { frame, title, signal }: PermissionRequest) => {
    if (this.#allowed.has(keyOf(frame, tool))) return Promise.resolve({ behavior: "allow", updatedInput: input })
    return new Promise((resolve) => {
      const asked: Asked = { frame, tool, input, title }
      const withdraw = () => this.#settle(asked, { behavior: "deny", message: "the request was withdrawn" })
      this.#open.set(asked, (result) => {
        signal.removeEventListener("abort", withdraw)
        resolve(result)
      })
      if (signal.aborted) withdraw()
      else {
        signal.addEventListener("abort", withdraw, { once: true })
        this.onChange(asked)
      }
    })
  }

  /** Decides a request. Returns false if it was withdrawn. */
  decide(asked: Asked, decision: Decision): boolean {
    if (!this.#open.has(asked)) return false
    const { frame, tool, input } = asked
    if (decision === "no") {
      this.#settle(asked, { behavior: "deny", message: "the person at the terminal has refused it" })
      return true
    }
    this.#settle(asked, { behavior: "allow", updatedInput: input })
    if (decision === "always") this.#allowAll(frame, tool)
    return true
  }

  #allowAll(frame: string, tool: string): void {
    this.#allowed.add(keyOf(frame, tool))
    for (const other of [...this.#open.keys()].filter((asked) => asked.frame === frame && asked.tool === tool)) {
      this.#settle(other, { behavior: "allow", updatedInput: other.input })
    }
  }

  #settle(asked: Asked, result: Result): void {
    const settle = this.#open.get(asked)
    if (settle === undefined) return
    this.#open.delete(asked)
    settle(result)
    this.onChange(undefined)
  }
}

/** Returns a request as lines for the person who decides it. */
export function requestLines({ frame, tool, input, title }: Asked): Line[] {
  const head = line(toned("strong", frame), " asks to use ", toned("asking", oneLine(tool)))
  const reason = title === undefined ? [] : indented(oneLine(title), "faint")
  const keys = line(toned("faint", `  y allows it, n refuses it, always allows every ${oneLine(tool)} of ${frame}`))
  return [head, ...reason, ...Object.entries(input).flatMap(([name, value]) => valueLines(name, value)), keys]
}

/** Returns an argument of a tool. Text that a shell would execute is shown in full. */
function valueLines(name: string, value: unknown): Line[] {
  const text = typeof value === "string" ? value : JSON.stringify(value)
  const all = text.trimEnd().split("\n")
  const shown = name === "command" ? all : all.slice(0, SHOWN_LINES)
  const rest = all.length - shown.length
  const more = rest === 0 ? [] : [line(toned("faint", `  … ${rest} more lines`))]
  return [...indented(`${oneLine(name)}: ${shown.join("\n")}`), ...more]
}

function keyOf(frame: string, tool: string): string {
  return `${frame} ${tool}`
}
