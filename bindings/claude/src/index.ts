// The public API of callstack-flame.

export type { Budget, Frame, FrameRef, Handle, HostSettings, ModelRequest, PopStatus } from "callstack-core"
export type * from "./driver.js"
export { SessionError } from "./driver.js"
export { type CanUseTool, ClaudeDriver, type ClaudeOptions, type PermissionRequest } from "./drivers/claude/index.js"
export { OpenCodeDriver, type OpenCodeOptions } from "./drivers/opencode/index.js"
export type { FlameEvent, Listener } from "./events.js"
export { Flame, type FlameOptions, type FramePlan, type Outcome, type Running, type Usage } from "./flame.js"
export type { FrameLimits } from "./limits.js"
