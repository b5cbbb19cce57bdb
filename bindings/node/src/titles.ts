// The titles of tool calls: one line that tells a person what has happened.

import type { HostAnswer } from "./host.js"
import type { Stack } from "./stack.js"
import type { Frame, FrameRef } from "./types.js"

/** What a title looks up. */
type Frames = Pick<Stack, "frame">

/** The arguments of a tool call, which the engine checks. */
type Arguments = Readonly<Record<string, unknown>>

/** The line with which an answer ends if frames are worked on in one conversation. */
const PLACE = /\nYou are in (f\d+ \(.*\)|no frame)\.$/

/** A title is cut to this number of characters. */
const LONGEST = 160

/** Whether a call says how a frame has ended: one that has waited for that, or a pop in a conversation that goes on. */
export function tellsEnd(tool: string, args: Arguments, { text }: HostAnswer): boolean {
  switch (tool) {
    case "stack_frame_push":
    case "stack_frame_activate":
      return args["background"] !== true && !PLACE.test(text)
    case "stack_frame_pop":
      return PLACE.test(text)
    default:
      return false
  }
}

/** Returns the title of a call that has been answered, such as `push f4 Shopping cart → completed: Cart::total()`. */
export function titleOf(frames: Frames, tool: string, args: Arguments, { text, isError }: HostAnswer): string {
  const lines = text.split("\n")
  const said = singleLine(lines[0] ?? "")
  if (isError) return said
  // The engine's answers name a frame that they are about at the beginning of a line.
  const handles = lines.flatMap((one) => /^(?:Planned )?(f\d+)\b/.exec(one)?.[1] ?? [])
  const [first, second] = handles
  switch (tool) {
    case "stack_frame_push":
    case "stack_frame_activate":
    case "stack_frame_pop": {
      const verb = args["retry"] === true ? "retry" : tool.slice("stack_frame_".length)
      const frame = first === undefined ? undefined : find(frames, first)
      if (frame === undefined) return said
      const end = args["background"] === true ? " in the background" : outcome(frame)
      const next = tool === "stack_frame_pop" && second !== undefined ? `; begin ${named(frames, second)}` : ""
      return singleLine(`${verb} ${frame.handle} ${frame.title}${end}${next}`)
    }
    case "stack_frame_plan":
    case "stack_frame_plan_children": {
      if (first === undefined) return said
      const parentID = find(frames, first)?.parentSessionID
      const parent = parentID && find(frames, `id:${parentID}`)
      const children = Array.isArray(args["children"]) ? args["children"].length : 1
      const planned = children === 1 ? named(frames, first) : `${children} frames`
      return singleLine(`plan ${planned}${parent ? ` below ${parent.handle}` : ""}`)
    }
    case "stack_tree": {
      const counts = /^Frames: (\d+)(.*)$/m.exec(text)
      return counts === null ? said : singleLine(`tree of ${counts[1]} frames${counts[2]}`)
    }
    case "stack_frame_details":
    case "stack_frame_log": {
      const [, handle = ""] = /^ {2}"handle": "(f\d+)"/m.exec(text) ?? []
      return singleLine(`${tool.slice("stack_frame_".length)} of ${named(frames, handle)}`)
    }
    default:
      // With an empty title OpenCode shows the arguments.
      return said.startsWith("{") ? "" : said
  }
}

/** How a frame has ended; empty while it is worked on. */
function outcome({ status, results, resultsCompacted, questions }: Frame): string {
  if (status === "in_progress") return ""
  const said = status === "blocked" ? questions?.at(-1)?.question || results : resultsCompacted || results
  return ` → ${status}${said ? `: ${said}` : ""}`
}

function named(frames: Frames, frame: FrameRef): string {
  const found = find(frames, frame)
  return found === undefined ? frame : `${found.handle} ${found.title}`
}

function find(frames: Frames, frame: FrameRef): Frame | undefined {
  try {
    return frames.frame(frame)
  } catch {
    // The title goes without it; the answer of the tool says what is wrong.
    return undefined
  }
}

/** Makes one line that a terminal can show, of a text of which agents have written parts. A long one is cut. */
export function singleLine(text: string): string {
  const characters = Array.from(text.replaceAll(/[\p{C}\p{Z}]+/gu, " ").trim())
  if (characters.length <= LONGEST) return characters.join("")
  return `${characters
    .slice(0, LONGEST - 1)
    .join("")
    .trimEnd()}…`
}

/** Makes lines that a terminal can show, of a text of which agents have written parts. */
export function printable(text: string): string {
  return text.replaceAll(/[^\P{C}\n]+/gu, " ").trimEnd()
}
