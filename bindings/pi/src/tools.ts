// The tools of the agent in the form that pi registers, and what a person sees of their calls.

import type { ToolDefinition } from "@mariozechner/pi-coding-agent"
import { Text } from "@mariozechner/pi-tui"
import type { Tool } from "callstack-core"
import { printable, singleLine } from "callstack-core/people"
import type { Host } from "./host.js"

/** The data that pi keeps with the answer of a call. */
export interface Details {
  /** One line for people that says what has happened. */
  title?: string
  /** The session to which the frames belong. */
  session: string
}

/** Returns a tool in the form that pi registers. The engine checks the arguments. */
export function definition(
  host: Host,
  { name, description, parameters: { properties, ...schema } }: Tool,
): ToolDefinition {
  // In pi, frames in the background have no sessions.
  const { background: _, ...offered } = properties as Record<string, unknown>
  return {
    name,
    label: name,
    description,
    parameters: { ...schema, properties: offered },
    // The calls say where the conversation is, so the calls of a message are executed in their order.
    executionMode: "sequential",
    execute: async (_callID, args, signal) => {
      const answer = await host.engine.tool(host.sessionID, name, args as object, signal)
      // pi marks a call as failed if it throws.
      if (answer.isError) throw new Error(answer.text)
      const details: Details = { title: answer.title, session: host.sessionID }
      return { content: [{ type: "text", text: answer.text }], details }
    },
    renderCall: (args, theme) => {
      const about = subject(args as Record<string, unknown>)
      return new Text(`${theme.fg("toolTitle", theme.bold(name))}${about && ` ${theme.fg("muted", about)}`}`, 0, 0)
    },
    renderResult: ({ content, details }, { expanded }, theme, { isError }) => {
      const text = content.flatMap((block) => (block.type === "text" ? [block.text] : [])).join("\n")
      const { title } = (details ?? {}) as Partial<Details>
      const shown = expanded ? printable(text) : title || singleLine(text)
      return new Text(theme.fg(isError ? "error" : "toolOutput", shown), 0, 0)
    },
  }
}

/**
 * The subject of a call while the engine has not answered: the argument that names a frame, or the title of
 * the new frame.
 */
function subject(args: Record<string, unknown>): string {
  const named = ["title", "sessionID", "frameID", "rootID", "name"].map((key) => args[key])
  return singleLine(String(named.find((value) => typeof value === "string") ?? ""))
}
