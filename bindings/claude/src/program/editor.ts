// The line that a person types: readline edits it, with its keys, history and completion, and a screen draws
// it.

import { createInterface, type Interface, type Key } from "node:readline"
import { type Readable, Writable } from "node:stream"
import { HISTORY_SIZE } from "./history.js"

/** The inputs and the callbacks of an editor. */
export interface EditorParts {
  input: Readable
  /** Lines of earlier processes, the newest first. */
  history: readonly string[]
  /**
   * Returns the possible completions of the text before the cursor, and the end of the text that is
   * completed.
   */
  complete: (text: string) => [candidates: string[], completed: string]
  /** True for a line that the history keeps. */
  isKept: (line: string) => boolean
  onLine: (line: string) => void
  /** The line or the cursor has changed. */
  onChange: () => void
  /** Ctrl-C. */
  onInterrupt: () => void
  /** Ctrl-Z. */
  onSuspend: () => void
  /** Ctrl-L. */
  onClear: () => void
  /** Ctrl-D on an empty line, or the terminal was closed. */
  onEnd: () => void
}

/** Edits a line. Nothing is written to a terminal. */
export class Editor {
  readonly #interface: Interface

  constructor(parts: EditorParts) {
    const { input, history, complete, isKept, onLine, onChange, onInterrupt, onSuspend, onClear, onEnd } = parts
    // Readline draws its line itself, and knows nothing of the text around its line. Its output goes to a
    // stream that drops it; any output shows that the line has changed.
    const nowhere = new Writable({
      write(_chunk, _encoding, done) {
        onChange()
        done()
      },
    })
    this.#interface = createInterface({
      input,
      output: nowhere,
      terminal: true,
      prompt: "",
      history: [...history],
      historySize: HISTORY_SIZE,
      removeHistoryDuplicates: true,
      completer: complete,
    })
    this.#interface
      .on("line", onLine)
      .on("SIGINT", onInterrupt)
      .on("SIGTSTP", onSuspend)
      .on("close", onEnd)
      .on("history", (lines: string[]) => {
        if (lines[0] !== undefined && !isKept(lines[0])) lines.shift()
      })
    input.on("keypress", (_: unknown, key: Key | undefined) => {
      if (key?.ctrl === true && key.name === "l") onClear()
    })
    this.#interface.prompt()
  }

  get line(): string {
    return this.#interface.line
  }

  get cursor(): number {
    return this.#interface.cursor
  }

  /** Empties the line. */
  clear(): void {
    this.#interface.write(null, { ctrl: true, name: "e" })
    this.#interface.write(null, { ctrl: true, name: "u" })
  }

  /** Ends the editor, and releases the terminal. */
  close(): void {
    this.#interface.removeAllListeners("close").close()
  }
}
