// The titles of tool calls: one line that tells a person what happens, and then what has happened.

import type { Frame, FrameRef, Handle, Stack } from "callstack-core"

/** What a title looks up. */
type Frames = Pick<Stack, "frame" | "ancestors">

/** The answer to a tool call. */
export interface Answer {
  text: string
  /** Whether it explains why nothing was done. */
  isError: boolean
}

/** The arguments of a tool call, which the engine checks. */
type Arguments = Readonly<Record<string, unknown>>

/** A title is cut to this number of characters. */
const LONGEST = 160

/** How a title names a call that is about one frame, with the argument that names the frame or its title. */
const VERBS: Readonly<Record<string, readonly [verb: string, argument: string]>> = {
  stack_frame_push: ["push", "title"],
  stack_frame_activate: ["activate", "sessionID"],
  stack_frame_pop: ["pop", "frameID"],
  stack_frame_details: ["details of", "frameID"],
  stack_frame_log: ["log of", "frameID"],
}

/** Whether a call waits for the end of the frame that it begins. */
export function waits(tool: string, args: Arguments): boolean {
  return ["stack_frame_push", "stack_frame_activate"].includes(tool) && args["background"] !== true
}

/** Returns the title of a call that runs, such as `activate f4 Shopping cart`; undefined if it needs none. */
export function titleWhileRunning(frames: Frames, tool: string, args: Arguments): string | undefined {
  const [verb, argument] = VERBS[tool] ?? []
  const subject = argument && args[argument]
  return typeof subject === "string" ? line(`${verb} ${named(frames, subject) ?? subject}`) : undefined
}

/** Returns the title of a call that has been answered, such as `push f4 Shopping cart → completed: Cart::total()`. */
export function titleOf(frames: Frames, tool: string, args: Arguments, { text, isError }: Answer): string {
  const lines = text.split("\n")
  const said = line(lines[0] ?? "")
  if (isError) return said
  // The engine's answers name a frame that they are about at the beginning of a line.
  const handles = lines.flatMap((one) => /^f\d+(?= \()/.exec(one)?.[0] ?? [])
  const [first] = handles
  const verb = VERBS[tool]?.[0]
  switch (tool) {
    case "stack_frame_push":
    case "stack_frame_activate":
    case "stack_frame_pop": {
      const frame = first === undefined ? undefined : find(frames, first)
      if (frame === undefined) return said
      return line(
        `${verb} ${frame.handle} ${frame.title} ${args["background"] === true ? "in the background" : outcome(frame)}`,
      )
    }
    case "stack_frame_plan":
    case "stack_frame_plan_children": {
      if (first === undefined) return said
      const [parent] = frames.ancestors(first)
      const planned = handles.length === 1 ? named(frames, first) : `${handles.length} frames`
      return line(`plan ${planned}${parent ? ` below ${parent}` : ""}`)
    }
    case "stack_tree": {
      const counts = /^Frames: (\d+)(.*)$/m.exec(text)
      return counts === null ? said : line(`tree of ${counts[1]} frames${counts[2]}`)
    }
    case "stack_frame_details":
    case "stack_frame_log":
      return titleWhileRunning(frames, tool, args) ?? said
    default:
      return said
  }
}

function outcome({ status, results, resultsCompacted, questions }: Frame): string {
  const said = status === "blocked" ? questions?.at(-1)?.question || results : resultsCompacted || results
  return `→ ${status}${said ? `: ${said}` : ""}`
}

function named(frames: Frames, frame: FrameRef): string | undefined {
  const found = find(frames, frame)
  return found && `${found.handle} ${found.title}`
}

function find(frames: Frames, frame: FrameRef): (Frame & { handle: Handle }) | undefined {
  try {
    return frames.frame(frame)
  } catch {
    // The title goes without it; the answer of the tool says what is wrong.
    return undefined
  }
}

/** Makes one line that a terminal can show: agents have written parts of it. */
function line(text: string): string {
  const shown = text.replaceAll(/[\p{C}\p{Z}]+/gu, " ").trim()
  return shown.length > LONGEST ? `${shown.slice(0, LONGEST - 1).trimEnd()}…` : shown
}
