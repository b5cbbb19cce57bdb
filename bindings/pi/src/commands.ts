// The slash commands of people. They cost no request: the person sees the answer, and the agent learns of a
// change with its next request.

import type { ExtensionAPI, ExtensionCommandContext } from "@mariozechner/pi-coding-agent"
import { commandNote, runCommand, type SlashCommand, singleLine, slashCommands } from "callstack-core/people"
import { MESSAGE_TYPE } from "./context.js"
import { type Host, tell } from "./host.js"
import type { Session } from "./session.js"

/** Number of frames that are proposed while a person types. */
const PROPOSED = 50

/** Registers the commands. `open` returns the session that is open, or undefined if there is no stack. */
export function registerCommands(pi: ExtensionAPI, open: () => Session | undefined): void {
  for (const command of slashCommands("conversation")) {
    const { name, description, usage } = command
    pi.registerCommand(name, {
      description: usage === "" ? description : `${description}: ${usage}`,
      getArgumentCompletions: (prefix) => (usage.includes("FRAME") ? completions(open()?.host, prefix) : null),
      handler: async (text, context) => {
        const session = open()
        if (session === undefined) return tell(context, "error", "there is no call stack here: see the first message")
        await execute(pi, session.host, command, text, context)
        session.showStatus(context)
      },
    })
  }
}

async function execute(
  pi: ExtensionAPI,
  host: Host,
  command: SlashCommand,
  text: string,
  context: ExtensionCommandContext,
): Promise<void> {
  const { engine, sessionID } = host
  const tool = (name: string, args: object) => {
    // The command does not count as one of the calls that the model has made in its newest message, unless
    // that message is being executed.
    if (context.isIdle()) engine.context(sessionID)
    return engine.tool(sessionID, name, args)
  }
  const answer = await runCommand(command, { sessionID, stack: engine.stack, tool }, text)
  tell(context, answer.isError ? "error" : "info", answer.text.trim())
  // The person has seen the answer. A refusal can say where the conversation is.
  if (!command.changes || answer.isUsage) return
  pi.sendMessage({
    customType: MESSAGE_TYPE,
    content: commandNote(command, text, answer),
    display: false,
    details: { session: sessionID },
  })
}

/**
 * The frames of the session's tree whose handles or titles begin with the typed text, the newest ones first.
 */
function completions(host: Host | undefined, prefix: string): { value: string; label: string }[] | null {
  const stack = host?.engine.stack
  const place = stack?.place(host?.sessionID ?? "")
  if (stack === undefined || place === undefined) return null
  const typed = prefix.toLowerCase()
  const root = stack.handles({ relation: "ancestors", frame: place }).at(-1) ?? place
  const frames = stack.frames({ relation: "subtree", frame: root }).reverse()
  const found = frames.filter(({ handle, title }) => handle.startsWith(typed) || title.toLowerCase().startsWith(typed))
  const items = found
    .slice(0, PROPOSED)
    .map(({ handle, title }) => ({ value: handle, label: singleLine(`${handle} ${title}`) }))
  return items.length > 0 ? items : null
}
