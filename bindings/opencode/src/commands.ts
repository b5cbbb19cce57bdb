// The slash commands of people. The plugin executes each command itself, with the tools of the engine.
// OpenCode then sends a message to the model in any case: the message says what the person has done.

import type { Config } from "@opencode-ai/plugin"
import type { Part, TextPart } from "@opencode-ai/sdk"
import { commandNote, runCommand, slashCommands } from "callstack-core/people"
import type { Host } from "./host.js"

/** A part of a message to which OpenCode adds its IDs. */
type NewText = Omit<TextPart, "id" | "sessionID" | "messageID">

/**
 * A template without arguments, because OpenCode would execute shell commands and read files that are named
 * in the arguments. It puts nothing in this place, because there are fewer arguments.
 */
const EMPTY_TEMPLATE = "$999999"

/** The instruction for the model about a message that it does not need. */
const ACKNOWLEDGE =
  "If this changes what is to be done now, do that. If it has stopped your work, end your turn. If you were in the middle of other work, continue it. Otherwise acknowledge this in one short line, without a tool call."

const COMMANDS = slashCommands("session")

/** Registers the commands and executes them. */
export class Commands {
  readonly #host: Host
  /** The names of our commands. A command of the person with the same name stays the person's. */
  #own = new Set<string>()

  constructor(host: Host) {
    this.#host = host
  }

  /** Adds the commands to OpenCode's configuration. */
  register(config: Config): void {
    config.command ??= {}
    const known = config.command
    const own = COMMANDS.filter(({ name }) => known[name] === undefined)
    this.#own = new Set(own.map(({ name }) => name))
    for (const { name, description, usage } of own) {
      known[name] = { template: EMPTY_TEMPLATE, description: usage === "" ? description : `${description}: ${usage}` }
    }
  }

  /**
   * Executes one of our commands and replaces the parts of its message: one part is for the person, one for
   * the model.
   */
  async execute(name: string, sessionID: string, typed: string, parts: Part[]): Promise<void> {
    const command = COMMANDS.find((command) => command.name === name && this.#own.has(name))
    if (command === undefined) return
    const text = typed.trim()
    const { engine } = this.#host
    const tool = (tool: string, args: object) => engine.tool(sessionID, tool, args)
    const answer = await runCommand(command, { sessionID, stack: engine.stack, tool }, text)
    const shown = `/${name}${text === "" ? "" : ` ${text}`}\n\n${answer.text.trim()}`
    const message: NewText[] = [
      { type: "text", text: shown, ignored: true },
      { type: "text", text: `${commandNote(command, text, answer)}\n${ACKNOWLEDGE}`, synthetic: true },
    ]
    parts.splice(0, parts.length, ...(message as TextPart[]))
  }
}
