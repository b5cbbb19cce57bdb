// What frames may do and spend, and what they have cost: a small file for each frame that has limits or costs, beside the
// stack, so that it outlives the process.

import { mkdirSync, readFileSync, renameSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import type { Handle, ModelRequest, ModelUsage, Stack } from "callstack-core"
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

/** The limits of a root, which always names its tools. */
type RootLimits = FrameLimits & { tools: readonly string[] }

/** The file of a frame. */
interface Entry {
  /** When the frame was created: the file of another stack in the same place does not count. */
  createdAt: number
  limits: FrameLimits
  /** What each session of the frame has cost, in US dollars, by its ID. */
  costs: Record<string, number>
}

/** What is known of a frame. */
interface Known {
  entry: Entry
  /** When its file was read, in milliseconds since the Unix epoch. */
  readAt: number
  /** The limits that this process has set. An agent that can write files may have changed those in the file. */
  limits?: FrameLimits
}

/** After how many milliseconds a file is read again: another process may have changed it. */
const READ_INTERVAL = 1000

/** The limits and costs of the frames of a stack. */
export class Limits {
  readonly #stack: Stack
  readonly #folder: string
  readonly #defaults: RootLimits
  readonly #known = new Map<Handle, Known>()
  /** The requests of turns that run, whose costs are estimated, in {@link weightOf} units, by frame. */
  readonly #open = new Map<Handle, number>()
  /** The price of such a unit in the last turn that has ended, in US dollars. Before that nothing is estimated. */
  #price = 0

  /** `defaults` are the limits of each new root. */
  constructor(stack: Stack, folder: string, defaults: RootLimits) {
    checkLimits(defaults)
    this.#stack = stack
    this.#folder = join(folder, "flame")
    this.#defaults = defaults
  }

  /** Records the limits of a frame that begins for the first time. A root has the defaults where it has none of its own. */
  begin(handle: Handle, limits: FrameLimits): void {
    const isRoot = this.#stack.ancestors(handle).length === 0
    this.set(handle, isRoot ? { ...this.#defaults, ...this.#entry(handle).limits, ...limits } : limits)
  }

  /**
   * Sets limits of a frame. The others stay as they are.
   *
   * @throws RangeError for a number that is not positive.
   */
  set(handle: Handle, limits: FrameLimits): void {
    checkLimits(limits)
    if (Object.keys(limits).length === 0) return
    const changed = { ...this.#entry(handle).limits, ...limits }
    this.#change(handle, (entry) => ({ ...entry, limits: changed }), changed)
  }

  /** Estimates the cost of a request from its tokens, until {@link Limits.cost} is told for its frame. */
  estimate(handle: Handle, request: ModelRequest): void {
    this.#open.set(handle, (this.#open.get(handle) ?? 0) + weightOf(request))
  }

  /** Records what a session of a frame has cost so far, with all requests that were estimated. */
  cost(handle: Handle, sessionID: string, costUsd: number): void {
    const { costs } = this.#read(handle)
    const used = this.#open.get(handle) ?? 0
    const spent = costUsd - (costs[sessionID] ?? 0)
    if (used > 0 && spent > 0) this.#price = spent / used
    this.#open.delete(handle)
    if (spent === 0) return
    this.#change(handle, (entry) => ({ ...entry, costs: { ...entry.costs, [sessionID]: costUsd } }))
  }

  /** Returns what a frame has cost, in US dollars, without the frames below it, and with what is estimated. */
  own(handle: Handle): number {
    const told = Object.values(this.#entry(handle).costs).reduce((sum, cost) => sum + cost, 0)
    return told + (this.#open.get(handle) ?? 0) * this.#price
  }

  /** Returns what a frame and all frames below it have cost, in US dollars: see {@link Limits.own}. */
  total(handle: Handle): number {
    const handles = this.#stack.handles({ relation: "subtree", frame: handle })
    return handles.reduce((sum, below) => sum + this.#ownIfKnown(below), 0)
  }

  /** What a frame has cost, as far as that is known: a damaged file is a problem of its own frame. */
  #ownIfKnown(handle: Handle): number {
    try {
      return this.own(handle)
    } catch {
      return 0
    }
  }

  /**
   * Limits a frame to the tools of another one, whose agent has begun it. Otherwise an agent could get more tools by a frame that
   * it plans somewhere else.
   */
  restrict(handle: Handle, beginner: Handle): void {
    if (handle === beginner || this.#stack.ancestors(handle).includes(beginner)) return
    const own = this.session(handle).tools
    const tools = commonTools(own, this.session(beginner).tools)
    if (tools.length < own.length) this.set(handle, { tools })
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
        return {
          frame,
          reason: `its budget of ${maxTokens} tokens is spent: ${tokens} with all frames below it; a larger maxTokens lets it go on`,
        }
      }
      const cost = maxBudgetUsd === undefined ? 0 : this.total(frame)
      if (maxBudgetUsd !== undefined && cost >= maxBudgetUsd) {
        return {
          frame,
          reason: `its budget of ${maxBudgetUsd} US dollars is spent: ${cost.toFixed(4)} with all frames below it; a larger maxBudgetUsd lets it go on`,
        }
      }
    }
    return undefined
  }

  /** Returns a frame and its ancestors, each with its limits. A root that others have begun has the defaults. */
  #line(handle: Handle): [Handle, FrameLimits][] {
    const line = [handle, ...this.#stack.ancestors(handle)]
    return line.map((above, index) => {
      const { limits } = this.#entry(above)
      return [above, index === line.length - 1 ? { ...this.#defaults, ...limits } : limits]
    })
  }

  #entry(handle: Handle): Entry {
    const known = this.#known.get(handle)
    const now = Date.now()
    if (known !== undefined && now - known.readAt < READ_INTERVAL) return known.entry
    const entry = this.#read(handle)
    this.#known.set(handle, { ...known, entry, readAt: now })
    return entry
  }

  #read(handle: Handle): Entry {
    const known = this.#known.get(handle)
    const createdAt = known?.entry.createdAt ?? this.#stack.frame(handle).createdAt
    const entry = readEntry(this.#file(handle), createdAt) ?? { createdAt, limits: {}, costs: {} }
    return { ...entry, limits: known?.limits ?? entry.limits }
  }

  /** Changes the file of a frame, as it is now: another process may have changed it. */
  #change(handle: Handle, change: (entry: Entry) => Entry, set = this.#known.get(handle)?.limits): void {
    const file = this.#file(handle)
    const entry = change(this.#read(handle))
    mkdirSync(this.#folder, { recursive: true })
    writeFileSync(`${file}.${process.pid}`, `${JSON.stringify(entry)}\n`)
    renameSync(`${file}.${process.pid}`, file)
    this.#known.set(handle, { entry, readAt: Date.now(), ...(set && { limits: set }) })
  }

  #file(handle: Handle): string {
    return join(this.#folder, `${handle}.json`)
  }
}

/** @throws RangeError for a limit that is not a positive number. */
export function checkLimits({ maxTurns, maxTokens, maxBudgetUsd }: FrameLimits): void {
  for (const [name, value] of Object.entries({ maxTurns, maxTokens, maxBudgetUsd })) {
    if (value === undefined || (value > 0 && Number.isFinite(value))) continue
    throw new RangeError(`${name} is ${value}; give a positive number, or leave it out for no limit`)
  }
}

/** The tokens of a request, each with its usual price in relation to that of an uncached token of a prompt. */
function weightOf({
  uncachedInput = 0,
  cacheRead = 0,
  cacheWrite = 0,
  output = 0,
  reasoning = 0,
}: ModelRequest): number {
  return uncachedInput + 0.1 * cacheRead + 1.25 * cacheWrite + 5 * (output + reasoning)
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
