// What frames may do and spend, and what they have cost: a small file for each frame that has limits or costs, beside the
// stack, so that it outlives the process.

import { mkdirSync, readFileSync, renameSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import type { Frame, Handle, ModelUsage, Stack } from "callstack-core"
import type { SessionLimits } from "./driver.js"

/** Limits of a frame. Those of `maxTokens` and `maxBudgetUsd` are for the frame and all frames below it. */
export interface FrameLimits {
  /** The model of the frame, and of frames below it that name none. */
  model?: string
  /** Tools besides those of the stack. A frame has at most the tools of its parent. */
  tools?: readonly string[]
  /** Turns of the model in one prompt. Frames below it have the same limit unless they have one of their own. */
  maxTurns?: number
  /** Tokens of all requests, of prompts and answers together. */
  maxTokens?: number
  /** US dollars. */
  maxBudgetUsd?: number
}

/** The file of a frame. */
interface Entry extends FrameLimits {
  /** When the frame was created: the file of another stack in the same place does not count. */
  createdAt: number
  /** What each session of the frame has cost, in US dollars, by its ID. */
  costs: Record<string, number>
}

/** The limits and costs of the frames of a stack. */
export class Limits {
  readonly #stack: Stack
  readonly #folder: string
  readonly #defaults: FrameLimits & { tools: readonly string[] }
  readonly #entries = new Map<Handle, Entry>()

  /** `defaults` are the limits of each root. */
  constructor(stack: Stack, folder: string, defaults: FrameLimits & { tools: readonly string[] }) {
    this.#stack = stack
    this.#folder = join(folder, "flame")
    this.#defaults = defaults
  }

  /** Records the limits of a new root: these, and the defaults. They hold also when another process goes on with it. */
  begin(root: Handle, limits: FrameLimits): void {
    this.set(root, { ...this.#defaults, ...limits })
  }

  /** Sets limits of a frame. The others stay as they are. */
  set(handle: Handle, limits: FrameLimits): void {
    if (Object.keys(limits).length > 0) this.#change(handle, (entry) => ({ ...entry, ...limits }))
  }

  /** Records what a session of a frame has cost so far. */
  cost(handle: Handle, sessionID: string, costUsd: number): void {
    if (this.#entry(handle).costs[sessionID] === costUsd) return
    this.#change(handle, (entry) => ({ ...entry, costs: { ...entry.costs, [sessionID]: costUsd } }))
  }

  /** Returns what a frame has cost, in US dollars, without the frames below it. */
  own(handle: Handle): number {
    return Object.values(this.#entry(handle).costs).reduce((sum, cost) => sum + cost, 0)
  }

  /** Returns what a frame and all frames below it have cost, in US dollars. */
  total(handle: Handle): number {
    const handles = this.#stack.handles({ relation: "subtree", frame: handle })
    return handles.reduce((sum, below) => sum + this.own(below), 0)
  }

  /** Returns what the session of a frame may do and spend now. */
  session(handle: Handle): SessionLimits {
    const line = this.#line(handle)
    const nearest = <Key extends keyof FrameLimits>(key: Key) =>
      line.find(([, limits]) => limits[key] !== undefined)?.[1][key]
    const tools = line.flatMap(([, limits]) => (limits.tools === undefined ? [] : [limits.tools]))
    const left = line.flatMap(([above, { maxBudgetUsd }]) =>
      maxBudgetUsd === undefined ? [] : [Math.max(0, maxBudgetUsd - this.total(above))],
    )
    return {
      frame: handle,
      model: nearest("model"),
      tools: tools.reduce(commonTools),
      maxTurns: nearest("maxTurns"),
      maxBudgetUsd: left.length === 0 ? undefined : Math.min(...left),
    }
  }

  /** Returns the first frame, from this one upwards, that has spent what it may, and why; undefined if there is none. */
  overspent(handle: Handle): { frame: Handle; reason: string } | undefined {
    for (const [frame, { maxTokens, maxBudgetUsd }] of this.#line(handle)) {
      const tokens =
        maxTokens === undefined ? 0 : this.#stack.usage(frame).total.reduce((sum, usage) => sum + tokensOf(usage), 0)
      if (maxTokens !== undefined && tokens >= maxTokens) {
        return { frame, reason: `its budget of ${maxTokens} tokens is spent: ${tokens} with all frames below it` }
      }
      const cost = maxBudgetUsd === undefined ? 0 : this.total(frame)
      if (maxBudgetUsd !== undefined && cost >= maxBudgetUsd) {
        return {
          frame,
          reason: `its budget of ${maxBudgetUsd} US dollars is spent: ${cost.toFixed(4)} with all frames below it`,
        }
      }
    }
    return undefined
  }

  /** Returns a frame and its ancestors, each with its limits. A root that others have begun has the defaults. */
  #line(handle: Handle): [Handle, FrameLimits][] {
    const line = [handle, ...this.#stack.ancestors(handle)]
    return line.map((above, index) => {
      const own = this.#entry(above)
      return [above, index === line.length - 1 ? { ...this.#defaults, ...own } : own]
    })
  }

  #entry(handle: Handle): Entry {
    const known = this.#entries.get(handle) ?? this.#read(handle)
    this.#entries.set(handle, known)
    return known
  }

  #read(handle: Handle): Entry {
    const { createdAt } = this.#stack.frame(handle)
    return readEntry(this.#file(handle), createdAt) ?? { createdAt, costs: {} }
  }

  /** Changes the file of a frame. Another process may have changed it since it was read. */
  #change(handle: Handle, change: (entry: Entry) => Entry): void {
    const file = this.#file(handle)
    const entry = change(this.#read(handle))
    mkdirSync(this.#folder, { recursive: true })
    writeFileSync(`${file}.${process.pid}`, `${JSON.stringify(entry)}\n`)
    renameSync(`${file}.${process.pid}`, file)
    this.#entries.set(handle, entry)
  }

  #file(handle: Handle): string {
    return join(this.#folder, `${handle}.json`)
  }
}

/** Returns the tools that both sets allow. The name of a server, `mcp__shop`, stands for all of its tools. */
function commonTools(own: readonly string[], above: readonly string[]): readonly string[] {
  const covers = (tools: readonly string[]) => (tool: string) =>
    tools.some((name) => tool === name || tool.startsWith(`${name}__`))
  return [...new Set([...own.filter(covers(above)), ...above.filter(covers(own))])]
}

/** Returns the tokens of requests, of prompts and answers. */
export function tokensOf(usage: ModelUsage): number {
  return usage.uncachedInput + usage.cacheRead + usage.cacheWrite + usage.output + usage.reasoning
}

/** Returns the open question of a frame that waits for a person; undefined if it waits for nobody. */
export function questionOf({ status, questions, results }: Frame): string | undefined {
  if (status !== "blocked") return undefined
  const last = questions?.at(-1)
  if (last === undefined) return results ?? ""
  return last.interruption === true || last.answer !== undefined ? undefined : last.question
}

function readEntry(file: string, createdAt: number): Entry | undefined {
  let text: string
  try {
    text = readFileSync(file, "utf8")
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return undefined
    throw error
  }
  try {
    const entry = JSON.parse(text) as Entry
    return entry.createdAt === createdAt ? entry : undefined
  } catch (cause) {
    // Without the limits of the frame, its session might do more than was allowed.
    throw new Error(`${file} is damaged, and with it the limits of a frame: correct it or remove it`, { cause })
  }
}
