// A person at a terminal: a program in a real pseudo-terminal, and an emulator that shows what the person sees.

import { spawn } from "@lydell/node-pty"
import xterm from "@xterm/headless"

/** How long a person waits for something, in milliseconds. */
const PATIENCE = 60_000

/**
 * `lines()` and `waitFor(pattern)` are what a person sees. `type(keys)` is what the person types; `\r` is
 * Enter. `ended()` is the exit code.
 */
export class Terminal {
  #pty
  #code

  constructor([program, ...words], { cwd, env, cols = 100, rows = 30 }) {
    this.screen = new xterm.Terminal({ cols, rows, scrollback: 0, allowProposedApi: true })
    this.#pty = spawn(program, words, {
      cols,
      rows,
      cwd,
      env: { ...env, TERM: "xterm-256color", COLORTERM: "truecolor" },
    })
    this.#pty.onData((text) => this.screen.write(text))
    // Programs ask where the cursor is, and which functions the terminal has.
    this.screen.onData((answer) => this.#pty.write(answer))
    this.#pty.onExit(({ exitCode, signal }) => {
      this.#code = signal ? 128 + signal : exitCode
    })
  }

  /** The lines of the screen, without the blanks at their ends. */
  lines() {
    const { active } = this.screen.buffer
    const text = (row) =>
      active
        .getLine(active.baseY + row)
        ?.translateToString()
        .trimEnd() ?? ""
    return Array.from({ length: this.screen.rows }, (_, row) => text(row))
  }

  type(keys) {
    this.#pty.write(keys)
  }

  /** Waits until a line matches the pattern. */
  waitFor(pattern) {
    return this.#wait(() => this.lines().some((line) => pattern.test(line)), `the terminal shows ${pattern}`)
  }

  /** Waits for the end of the program. Returns its exit code. */
  async ended() {
    await this.#wait(() => this.#code !== undefined, "the program has ended")
    return this.#code
  }

  /** Ends the program, if it has not ended. */
  close(signal = "SIGKILL") {
    if (this.#code === undefined) this.#pty.kill(signal)
  }

  async #wait(look, what) {
    for (const end = Date.now() + PATIENCE; !look(); await new Promise((ok) => setTimeout(ok, 25)))
      if (Date.now() > end) throw new Error(`this has not happened: ${what}. The screen:\n${this.lines().join("\n")}`)
  }
}
