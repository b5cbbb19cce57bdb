// A person at a terminal: pi in a real pseudo-terminal, and an emulator that shows what the person sees.

import type { TestContext } from "node:test"
import { spawn } from "@lydell/node-pty"
import xterm from "@xterm/headless"
import { PI, until, type World } from "./world.js"

/** pi at a terminal, and the person who uses the terminal. */
export interface Person {
  /** Types keys; `\r` is Enter. */
  type(keys: string): void
  /** Writes a line into the editor, and sends it. */
  write(line: string): Promise<void>
  /** Returns the lines that the person sees, without the empty ones at the end. */
  sees(): string[]
  /** Waits until the person sees something. Returns the line. */
  waitFor(wanted: RegExp): Promise<string>
  /** Waits until no line that the person sees matches. */
  waitForNo(unwanted: RegExp): Promise<void>
  /** Waits for the end of pi. Returns its exit code. */
  ended(): Promise<number>
}

/** Starts pi at a terminal in a world. It ends with the test. */
export function sitDown(test: TestContext, { path, env, words }: World, ...more: string[]): Person {
  const [cols, rows] = [110, 40]
  const screen = new xterm.Terminal({ cols, rows, scrollback: 5000, allowProposedApi: true })
  const options = { cols, rows, cwd: path, env: { ...env, TERM: "xterm-256color" } }
  const pty = spawn(process.execPath, [PI, ...words, ...more], options)
  let code: number | undefined
  pty.onData((text) => screen.write(text))
  pty.onExit(({ exitCode, signal }) => {
    code = signal ? 128 + signal : exitCode
  })
  test.after(() => {
    if (code === undefined) pty.kill("SIGKILL")
  })
  const sees = () => {
    const { active } = screen.buffer
    const lines = Array.from({ length: rows }, (_, row) =>
      (active.getLine(active.baseY + row)?.translateToString() ?? "").trimEnd(),
    )
    return lines.slice(0, lines.findLastIndex((text) => text !== "") + 1)
  }
  const waited = <T>(look: () => T | undefined | false, what: string) =>
    until(what, look).catch((cause: unknown) => {
      throw new Error(`this has not happened: ${what}; the person sees:\n${sees().join("\n")}`, { cause })
    })
  return {
    type: (keys) => pty.write(keys),
    write: async (line) => {
      const isShown = () => sees().some((text) => text.startsWith(line))
      // Keys that are typed before pi reads them are lost.
      for (let tries = 0; tries < 5 && !isShown(); tries++) {
        pty.write(line)
        await until("the editor shows the line", isShown, 5_000).catch(() => undefined)
      }
      await waited(isShown, `the editor shows ${line}`)
      pty.write("\r")
    },
    sees,
    waitFor: (wanted) => waited(() => sees().find((text) => wanted.test(text)), `the terminal shows ${wanted}`),
    waitForNo: async (unwanted) => {
      await waited(() => !sees().some((text) => unwanted.test(text)), `the terminal does not show ${unwanted}`)
    },
    ended: () => waited(() => code ?? undefined, "pi has ended").then(Number),
  }
}
