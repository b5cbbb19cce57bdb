// The API of the scenarios: a world with a scripted model, the program `callstack`, and the words of
// sessions.

export { readJson } from "./json.js"
export { lines, transcriptLines } from "./lines.js"
export {
  type Answer,
  type Block,
  type Body,
  call,
  frameOf,
  type Message,
  type Model,
  type ModelRequest,
  priceOf,
  type Script,
  startModel,
  type ToolCall,
  type ToolResult,
  type ToolUse,
  type Usage,
  withoutReminders,
} from "./model.js"
export { callstack, type Ended, PROGRAM } from "./programs.js"
export {
  byFrame,
  happened,
  pop,
  push,
  type Running,
  type RunningOptions,
  running,
  type Step,
  type Steps,
  stableOf,
  stack,
  treeOf,
  volatilesOf,
  write,
} from "./scripts.js"
export { makeWorld, until, type World, type WorldOptions, type WorldScript, within } from "./world.js"
