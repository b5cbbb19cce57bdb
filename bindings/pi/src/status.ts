// The status line: it shows in which frame the conversation is.

import type { ExtensionContext } from "@mariozechner/pi-coding-agent"
import type { Frame, Stack } from "callstack-core"
import { singleLine } from "callstack-core/people"
import type { Host } from "./host.js"

/** The name of the line. */
const KEY = "callstack"

/** Shows the frame in which the conversation is. */
export function showStatus({ engine, sessionID }: Host, { hasUI, ui }: ExtensionContext): void {
  if (!hasUI) return
  const place = engine.stack.place(sessionID)
  ui.setStatus(KEY, place && statusOf(engine.stack, engine.stack.frame(place)))
}

/** Returns the line for a frame, such as `f3 Pay for the cart (2 of 3)`. */
function statusOf(stack: Pick<Stack, "handles">, { handle, title, parentSessionID }: Frame): string {
  const parent = parentSessionID && `id:${parentSessionID}`
  const siblings = parent === undefined ? [] : stack.handles({ relation: "children", frame: parent })
  const place = siblings.length > 1 ? ` (${siblings.indexOf(handle) + 1} of ${siblings.length})` : ""
  return singleLine(`${handle} ${title}${place}`)
}
