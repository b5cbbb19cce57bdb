// Counting the tokens of prompts, and the tokens that a prompt cache would serve.

import { type Body, textOf } from "../harness/formats.js"

type Json = Record<string, unknown>

/** Counts the tokens of a text. */
export type Tokens = (text: string) => number

/**
 * Price of a token that the prompt cache does not hold (it is written to the cache), relative to a plain
 * input token.
 */
export const UNCACHED_PRICE = 1.25
/** Price of a token that is read from the prompt cache. */
export const CACHED_PRICE = 0.1

/** One request, in tokens. */
export interface Usage {
  /** Tools, system prompt and messages. */
  prompt: number
  /** The longest common prefix with any earlier request of the same job. */
  cached: number
}

/** All requests of a job. Every field except `requests` is in tokens. */
export interface Totals {
  requests: number
  /** Prompt of the first request. */
  first: number
  /** Largest prompt of one request. */
  peak: number
  input: number
  cached: number
  cost: number
}

/**
 * A prompt in the order in which a prompt cache sees it: one segment for each tool, then one for each
 * message. The system prompt is the first message. Tools are JSON as in the request body (format of chat
 * completions). Messages are their role, texts and tool calls without the escapes of JSON, because a model
 * does not see the escapes.
 */
export function segmentsOf({ tools = [], messages = [] }: Body): string[] {
  return [...tools.map((tool) => JSON.stringify(tool)), ...messages.map(segmentOf)]
}

function segmentOf({ role, content, tool_call_id, tool_calls }: Json): string {
  const calls = (tool_calls as { id: string; function: { name: string; arguments: string } }[] | undefined) ?? []
  const texts = [
    role,
    tool_call_id,
    textOf(content),
    ...calls.map((call) => `${call.id} ${call.function.name} ${call.function.arguments}`),
  ]
  return texts
    .filter((text) => text !== undefined && text !== "")
    .map((text) => `${String(text)}\n`)
    .join("")
}

/** The cost index of a request: tokens weighted by price. */
export function costOf({ prompt, cached }: Usage): number {
  return UNCACHED_PRICE * (prompt - cached) + CACHED_PRICE * cached
}

/** The sums over the requests of a job. */
export function totalsOf(usages: readonly Usage[]): Totals {
  const sum = (value: (usage: Usage) => number) => usages.reduce((total, usage) => total + value(usage), 0)
  return {
    requests: usages.length,
    first: usages[0]?.prompt ?? 0,
    peak: usages.reduce((peak, { prompt }) => Math.max(peak, prompt), 0),
    input: sum(({ prompt }) => prompt),
    cached: sum(({ cached }) => cached),
    cost: sum(costOf),
  }
}

/** Number of characters that two texts have in common at their beginnings. */
export function commonPrefix(one: string, other: string): number {
  const end = Math.min(one.length, other.length)
  let length = 0
  while (length < end && one.charCodeAt(length) === other.charCodeAt(length)) length++
  return length
}

/** A segment in the tree of all prompts so far. */
interface Node {
  tokens: number
  /** The segments that have followed it. */
  next: Map<string, Node>
}

/**
 * The prompts of a job as a prefix tree, which finds the longest common prefix with any of them. Only
 * segments after that prefix are tokenised, because nodes keep their counts.
 */
export class Prompts {
  readonly #tokens: Tokens
  readonly #root: Map<string, Node> = new Map()

  constructor(tokens: Tokens) {
    this.#tokens = tokens
  }

  /** Counts a prompt, and adds it to the earlier ones. */
  add(segments: readonly string[]): Usage {
    let next = this.#root
    let prompt = 0
    let cached = 0
    let isPrefix = true
    for (const segment of segments) {
      let node = next.get(segment)
      if (node === undefined) {
        node = { tokens: this.#tokens(segment), next: new Map() }
        if (isPrefix) cached += Math.min(node.tokens, this.#partial(segment, next))
        isPrefix = false
        next.set(segment, node)
      } else {
        cached += node.tokens
      }
      prompt += node.tokens
      next = node.next
    }
    return { prompt, cached }
  }

  /**
   * Tokens at the beginning of a new segment that are also the beginning of one of the segments at this
   * place.
   */
  #partial(segment: string, others: ReadonlyMap<string, Node>): number {
    let longest = 0
    for (const other of others.keys()) longest = Math.max(longest, commonPrefix(segment, other))
    return longest === 0 ? 0 : this.#tokens(segment.slice(0, longest))
  }
}
