// What each frame does at the moment: one line for each frame that works.

import { basename } from "node:path"
import type { Handle } from "callstack-core"
import type { FlameEvent } from "../events.js"
import type { Running } from "../flame.js"
import { cut, cutStart, oneLine, widthOf } from "./text.js"

/** How much of the text of a model is kept, in characters: what fits into a line of a wide terminal. */
const KEPT = 400

/** The longest part of a line that a title takes, in columns. */
const TITLE = 40

/** Follows what frames do. */
export class Activities {
  readonly #doing = new Map<Handle, { kind: "text" | "tool" | "retry"; text: string }>()

  /** Takes an event. Returns true if a live line may have changed. */
  take(event: FlameEvent): boolean {
    switch (event.kind) {
      case "text": {
        const doing = this.#doing.get(event.frame)
        const before = doing?.kind === "text" ? doing.text : ""
        this.#doing.set(event.frame, { kind: "text", text: (before + event.text).slice(-KEPT) })
        return true
      }
      case "tool":
        this.#doing.set(event.frame, { kind: "tool", text: callOf(event.tool, event.input) })
        return true
      case "retry":
        this.#doing.set(event.frame, { kind: "retry", text: "waits to ask the model again" })
        return true
      case "toolEnded":
        if (this.#doing.get(event.frame)?.kind === "text") return false
        return this.#doing.delete(event.frame)
      case "begun":
      case "ended":
        this.#doing.delete(event.frame)
        return true
      default:
        return false
    }
  }

  /** Returns the line of a frame that works. */
  lineOf({ frame, title }: Running, columns: number): string {
    const head = `${frame} ${cut(oneLine(title), Math.min(TITLE, Math.floor(columns / 2)))}: `
    const doing = this.#doing.get(frame)
    const room = columns - widthOf(head)
    if (doing === undefined || room < 2) return cut(`${head}thinks`, columns)
    const text = oneLine(doing.text)
    return head + (doing.kind === "text" ? cutStart(text, room) : cut(text, room))
  }
}

/** Returns a tool call in a few words: the tool, and the argument that says most. */
function callOf(tool: string, input: unknown): string {
  const name = tool.replace(/^mcp__stack__/, "")
  if (/^stack_(frame_push|frame_activate|wait)$/.test(name)) return "waits for frames below it"
  const values = typeof input === "object" && input !== null ? (input as Record<string, unknown>) : {}
  const path = values["file_path"] ?? values["notebook_path"]
  const telling =
    typeof path === "string" ? basename(path) : Object.values(values).find((value) => typeof value === "string")
  return telling === undefined ? name : `${name} ${String(telling)}`
}
