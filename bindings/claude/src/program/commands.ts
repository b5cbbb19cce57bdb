// The commands that a person types while frames run. The library decides; a command reads words and shows
// answers.

import type { FrameStatus, Handle } from "callstack-core"
import { ancestorsOf } from "../ancestors.js"
import type { Flame, Outcome } from "../flame.js"
import type { FrameLimits } from "../limits.js"
import { endingIn } from "./endings.js"
import { Exit } from "./exit.js"
import { Failure } from "./failure.js"
import { rootToRun } from "./goals.js"
import { type Line, line, toned } from "./lines.js"
import type { Asked, Decision } from "./permissions.js"
import { lines, statusLines, usageLines } from "./reports.js"
import { oneLine } from "./text.js"

/**
 * What the person saw while typing: commands without a frame mean this frame, even if other things have
 * happened since.
 */
export interface Seen {
  frame: Handle | undefined
  asked: Asked | undefined
}

/** The objects that commands work on. */
export interface Desk {
  readonly flame: Flame
  /** The limits of roots that were given at the command line. */
  readonly limits: FrameLimits
  /** True while a run that a command has begun has not ended. */
  readonly isWorking: boolean
  /** Tells the person something. */
  say(...lines: readonly Line[]): void
  /** Follows a run. Its end, or its failure, is reported. */
  follow(run: Promise<Outcome | Outcome[]>): void
  /** Decides the request that the person has seen. */
  decide(decision: Decision, asked: Asked | undefined): void
  /** Writes a page with the stack. Returns the output of the program that writes it. */
  view(): Promise<string>
  /** Ends the dialogue. */
  quit(): void
}

/** A command. */
export interface Command {
  /** The form of the arguments, for people. */
  usage: string
  description: string
  /**
   * The statuses of the frames that the command can be about, for completion; undefined if the command is not
   * about a frame.
   */
  frames?: readonly FrameStatus[]
  /** Executes the command. `text` is what was typed after the name. */
  run: (desk: Desk, text: string, seen: Seen) => void | Promise<void>
}

const ALL: readonly FrameStatus[] = ["planned", "in_progress", "blocked", "completed", "failed", "invalidated"]
const OPEN: readonly FrameStatus[] = ["in_progress", "blocked"]

/** The reason when a person stops something. */
export const STOPPED = "by a person"

/** The results of a frame if a person ends it without a text. */
const ENDED = "a person has ended it"

export const COMMANDS: Readonly<Record<string, Command>> = {
  run: {
    usage: "[GOAL | FRAME]",
    description: "run a goal as a new root, or a planned root",
    frames: ["planned"],
    run: (desk, text) => {
      const { frame, goal } = rootToRun(desk.flame.stack, text)
      desk.follow(frame === undefined ? desk.flame.run(goal) : desk.flame.activate(frame, rootLimits(desk, frame)))
    },
  },
  push: {
    usage: "[FRAME] GOAL",
    description: "begin a frame below the current one, or below FRAME",
    frames: OPEN,
    run: (desk, text, seen) => {
      const [parent, goal] = frameAnd(text, seen, "push FRAME GOAL")
      desk.follow(desk.flame.push({ goal: needed(goal, "push [FRAME] GOAL"), parent }))
    },
  },
  plan: {
    usage: "[FRAME] GOAL",
    description: "plan a frame below the current one, or below FRAME; where none is current, a root",
    frames: ["planned", ...OPEN],
    run: (desk, text, seen) => {
      const [word, rest] = firstWord(text)
      const [parent, goal] = isHandle(word) ? [word, rest] : [seen.frame, text]
      const below = parent === undefined ? {} : { parent }
      sayPlanned(desk, desk.flame.plan({ goal: needed(goal, "plan [FRAME] GOAL"), ...below }))
    },
  },
  activate: {
    usage: "FRAME [ANSWER]",
    description: "begin a planned frame, or resume one that is blocked or was interrupted",
    frames: ["planned", ...OPEN],
    run: (desk, text) => {
      const [frame, answer] = firstWord(needed(text, "activate FRAME [ANSWER]"))
      desk.follow(desk.flame.activate(frame, { ...rootLimits(desk, frame), ...(answer !== "" && { answer }) }))
    },
  },
  pop: {
    usage: "[FRAME] [completed | failed | blocked] [RESULTS]",
    description: "end the current frame, or FRAME, with its results",
    frames: OPEN,
    run: async (desk, text, seen) => {
      const [frame, rest] = frameAnd(text, seen, "pop FRAME [completed | failed | blocked] [RESULTS]")
      const { status, results } = endingIn(rest)
      await desk.flame.pop(frame, status, results === "" ? ENDED : results)
    },
  },
  answer: {
    usage: "[FRAME] ANSWER",
    description: "answer a frame that waits for you; it resumes",
    frames: ["blocked"],
    run: async (desk, text) => {
      const [frame, answer] = waitingAnd(desk.flame, text)
      await desk.flame.answer(frame, needed(answer, "answer [FRAME] ANSWER"))
      const hint = desk.isWorking ? "" : ": `resume` continues it"
      desk.say(line(toned("strong", frame), ` is answered${hint}`))
    },
  },
  stop: {
    usage: "[FRAME]",
    description: "stop what runs, or what runs at or below FRAME; it can be resumed",
    frames: ["in_progress"],
    run: (desk, text) => desk.flame.stop(STOPPED, text === "" ? undefined : text),
  },
  resume: {
    usage: "",
    description: "resume everything that was stopped, interrupted or answered",
    run: (desk) => desk.follow(desk.flame.resume(desk.limits)),
  },
  status: {
    usage: "",
    description: "show which frames work and which wait for you",
    run: (desk) => desk.say(...statusLines(desk.flame)),
  },
  tree: {
    usage: "[FRAME]",
    description: "show all frames, or those below FRAME",
    frames: ALL,
    run: (desk, text) => {
      desk.flame.stack.refresh()
      desk.say(...lines(desk.flame.tree(text === "" ? undefined : text)))
    },
  },
  show: {
    usage: "FRAME",
    description: "show one frame with its criteria and results",
    frames: ALL,
    run: (desk, text, seen) => {
      const [frame] = frameAnd(text, seen, "show FRAME")
      desk.say(...lines(desk.flame.stack.outline({ root: frame, details: true, depth: 0, width: 0 })))
    },
  },
  usage: {
    usage: "[FRAME]",
    description: "show the requests, tokens and costs of all trees, or of FRAME",
    frames: ALL,
    run: (desk, text) => {
      const frames = text === "" ? desk.flame.stack.handles({ relation: "roots" }) : [text]
      desk.say(...usageLines(desk.flame, frames))
    },
  },
  view: {
    usage: "",
    description: "write a page with a flame chart of the stack",
    run: async (desk) => desk.say(...lines(await desk.view())),
  },
  y: {
    usage: "",
    description: "allow what a frame asks for",
    run: (desk, _, { asked }) => desk.decide("yes", asked),
  },
  n: {
    usage: "",
    description: "refuse what a frame asks for",
    run: (desk, _, { asked }) => desk.decide("no", asked),
  },
  always: {
    usage: "",
    description: "allow every use of the tool by the frame that asks",
    run: (desk, _, { asked }) => desk.decide("always", asked),
  },
  help: {
    usage: "[COMMAND]",
    description: "show the commands",
    run: (desk, text) => desk.say(...helpLines(text)),
  },
  quit: {
    usage: "",
    description: "stop what runs, so that it can be resumed, and leave",
    run: (desk) => desk.quit(),
  },
}

