// The status line: in which frame the conversation is.

import type { ExtensionContext } from "@mariozechner/pi-coding-agent"
import type { Frame, Stack } from "callstack-core"
import { singleLine } from "callstack-core/people"
import type { Host } from "./host.js"

/** The name of the line. */
const KEY = "callstack"

/** Shows the frame in which the conversation is. */
export function showStatus({ engine, sessionID }: Host, { hasUI, ui }: ExtensionContext): void {
  if (!hasUI) return
  const frame = placeOf(engine.stack, sessionID)
  ui.setStatus(KEY, frame && statusOf(engine.stack, frame))
}

/** The frame in which the conversation of a session is. */
function placeOf(stack: Pick<Stack, "frames">, sessionID: string): Frame | undefined {
  return stack.frames({ status: "in_progress" }).findLast((frame) => frame.sessionID.split("~")[0] === sessionID)
}

/** Returns the line for a frame, such as `f3 Pay for the cart (2 of 3)`. */
function statusOf(stack: Pick<Stack, "children">, { handle, title, parentSessionID }: Frame): string {
  const siblings = parentSessionID === undefined ? [] : stack.children(`id:${parentSessionID}`)
  const place = siblings.length > 1 ? ` (${siblings.indexOf(handle) + 1} of ${siblings.length})` : ""
  return singleLine(`${handle} ${title}${place}`)
}
