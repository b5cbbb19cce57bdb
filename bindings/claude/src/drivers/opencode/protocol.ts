// The protocol between the bridge in OpenCode's server and the driver: JSON over HTTP, on this machine. Each
// call is a POST with the name of the call as path. A GET of `life` stays open until the driver ends, so that
// the bridge learns at once when the orchestrator has ended.

import type { HostAnswer, HostEvent, Tool } from "callstack-core"
import type { SessionContext } from "../../driver.js"

/** The environment variables of the server in which the bridge finds the driver. */
export const VARIABLES = {
  url: "CALLSTACK_FLAME_URL",
  token: "CALLSTACK_FLAME_TOKEN",
  /** Set if the server ends with the orchestrator. */
  isOwned: "CALLSTACK_FLAME_OWNS_SERVER",
} as const

/** The address of the driver, and the secret that proves that the bridge may call it. */
export interface Address {
  url: string
  token: string
}

/** The calls of the bridge: their arguments and their answers. */
export interface Calls {
  /** The bridge has been loaded for a folder. */
  hello: { asks: { directory: string }; gets: { tools: readonly Tool[] } }
  /** Something has happened in a session. The answer has texts for the prompt of a compaction. */
  report: { asks: { event: HostEvent }; gets: { prompts: readonly string[] } }
  /** A request to the model is being prepared. */
  context: { asks: { sessionID: string }; gets: { context: SessionContext | null } }
  /** The model calls a tool of the stack. The call ends when its connection ends. */
  tool: { asks: { sessionID: string; name: string; args: object }; gets: HostAnswer }
}

/** The name of a call. */
export type CallName = keyof Calls

/** The path of the connection that lasts as long as the driver. */
export const LIFE = "life"
