// The slash commands of people. The plugin carries each one out itself, with the tools of the engine. OpenCode then sends
// a message to the model in any case: it says what the person has done.

import type { Config } from "@opencode-ai/plugin"
import type { Part, TextPart } from "@opencode-ai/sdk"
import type { HostAnswer, Stack } from "callstack-core"
import { messageOf } from "./events.js"
import type { Host } from "./host.js"
import { usageTables } from "./usage.js"

/** The session in which a person has typed a command. */
interface Place {
  sessionID: string
  stack: Stack
  /** Calls a tool of the engine. */
  tool: (name: string, args: object) => Promise<HostAnswer>
}

interface Command {
  description: string
  /** The form of the arguments, for people. */
  usage: string
  /** Whether it changes the stack. */
  changes: boolean
  /** Carries it out; undefined if an argument is missing. `text` is what was typed behind the name. */
  run: (place: Place, text: string) => Promise<HostAnswer> | HostAnswer | undefined
}

/** A part of a message to which OpenCode adds its IDs. */
type NewText = Omit<TextPart, "id" | "sessionID" | "messageID">

/** Why something is stopped if the person gives no reason. */
const STOPPED = "a person has stopped it"

/**
 * A template without arguments: OpenCode would execute shell commands and read files that are named in them. It puts
 * nothing in this place, because there are fewer arguments.
 */
const EMPTY_TEMPLATE = "$999999"

const COMMANDS: Readonly<Record<string, Command>> = {
  stack: {
    description: "Show the tree of frames, all trees, or one frame with its details",
    usage: "[FRAME | all]",
    changes: false,
    run: ({ tool }, text) =>
      tool("stack_tree", text === "" ? {} : text === "all" ? { all: true } : { rootID: text, showDetails: true }),
  },
  "stack-status": {
    description: "Show what this session works on, and what runs",
    usage: "",
    changes: false,
    run: ({ tool }) => tool("stack_status", {}),
  },
  "stack-usage": {
    description: "Show the requests and tokens of a frame and of those below it",
    usage: "[FRAME | all]",
    changes: false,
    run: ({ stack, sessionID }, text) => {
      const own = stack.frames().some((frame) => frame.sessionID === sessionID) ? `id:${sessionID}` : "all"
      const frame = text === "" ? own : text
      const frames = frame === "all" ? stack.handles({ relation: "roots" }) : [frame]
      return { text: usageTables(stack, frames), isError: false }
    },
  },
  "stack-push": {
    description: "Begin a sub-task in the background, in a session of its own",
    usage: "TITLE[: CRITERIA]",
    changes: true,
    run: (place, text) => {
      if (text === "") return undefined
      place.stack.ensure(place.sessionID)
      return place.tool("stack_frame_push", { ...task(text), background: true })
    },
  },
  "stack-plan": {
    description: "Plan sub-tasks, one in each line",
    usage: "TITLE[: CRITERIA]",
    changes: true,
    run: (place, text) => {
      const lines = text.split("\n").filter((line) => line.trim() !== "")
      if (lines.length === 0) return undefined
      place.stack.ensure(place.sessionID)
      return place.tool("stack_frame_plan_children", { children: lines.map(task) })
    },
  },
  "stack-edit": {
    description: "Change a planned frame",
    usage: "FRAME TITLE[: CRITERIA]",
    changes: true,
    run: ({ tool }, text) => {
      const [sessionID, rest] = firstWord(text)
      if (rest === "") return undefined
      const { title, ...criteria } = task(rest)
      return tool("stack_frame_edit", { sessionID, title, ...(rest.includes(":") && criteria) })
    },
  },
  "stack-activate": {
    description: "Begin a planned frame, or go on with a blocked or interrupted one, in the background",
    usage: "FRAME",
    changes: true,
    run: ({ tool }, text) =>
      text === "" ? undefined : tool("stack_frame_activate", { sessionID: text, background: true }),
  },
  "stack-retry": {
    description: "Begin a failed frame anew, in the background; the note says what must be done differently",
    usage: "FRAME [NOTE]",
    changes: true,
    run: ({ tool }, text) => {
      const [sessionID, answer] = firstWord(text)
      if (sessionID === "") return undefined
      return tool("stack_frame_activate", {
        sessionID,
        retry: true,
        background: true,
        ...(answer !== "" && { answer }),
      })
    },
  },
  "stack-answer": {
    description: "Answer a blocked frame; it goes on",
    usage: "FRAME ANSWER",
    changes: true,
    run: ({ tool }, text) => {
      const [frameID, answer] = firstWord(text)
      return answer === "" ? undefined : tool("stack_frame_answer", { frameID, answer })
    },
  },
  "stack-pop": {
    description: "Finish a frame with its results",
    usage: "FRAME [completed | failed | blocked] RESULTS",
    changes: true,
    run: ({ tool }, text) => {
      const [frameID, rest] = firstWord(text)
      const [word, words] = firstWord(rest)
      const isStatus = ["completed", "failed", "blocked"].includes(word)
      const results = isStatus ? words : rest
      if (results === "") return undefined
      const status = isStatus ? word : "completed"
      return tool("stack_frame_pop", { frameID, status, results, resultsCompacted: results })
    },
  },
  "stack-stop": {
    description: "Stop what runs in a frame and below it; it can be resumed",
    usage: "[FRAME | all] [REASON]",
    changes: true,
    run: ({ tool }, text) => {
      const [frameID, words] = firstWord(text)
      const reason = words === "" ? STOPPED : words
      return tool("stack_frame_stop", {
        reason,
        ...(frameID === "all" ? { all: true } : frameID !== "" && { frameID }),
      })
    },
  },
  "stack-invalidate": {
    description: "Take a frame out of the plan",
    usage: "FRAME REASON",
    changes: true,
    run: ({ tool }, text) => {
      const [sessionID, reason] = firstWord(text)
      return reason === "" ? undefined : tool("stack_frame_invalidate", { sessionID, reason })
    },
  },
}

