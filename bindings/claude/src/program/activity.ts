// The current activity of each frame: one line for each frame that works.

import { basename } from "node:path"
import type { Handle } from "callstack-core"
import type { FlameEvent } from "../events.js"
import type { Running } from "../flame.js"
import { cut, cutStart, oneLine, widthOf } from "./text.js"

/** How much of the text of a model is kept, in characters: as much as fits into a line of a wide terminal. */
const KEPT = 400

/** The maximum width of a title in a line, in columns. */
const TITLE = 40

/** The activity of a frame. */
interface Doing {
  /** The end of what its model writes. */
  text: string
  /** The tools that run. */
  tools: { name: string; words: string }[]
  isRetrying: boolean
}

/** Follows what frames do. */
export class Activities {
  readonly #doing = new Map<Handle, Doing>()

  /** Takes an event. Returns true if a live line may have changed. */
  take(event: FlameEvent): boolean {
    switch (event.kind) {
      case "text": {
        const doing = this.#of(event.frame)
        doing.text = (doing.text + event.text).slice(-KEPT)
        doing.isRetrying = false
        return true
      }
      case "tool": {
        const doing = this.#of(event.frame)
        doing.tools.push({ name: event.tool, words: callOf(event.tool, event.input) })
        doing.text = ""
        return true
      }
      case "toolEnded": {
        const { tools } = this.#of(event.frame)
        const index = tools.findIndex(({ name }) => name === event.tool)
        if (index >= 0) tools.splice(index, 1)
        return true
      }
      case "retry":
        this.#of(event.frame).isRetrying = true
        return true
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
    const { text, tools, isRetrying } = this.#of(frame)
    const room = Math.max(2, columns - widthOf(head))
    const tool = tools.at(-1)
    if (isRetrying) return head + cut("waits to ask the model again", room)
    if (tool !== undefined) return head + cut(oneLine(tool.words), room)
    return head + (text.trim() === "" ? "thinks" : cutStart(oneLine(text), room))
  }

  #of(frame: Handle): Doing {
    const doing = this.#doing.get(frame) ?? { text: "", tools: [], isRetrying: false }
    this.#doing.set(frame, doing)
    return doing
  }
}

/** Returns a tool call in a few words: the tool, and the most informative argument. */
function callOf(tool: string, input: unknown): string {
  const name = tool.replace(/^mcp__stack__/, "")
  if (/^stack_(frame_push|frame_activate|wait)$/.test(name)) return "waits for frames below it"
  const values = typeof input === "object" && input !== null ? (input as Record<string, unknown>) : {}
  const path = values["file_path"] ?? values["notebook_path"]
  const telling =
    typeof path === "string" ? basename(path) : Object.values(values).find((value) => typeof value === "string")
  return telling === undefined ? name : `${name} ${String(telling)}`
}
