// The public API of callstack-core: a call stack of frames for LLM agents, instead of one long chat.

export { Context, contextChanges } from "./context.js"
export { CallstackError, type ErrorCode, type ErrorDetails } from "./error.js"
export { fold } from "./fold.js"
export type * from "./generated/types.js"
export {
  type CancelSignal,
  Host,
  type HostActions,
  type HostAnswer,
  type HostLogLevel,
  type TakePrompt,
} from "./host.js"
export { Stack } from "./stack.js"
export { unknownKey } from "./unknown.js"
