// Counts the tokens of requests to the Messages API, and the tokens that its prompt cache would read and
// write.

import type { Block, Body } from "../harness/requests.js"

/** Counts the tokens of a text. */
export type Tokens = (text: string) => number

/** A piece of a prompt: a tool, or a block of the system prompt or of a message. */
export interface Segment {
  text: string
  /** True if the prompt up to its end is to be cached: it has a `cache_control`. */
  isMarked: boolean
  part: Part
}

/** What a segment belongs to. */
export type Part = "tools of the SDK" | "tools of the stack" | "system prompt" | "reminders" | "conversation"

/** The tokens of one request. */
export interface Usage {
  prompt: number
  /** Read from the cache. */
  read: number
  /** Written to the cache. */
  written: number
  /** Neither read nor written: after the last mark. */
  uncached: number
  parts: Record<Part, number>
}

/** All requests of a job. Every field except `requests` is in tokens. */
export interface Totals {
  requests: number
  /** The prompt of the first request. */
  first: number
  /** The largest prompt of one request. */
  peak: number
  input: number
  read: number
  written: number
  cost: number
  parts: Record<Part, number>
}

/** The prices of a token, relative to the price of an input token without a cache. */
export const PRICES = { uncached: 1, read: 0.1, written: 1.25 }

/** The number of blocks before a mark in which the API looks for what earlier requests have cached. */
const LOOKBACK = 20

/** The name of tools of the stack. */
const STACK = /^mcp__stack__/

/**
 * Returns a prompt in the order in which the cache sees it: tools, system prompt, messages. Tools are JSON.
 * Texts are without the escapes of JSON, because a model does not see the escapes.
 */
export function segmentsOf({ tools = [], system = [], messages = [] }: Body): Segment[] {
  const ofTools = tools.map((tool): Segment => {
    const part = STACK.test(tool.name) ? "tools of the stack" : "tools of the SDK"
    return { text: JSON.stringify(tool), isMarked: "cache_control" in tool, part }
  })
  const ofSystem = blocksOf(system).map((block) => segmentOf("", block, "system prompt"))
  const ofMessages = messages.flatMap(({ role, content }) =>
    blocksOf(content).map((block) => segmentOf(`${role}\n`, block, partOf(role, block))),
  )
  return [...ofTools, ...ofSystem, ...ofMessages]
}

/** The cost index of a request: tokens weighted by price. */
export function costOf({ uncached, read, written }: Pick<Usage, "uncached" | "read" | "written">): number {
  return PRICES.uncached * uncached + PRICES.read * read + PRICES.written * written
}

/** The sums over the requests of a job. */
export function totalsOf(usages: readonly Usage[]): Totals {
  const sum = (value: (usage: Usage) => number) => usages.reduce((total, usage) => total + value(usage), 0)
  const parts = noParts()
  for (const usage of usages) addParts(parts, usage.parts)
  return {
    requests: usages.length,
    first: usages[0]?.prompt ?? 0,
    peak: usages.reduce((peak, { prompt }) => Math.max(peak, prompt), 0),
    input: sum(({ prompt }) => prompt),
    read: sum(({ read }) => read),
    written: sum(({ written }) => written),
    cost: sum(costOf),
    parts,
  }
}

/** A segment in the tree of all prompts so far. */
interface Node {
  tokens: number
  /** True if a request had a mark here: the prompt up to here is in the cache. */
  isCached: boolean
  /** The segments that have followed it. */
  next: Map<string, Node>
}

/**
 * The cache as the API documents it: it keeps prompts up to the marks of earlier requests. No prompt expires
 * here.
 */
export class PromptCache {
  readonly #tokens: Tokens
  readonly #root: Map<string, Node> = new Map()

  constructor(tokens: Tokens) {
    this.#tokens = tokens
  }

  /** Counts a prompt, and caches it up to its marks. */
  add(segments: readonly Segment[]): Usage {
    const nodes = this.#nodesOf(segments)
    const marks = segments.flatMap(({ isMarked }, index) => (isMarked ? [index] : []))
    const isFound = (index: number) => marks.some((mark) => index <= mark && mark < index + LOOKBACK)
    const readTo = nodes.findLastIndex(({ isCached }, index) => isCached && isFound(index)) + 1
    const writtenTo = Math.max(readTo, (marks.at(-1) ?? -1) + 1)
    for (const mark of marks) (nodes[mark] as Node).isCached = true
    const sum = (from: number, to?: number) => nodes.slice(from, to).reduce((total, { tokens }) => total + tokens, 0)
    const parts = noParts()
    for (const [index, { part }] of segments.entries()) parts[part] += nodes[index]?.tokens ?? 0
    return {
      prompt: sum(0),
      read: sum(0, readTo),
      written: sum(readTo, writtenTo),
      uncached: sum(writtenTo),
      parts,
    }
  }

  /** Returns the nodes of a prompt. A text is tokenised only if it has not been at the same place before. */
  #nodesOf(segments: readonly Segment[]): Node[] {
    let next = this.#root
    return segments.map(({ text }) => {
      const node = next.get(text) ?? { tokens: this.#tokens(text), isCached: false, next: new Map() }
      next.set(text, node)
      next = node.next
      return node
    })
  }
}

function noParts(): Record<Part, number> {
  return { "tools of the SDK": 0, "tools of the stack": 0, "system prompt": 0, reminders: 0, conversation: 0 }
}

function addParts(total: Record<Part, number>, more: Record<Part, number>): void {
  for (const part of Object.keys(total) as Part[]) total[part] += more[part]
}

function blocksOf(content: string | Block[]): Block[] {
  return typeof content === "string" ? [{ type: "text", text: content }] : content
}

function segmentOf(before: string, block: Block, part: Part): Segment {
  return { text: `${before}${textOf(block)}\n`, isMarked: block.cache_control !== undefined, part }
}

/**
 * The SDK adds reminders as messages of the role "system", or in messages of the role "user". Contexts of the
 * stack are among them.
 */
function partOf(role: string, { text = "" }: Block): Part {
  return role === "system" || text.startsWith("<system-reminder>") ? "reminders" : "conversation"
}

function textOf({ type, text = "", id, name, input, tool_use_id, content = [] }: Block): string {
  if (type === "tool_use") return `${id} ${name} ${JSON.stringify(input)}`
  if (type === "tool_result") return `${tool_use_id}\n${blocksOf(content).map(textOf).join("\n")}`
  return text
}
