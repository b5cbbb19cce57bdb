// Many small sessions: a root pushes areas, each area pushes its leaves in pairs, and a leaf reads a file and ends.

import { join } from "node:path"
import { type Answer, call, type ModelRequest, type ToolCall, type World } from "../harness/index.js"

/** The number of leaves in an area. */
export const LEAVES = 24
/** The tools of a session that pops, and pushes. */
const POP = "mcp__stack__stack_frame_pop"
export const PUSH = "mcp__stack__stack_frame_push"

/** The goal of the root. */
export const GOAL = "Job of many areas"

/** The model, for this number of areas: the frames are 1 + areas × (1 + {@link LEAVES}). */
export function smallSessions(areas: number) {
  return (request: ModelRequest, world: World): Answer => {
    const [, kind, number = ""] = /\b(Job|Area|Leaf)\b(?: ([\d.]+))?/.exec(request.messages[0]?.text ?? "") ?? []
    const done = request.results.length
    if (kind === "Job") return done < areas ? { calls: [push(`Area ${done + 1}`)] } : end(request, "all areas work")
    if (kind === "Area") {
      if (done === LEAVES) return end(request, `area ${number} works`)
      return { calls: [push(`Leaf ${number}.${done + 1}`), push(`Leaf ${number}.${done + 2}`)] }
    }
    if (done === 0) return { calls: [call("Read", { file_path: join(world.folder, "notes.txt") })] }
    return end(request, `leaf ${number} works`)
  }
}

function push(title: string): ToolCall {
  const goal = `${title} works`
  return call(PUSH, { title, successCriteria: goal, successCriteriaCompacted: goal })
}

function end({ tools }: ModelRequest, results: string): Answer {
  if (!tools.includes(POP)) return { text: results }
  return { calls: [call(POP, { status: "completed", results, resultsCompacted: results })] }
}
