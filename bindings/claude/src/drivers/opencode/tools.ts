// Which of the server's tools a prompt may use. OpenCode is told which tools the prompt may not use.

import type { OpencodeClient, PermissionRule } from "@opencode-ai/sdk/v2"
import { answered } from "./client.js"

/** The tools with which a session reads and changes the project, by their names in OpenCode. */
export const READ_AND_WRITE: readonly string[] = ["read", "write", "edit", "apply_patch", "bash", "glob", "grep"]

/** For OpenCode these are one tool: it offers one or the other to a model, and refuses all or none. */
const WRITERS = ["write", "edit", "apply_patch"]
/** OpenCode's answer to a call of an unknown tool. No model sees it among its tools. */
const INVALID = "invalid"

/**
 * Returns which tools are switched off and on in a prompt. `allowed` are the names of tools, including those
 * of the stack. OpenCode refuses a tool that is off, also to subagents. A tool that is neither off nor on has
 * the permission of the configuration.
 */
export async function toolSwitches(
  client: OpencodeClient,
  allowed: readonly string[],
  agent?: string,
): Promise<Record<string, boolean>> {
  const [names, servers] = await Promise.all([answered(client.tool.ids()), answered(client.mcp.status())])
  const mayWrite = allowed.some((name) => WRITERS.includes(name))
  const isAllowed = (name: string) => allowed.includes(name) || (mayWrite && WRITERS.includes(name)) || name === INVALID
  const off = names.filter((name) => !isAllowed(name))
  const prefixes = Object.keys(servers).map((server) => `${server.replace(/[^a-zA-Z0-9_-]/g, "_")}_`)
  // There is no list of the tools of other servers: all of them are off, except for those that are named.
  const named = allowed.filter((name) => prefixes.some((prefix) => name.startsWith(prefix)))
  const on = named.length === 0 ? [] : await permitted(client, named, agent)
  return Object.fromEntries([
    ...off.map((name) => [name, false]),
    ...prefixes.map((prefix) => [`${prefix}*`, false]),
    ...on.map((name) => [name, true]),
  ])
}

/**
 * Returns the tools that an agent may use without a question. A tool that is switched on would be allowed
 * even if the configuration does not allow it, and no person could answer a question.
 */
async function permitted(client: OpencodeClient, names: readonly string[], agent?: string): Promise<string[]> {
  const agents = await answered(client.app.agents())
  // The first agent is the default.
  const { permission: rules = [] } = agents.find(({ name }) => name === agent) ?? agents[0] ?? {}
  const actionOf = (tool: string) => rules.findLast((rule) => concerns(rule, tool))?.action
  return names.filter((name) => actionOf(name) === "allow")
}

/** Whether a rule is about all uses of a tool. */
function concerns({ permission, pattern }: PermissionRule, tool: string): boolean {
  const parts = permission.split("*").map((part) => part.replace(/[.+^${}()|[\]\\]/g, "\\$&").replaceAll("?", "."))
  return pattern === "*" && new RegExp(`^${parts.join(".*")}$`, "s").test(tool)
}
