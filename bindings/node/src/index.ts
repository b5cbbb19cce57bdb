// A call stack instead of a chat log for LLM agents.

export { Context } from "./context.js"
export { CallstackError, type ErrorCode } from "./error.js"
export { Stack } from "./stack.js"
export type * from "./types.js"