/** Registers the commands and carries them out. */
export class Commands {
  readonly #host: Host
  /** The names that are ours: a command of the user with the same name stays the user's. */
  #own = new Set<string>()

  constructor(host: Host) {
    this.#host = host
  }

  /** Adds the commands to OpenCode's configuration. */
  register(config: Config): void {
    config.command ??= {}
    const known = config.command
    this.#own = new Set(Object.keys(COMMANDS).filter((name) => known[name] === undefined))
    for (const name of this.#own) {
      const { description = "", usage = "" } = COMMANDS[name] ?? {}
      known[name] = { template: EMPTY_TEMPLATE, description: usage === "" ? description : `${description}: ${usage}` }
    }
  }

  /** Carries out a command of ours and replaces the parts of its message: one is for the person, one for the model. */
  async execute(name: string, sessionID: string, typed: string, parts: Part[]): Promise<void> {
    const command = this.#own.has(name) ? COMMANDS[name] : undefined
    if (command === undefined) return
    const text = typed.trim()
    const answer = await this.#answer(name, command, sessionID, text)
    const shown = `/${name}${text === "" ? "" : ` ${text}`}\n\n${answer.text.trim()}`
    const message: NewText[] = [
      { type: "text", text: shown, ignored: true },
      { type: "text", text: note(name, command, answer), synthetic: true },
    ]
    parts.splice(0, parts.length, ...(message as TextPart[]))
  }

  async #answer(name: string, command: Command, sessionID: string, text: string): Promise<HostAnswer> {
    const { engine } = this.#host
    const tool = (tool: string, args: object) => engine.tool(sessionID, tool, args)
    try {
      const answer = await command.run({ sessionID, stack: engine.stack, tool }, text)
      return answer ?? { text: `Nothing was done. Usage: /${name} ${command.usage}`, isError: true }
    } catch (error) {
      return { text: messageOf(error), isError: true }
    }
  }
}

/** Returns what the model is told of a command. It does not get what a person only looks at. */
function note(name: string, { changes }: Command, { text, isError }: HostAnswer): string {
  const what = isError
    ? `The person's command /${name} was refused, and nothing has changed: ${text.trim()}`
    : changes
      ? `The person has used the command /${name}. The plugin of the call stack has already carried it out: ${text.trim()}`
      : `The person has looked at the call stack with the command /${name}. They see the answer; nothing has changed.`
  return `${what}\nAcknowledge this in one short line, without a tool call. If you were in the middle of your work, go on with it; otherwise end your turn.`
}

/** Splits a text into its first word and the rest. */
function firstWord(text: string): [word: string, rest: string] {
  const [word = ""] = text.split(/\s/, 1)
  return [word, text.slice(word.length).trim()]
}

/** Makes the arguments of a new frame from `TITLE: CRITERIA`. Without criteria the title says them. */
function task(line: string): { title: string; successCriteria: string; successCriteriaCompacted: string } {
  const colon = line.indexOf(":")
  const title = (colon < 0 ? line : line.slice(0, colon)).trim()
  const criteria = (colon < 0 ? "" : line.slice(colon + 1).trim()) || title
  return { title, successCriteria: criteria, successCriteriaCompacted: criteria }
}
