// What a command is about: a new goal, a root that was planned before, or a frame that is to get a new frame
// below it.

import type { FrameRef, Handle, Stack } from "callstack-core"
import { Exit } from "./exit.js"
import { Failure } from "./failure.js"

/** A planned root, or the goal of a new one. */
export interface RootToRun {
  frame: Handle | undefined
  goal: string
}

/**
 * Reads what a person wants to run: a goal, the handle of a planned frame, or an empty text for the only
 * planned root.
 */
export function rootToRun(stack: Stack, text: string): RootToRun {
  if (/^f\d+$/.test(text)) return { frame: text, goal: "" }
  if (text !== "") return { frame: undefined, goal: text }
  const planned = stack.handles({ relation: "roots", status: "planned" })
  const [only, ...others] = planned
  if (only === undefined) {
    throw new Failure(Exit.refused, "no_planned_root", "no root is planned, and no goal is given", {
      next: "give a goal: `run GOAL`; or resume what was stopped: `resume`",
    })
  }
  if (others.length === 0) return { frame: only, goal: "" }
  throw new Failure(Exit.refused, "ambiguous_frame", `several roots are planned: ${planned.join(", ")}`, {
    next: `name one: run ${only}`,
  })
}

/** Returns the frame that is to get a new frame below it: the named frame, or the current one. */
export function parentOf(stack: Stack, named: FrameRef | undefined): Handle {
  const parent = named === undefined ? stack.active() : stack.resolve(named)
  if (parent !== undefined) return parent
  throw new Failure(Exit.refused, "no_active_frame", "no frame is current, below which a new one could be", {
    next: "name one: --parent FRAME; `flame run GOAL` runs a new root, `flame plan --root GOAL` plans one",
  })
}
