// The slash commands of people, for hosts that have such: what is typed, and what the tools of the engine do
// with it.

import type { HostAnswer } from "./host.js"
import type { Stack } from "./stack.js"
import { usageTables } from "./usage.js"

/** What a person is told of a command. */
export type CommandAnswer = Pick<HostAnswer, "text" | "isError"> & {
  /** True if nothing was tried, because an argument is missing. */
  isUsage?: boolean
}

/** The session in which a person has typed a command. */
export interface CommandPlace {
  sessionID: string
  stack: Stack
  /** Calls a tool of the engine for the session. */
  tool: (name: string, args: object) => Promise<CommandAnswer>
}

/** A slash command. */
export interface SlashCommand {
  /** Without the slash. */
  name: string
  description: string
  /** The form of the arguments, for people; empty if there are none. */
  usage: string
  /** Whether it changes the stack. */
  changes: boolean
  /** Carries it out; undefined if an argument is missing. `text` is what was typed behind the name. */
  run: (place: CommandPlace, text: string) => Promise<CommandAnswer> | CommandAnswer | undefined
}

/** Why something is stopped if the person gives no reason. */
const STOPPED = "a person has stopped it"

/**
 * Returns the commands.
 *
 * @param calls - Where begun frames are worked on: each in a session of its own, or in the conversation that
 * begins them.
 */
export function slashCommands(calls: "session" | "conversation"): SlashCommand[] {
  // A person does not wait for the end of a call.
  const [where, aside] =
    calls === "session" ? [", in the background", { background: true }] : [" in this conversation", {}]
  const commands: SlashCommand[] = [
    {
      name: "stack",
      description: "Show the tree of frames, all trees, or one frame with its details",
      usage: "[FRAME | all]",
      changes: false,
      run: ({ tool }, text) =>
        tool("stack_tree", text === "" ? {} : text === "all" ? { all: true } : { rootID: text, showDetails: true }),
    },
    {
      name: "stack-status",
      description: "Show what this session works on, and what runs",
      usage: "",
      changes: false,
      run: ({ tool }) => tool("stack_status", {}),
    },
    {
      name: "stack-usage",
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
    {
      name: "stack-push",
      description: `Begin a sub-task${where}`,
      usage: "TITLE[: CRITERIA]",
      changes: true,
      run: (place, text) => {
        if (text === "") return undefined
        place.stack.ensure(place.sessionID)
        return place.tool("stack_frame_push", { ...task(text), ...aside })
      },
    },
    {
      name: "stack-plan",
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
    {
      name: "stack-edit",
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
    {
      name: "stack-activate",
      description: `Begin a planned frame, or resume a blocked or interrupted one${where}`,
      usage: "FRAME",
      changes: true,
      run: ({ tool }, text) => (text === "" ? undefined : tool("stack_frame_activate", { sessionID: text, ...aside })),
    },
    {
      name: "stack-retry",
      description: `Retry a failed frame${where}; the note says what must be done differently`,
      usage: "FRAME [NOTE]",
      changes: true,
      run: ({ tool }, text) => {
        const [sessionID, answer] = firstWord(text)
        if (sessionID === "") return undefined
        return tool("stack_frame_activate", { sessionID, retry: true, ...aside, ...(answer !== "" && { answer }) })
      },
    },
    {
      name: "stack-answer",
      description: "Answer a blocked frame, so that it can resume",
      usage: "FRAME ANSWER",
      changes: true,
      run: ({ tool }, text) => {
        const [frameID, answer] = firstWord(text)
        return answer === "" ? undefined : tool("stack_frame_answer", { frameID, answer })
      },
    },
    {
      name: "stack-pop",
      description: "Finish a frame with its results",
      usage: "FRAME [completed | failed | blocked] [anyway] RESULTS",
      changes: true,
      run: ({ tool }, text) => {
        const [frameID, rest] = firstWord(text)
        const [word, words] = firstWord(rest)
        const isStatus = ["completed", "failed", "blocked"].includes(word)
        const status = isStatus ? word : "completed"
        const said = isStatus ? words : rest
        // Over what is left below the frame.
        const [first, others] = firstWord(said)
        const anyway = first === "anyway"
        const results = anyway ? others : said
        if (results === "") return undefined
        return tool("stack_frame_pop", {
          frameID,
          status,
          results,
          resultsCompacted: results,
          ...(anyway && { anyway }),
        })
      },
    },
    {
      name: "stack-stop",
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
    {
      name: "stack-invalidate",
      description: "Take a frame out of the plan",
      usage: "FRAME REASON",
      changes: true,
      run: ({ tool }, text) => {
        const [sessionID, reason] = firstWord(text)
        return reason === "" ? undefined : tool("stack_frame_invalidate", { sessionID, reason })
      },
    },
  ]
  // A person stops a conversation by the host's own means.
  return commands.filter(({ name }) => calls === "session" || name !== "stack-stop")
}

/** Carries out a command. Never rejects: the answer explains a failure. */
export async function runCommand(command: SlashCommand, place: CommandPlace, text: string): Promise<CommandAnswer> {
  try {
    const answer = await command.run(place, text.trim())
    return (
      answer ?? { text: `Nothing was done. Usage: /${command.name} ${command.usage}`, isError: true, isUsage: true }
    )
  } catch (error) {
    return { text: error instanceof Error ? error.message : String(error), isError: true }
  }
}

/**
 * Returns what the model is told of a command that was carried out. It does not get what a person only looks
 * at.
 *
 * @param typed - What the person has typed behind the name: of what a command has changed, the answer may say
 * only a part.
 */
export function commandNote({ name, changes }: SlashCommand, typed: string, { text, isError }: CommandAnswer): string {
  const answer = text.trim()
  if (!(isError || changes)) {
    return `The person has looked at the call stack with the command /${name}. They see the answer; nothing has changed.`
  }
  const written = typed.trim() === "" ? " " : ` They have written:\n${typed.trim()}\n`
  const outcome = isError ? "It was refused, and nothing has changed:" : "It has been carried out:"
  return `The person has used the command /${name}.${written}${outcome}\n${answer}`
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