/** Other names of commands. */
const ALIASES: Readonly<Record<string, string>> = { yes: "y", no: "n", exit: "quit", "?": "help" }

/** Returns the name and the rest of a typed line. The name may begin with a slash. */
export function commandIn(typed: string): { name: string; text: string } {
  const [word, text] = firstWord(typed.trim())
  const name = word.replace(/^\//, "")
  return { name: Object.hasOwn(ALIASES, name) ? (ALIASES[name] ?? name) : name, text }
}

/** Returns the command with a name. */
export function commandOf(name: string): Command {
  const command = Object.hasOwn(COMMANDS, name) ? COMMANDS[name] : undefined
  if (command !== undefined) return command
  throw new Failure(Exit.usage, "unknown_command", `there is no command \`${oneLine(name)}\``, {
    next: "`help` lists the commands; `run GOAL` runs a goal",
  })
}

/** Returns the help: of all commands, or of one. */
function helpLines(text: string): Line[] {
  if (text !== "") {
    const { name } = commandIn(text)
    const { usage, description } = commandOf(name)
    return [line(toned("strong", `${name} ${usage}`.trim()), `: ${description}`)]
  }
  const heads = Object.entries(COMMANDS).map(([name, { usage }]) => `${name} ${usage}`.trim())
  // The longest name stands alone, so that the others do not move far to the right.
  const width = heads.map(({ length }) => length).sort((a, b) => b - a)[1] ?? 0
  return Object.values(COMMANDS).map(({ description }, index) =>
    line(toned("strong", (heads[index] ?? "").padEnd(width)), `  ${description}`),
  )
}

/** The limits of the command line are for roots: a frame below a root keeps its own limits. */
function rootLimits({ flame, limits }: Desk, frame: Handle): FrameLimits {
  return ancestorsOf(flame.stack, frame).length === 0 ? limits : {}
}

function sayPlanned(desk: Desk, handle: Handle): void {
  desk.say(line(toned("strong", handle), ` is planned: ${oneLine(desk.flame.stack.frame(handle).title)}`))
}

/**
 * Splits a text into a frame and the rest. The frame is the one at the beginning of the text, or else the
 * frame that the person has seen.
 */
function frameAnd(text: string, { frame }: Seen, usage: string): [frame: Handle, rest: string] {
  const [word, rest] = firstWord(text)
  if (isHandle(word)) return [word, rest]
  if (frame !== undefined) return [frame, text]
  throw new Failure(Exit.usage, "no_active_frame", `no frame is current: name one, \`${usage}\``)
}

/**
 * Splits a text into the frame that waits and the answer. The frame need not be named if no other frame
 * waits.
 */
function waitingAnd(flame: Flame, text: string): [frame: Handle, answer: string] {
  const [word, rest] = firstWord(text)
  if (isHandle(word)) return [word, rest]
  flame.stack.refresh()
  const handles = flame.waiting().map(({ frame }) => frame)
  const [only, ...others] = handles
  if (only === undefined) throw new Failure(Exit.refused, "not_blocked", "no frame waits for an answer")
  if (others.length === 0) return [only, text]
  throw new Failure(Exit.refused, "ambiguous_frame", `several frames wait: ${handles.join(", ")}`, {
    next: `name one: answer ${only} ANSWER`,
  })
}

function needed(text: string, usage: string): string {
  if (text !== "") return text
  throw new Failure(Exit.usage, "arguments", `an argument is missing: \`${usage}\``)
}

function isHandle(word: string): boolean {
  return /^f\d+$/.test(word)
}

function firstWord(text: string): [word: string, rest: string] {
  const [word = ""] = text.split(/\s/, 1)
  return [word, text.slice(word.length).trim()]
}
