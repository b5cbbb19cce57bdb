// The tokens of requests, as the API and the SDK count them.

import type { SDKAssistantMessage, SDKResultMessage } from "@anthropic-ai/claude-agent-sdk"
import type { ModelRequest } from "callstack-core"

/** The tokens of a request. */
export type Counted = Record<
  keyof Pick<ModelRequest, "uncachedInput" | "cacheRead" | "cacheWrite" | "cacheWriteHour" | "output">,
  number
>

export const NOTHING: Counted = { uncachedInput: 0, cacheRead: 0, cacheWrite: 0, cacheWriteHour: 0, output: 0 }

/** The tokens of a message of the API. */
export function countOf(usage: SDKAssistantMessage["message"]["usage"]): Counted {
  return {
    uncachedInput: usage.input_tokens,
    cacheRead: usage.cache_read_input_tokens ?? 0,
    cacheWrite: usage.cache_creation_input_tokens ?? 0,
    cacheWriteHour: usage.cache_creation?.ephemeral_1h_input_tokens ?? 0,
    output: usage.output_tokens,
  }
}

/** The tokens that the SDK has counted for a model. */
export function ofModel(usage: SDKResultMessage["modelUsage"][string] | undefined): Counted {
  if (usage === undefined) return NOTHING
  const { inputTokens, cacheReadInputTokens, cacheCreationInputTokens, outputTokens } = usage
  return {
    uncachedInput: inputTokens,
    cacheRead: cacheReadInputTokens,
    cacheWrite: cacheCreationInputTokens,
    cacheWriteHour: 0,
    output: outputTokens,
  }
}

export function sum(a: Counted, b: Counted): Counted {
  return combined(a, b, (one, other) => one + other)
}

/** The difference, without negative numbers: the SDK estimates the tokens of an answer that was cut off. */
export function minus(a: Counted, b: Counted): Counted {
  return combined(a, b, (one, other) => Math.max(0, one - other))
}

function combined(a: Counted, b: Counted, combine: (one: number, other: number) => number): Counted {
  return {
    uncachedInput: combine(a.uncachedInput, b.uncachedInput),
    cacheRead: combine(a.cacheRead, b.cacheRead),
    cacheWrite: combine(a.cacheWrite, b.cacheWrite),
    cacheWriteHour: combine(a.cacheWriteHour, b.cacheWriteHour),
    output: combine(a.output, b.output),
  }
}
