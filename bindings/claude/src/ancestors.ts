// The frames above a frame.

import type { FrameRef, Handle, Stack } from "callstack-core"

/** Returns the frames above a frame, from its parent up to the root. */
export function ancestorsOf(stack: Stack, frame: FrameRef): Handle[] {
  return stack.handles({ relation: "ancestors", frame })
}
