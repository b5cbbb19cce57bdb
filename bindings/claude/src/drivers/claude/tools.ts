// The tools of the stack as a server of the Model Context Protocol inside this process, one for each turn of
// a session.

import type { McpSdkServerConfigWithInstance } from "@anthropic-ai/claude-agent-sdk"
import type { CallToolResult } from "@modelcontextprotocol/sdk/types.js"
import type { SessionOwner } from "../../driver.js"

/** The name of the server. Models see the tools as `mcp__stack__…`. */
export const SERVER = "stack"
/** The prefix of the name of each tool of the stack. */
export const PREFIX = `mcp__${SERVER}__`

/**
 * The longest answer of a tool, in characters. A longer one would be written to a file that a session without
 * tools for files cannot read: the SDK does so above 50,000.
 */
const LONGEST = 48_000

/** The modules of the protocol's package, which are loaded when a driver opens. */
export interface ProtocolModules {
  server: typeof import("@modelcontextprotocol/sdk/server/mcp.js")
  types: typeof import("@modelcontextprotocol/sdk/types.js")
}

/** Loads the modules. Rejects if the package is not installed. */
export async function loadProtocol(): Promise<ProtocolModules> {
  const [server, types] = await Promise.all([
    import("@modelcontextprotocol/sdk/server/mcp.js"),
    import("@modelcontextprotocol/sdk/types.js"),
  ])
  return { server, types }
}

/**
 * Returns a server with the tools of the stack for one session. The hint `readOnlyHint` makes the calls of
 * one message run at the same time. The engine limits how many of them work, and the order of their answers
 * is free.
 */
export function stackServer(
  { server, types }: ProtocolModules,
  owner: SessionOwner,
  sessionID: string,
): McpSdkServerConfigWithInstance {
  const instance = new server.McpServer({ name: SERVER, version: "1.0.0" }, { capabilities: { tools: {} } })
  const tools = owner.tools.map(({ name, description, parameters }) => ({
    name,
    description,
    inputSchema: parameters,
    annotations: { readOnlyHint: true },
    // Without this, the tools would be hidden behind a tool that searches tools.
    _meta: { "anthropic/alwaysLoad": true },
  }))
  instance.server.setRequestHandler(types.ListToolsRequestSchema, () => ({ tools }))
  instance.server.setRequestHandler(types.CallToolRequestSchema, async ({ params }, { signal }) => {
    const { text, isError } = await owner.tool(sessionID, params.name, params.arguments ?? {}, signal)
    return { content: [{ type: "text", text: shortened(text) }], isError } satisfies CallToolResult
  })
  return { type: "sdk", name: SERVER, instance }
}

function shortened(text: string): string {
  if (text.length <= LONGEST) return text
  return `${text.slice(0, LONGEST)}\n… (cut: these are ${LONGEST} of ${text.length} characters)`
}
