// The types of model.mjs, for tests in TypeScript.

/** A part of a conversation, for any wire. */
export interface Item {
  role: "user" | "assistant" | "system"
  kind: "text" | "call" | "result" | "reasoning"
  text: string
  id?: string
  name?: string
  args?: Record<string, unknown>
  isError?: boolean
}

/** A request as a script gets it. */
export interface Request {
  wire: "anthropic" | "responses" | "chat" | "gemini"
  system: string
  tools: string[]
  items: Item[]
  /** The items that are results, with the name of their call. */
  results: Item[]
  /** The items that no item of the assistant follows. */
  news: Item[]
  /** The calls that have no result. */
  orphans: string[]
  body: Record<string, unknown>
  bill: Usage
}

/** What one request costs, in tokens of four characters. */
export interface Usage {
  total: number
  read: number
  write: number
  uncached: number
}

/** The answer of the model. Without an answer it says "ok". */
export interface Reply {
  text?: string
  reasoning?: string
  calls?: { name: string; args?: object; id?: string }[]
  /** Milliseconds before the answer. */
  wait?: number
  /** The connection is cut after this number of pieces of the answer. */
  cut?: number
  /** An HTTP error instead of an answer. */
  status?: number
  message?: string
}

/** A scripted model. */
export interface Model {
  url: string
  requests: Request[]
  /** What a provider would have refused, and why. */
  refused: string[]
  /** What all requests cost. */
  bill(): Usage & { requests: number; peak: number; cost: number }
  close(): Promise<void>
}

/** Starts a scripted model on the loopback. `count` is the number of the request, from 1. */
export function startModel(
  script: (request: Request, count: number) => Reply | undefined | Promise<Reply | undefined>,
): Promise<Model>
