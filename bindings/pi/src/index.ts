// The entry point of the extension: opens the stack of the project when pi opens a session, and connects the
// engine with pi's events. The engine makes all decisions.

import type { ExtensionAPI, ExtensionContext } from "@mariozechner/pi-coding-agent"
import { registerCommands } from "./commands.js"
import { Host, tell } from "./host.js"
import { Session } from "./session.js"
import { readSettings } from "./settings.js"
import { definition } from "./tools.js"

/** Registers the extension. pi makes a new instance for each session that it opens. */
export default function extension(pi: ExtensionAPI): void {
  let session: Session | undefined
  const close = () => {
    session?.close()
    session = undefined
  }
  registerCommands(pi, () => session)
  pi.on("session_start", async (event, context) => {
    // pi can report the same session twice.
    close()
    session = await open(pi, context)
    await session?.start(event, context)
  })
  pi.on("session_shutdown", close)
  pi.on("session_tree", (event, context) => session?.wentBack(event, context))
  pi.on("before_agent_start", (event, context) => session?.begin(event, context))
  pi.on("context", ({ messages }, context) => session && { messages: session.request(messages, context) })
  pi.on("before_provider_request", ({ payload }, context) => session?.payload(payload, context))
  pi.on("message_end", ({ message }, context) => session?.finished(message, context))
  // pi reports the message with the calls before it calls this hook, so its request counts in the frame in
  // which it was made.
  pi.on("tool_call", () => undefined)
  pi.on("tool_result", (event, context) => session?.toolWorked(event, context))
  pi.on("agent_end", (_, context) => session?.idle(context))
  pi.on("session_before_compact", (event, context) => session?.compacting(event, context))
  pi.on("session_compact", (event, context) => session?.compacted(event, context))
}

/** Opens the stack. If that is not possible, pi continues without it. */
async function open(pi: ExtensionAPI, context: ExtensionContext): Promise<Session | undefined> {
  try {
    // A static import would make pi refuse the extension if the native library's loader is missing.
    const callstack = await import("callstack-core")
    const { place, engine: settings, problems } = readSettings(context.cwd)
    const host = new Host(callstack, callstack.Stack.open(place), context)
    for (const problem of problems) host.log("warn", problem)
    host.engine.configure(settings)
    for (const tool of host.engine.stack.tools()) pi.registerTool(definition(host, tool))
    return new Session(pi, host)
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error)
    tell(context, "error", `disabled, pi continues without it: ${reason}`)
    return undefined
  }
}
