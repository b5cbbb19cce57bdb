// A person at a terminal: the program `flame` in a real pseudo-terminal, and an emulator that shows what the person sees.

import { type ChildProcessWithoutNullStreams, spawn as spawnChild } from "node:child_process"
import { once } from "node:events"
import { readFileSync } from "node:fs"
import { join } from "node:path"
import { type IPty, spawn } from "@lydell/node-pty"
import xterm from "@xterm/headless"
import type { Ended } from "./programs.js"
import { until, type World } from "./world.js"

/** The program, as `npm run build` makes it. */
export const FLAME = join(import.meta.dirname, "../../../dist/program/main.js")

/** A program at a terminal, and the person who uses the terminal. */
export interface Person {
  /** Types keys; `\r` is Enter. */
  type(keys: string): void
  /** Returns the lines that the person sees, without the empty ones at the end. */
  sees(): string[]
  /** Returns all lines since the program began. */
  all(): string[]
  /** Waits until the person sees something. Returns the line. */
  waitFor(wanted: RegExp, milliseconds?: number): Promise<string>
  /** Waits until the lowest line, the prompt, matches. */
  prompt(wanted: RegExp, milliseconds?: number): Promise<string>
  /** Returns the column and the row of the cursor. */
  cursor(): { column: number; row: number }
  resize(columns: number, rows: number): void
  /** Everything that the program has written. */
  written(): string
  /** Waits for the end of the program. Returns its exit code. */
  ended(milliseconds?: number): Promise<number>
  kill(signal: string): void
}

/** Starts the program, or another one, at a terminal, in the project of a world. */
export function sitDown(
  world: World,
  words: readonly string[],
  { env = {}, program }: { env?: Record<string, string>; program?: string } = {},
): Person {
  const [columns, rows] = [80, 24]
  const screen = new xterm.Terminal({ cols: columns, rows, scrollback: 5000, allowProposedApi: true })
  const options = { cols: columns, rows, cwd: world.folder, env: { ...world.env, TERM: "xterm-256color", ...env } }
  const pty: IPty = spawn(program ?? process.execPath, program === undefined ? [FLAME, ...words] : [...words], options)
  let written = ""
  let code: number | undefined
  pty.onData((text) => {
    written += text
    screen.write(text)
  })
  pty.onExit(({ exitCode, signal }) => {
    code = signal ? 128 + signal : exitCode
  })

  function lines(from: number, to: number): string[] {
    const { active } = screen.buffer
    const found = Array.from({ length: to - from }, (_, index) =>
      (active.getLine(from + index)?.translateToString() ?? "").trimEnd(),
    )
    return found.slice(0, found.findLastIndex((text) => text !== "") + 1)
  }
  const sees = () => lines(screen.buffer.active.baseY, screen.buffer.active.baseY + screen.rows)
  const all = () => lines(0, screen.buffer.active.length)
  const waited = (look: () => string | undefined, wanted: RegExp, milliseconds?: number) =>
    until(look, `the terminal shows ${wanted}`, milliseconds).catch((cause: unknown) => {
      throw new Error(`the terminal does not show ${wanted}, but:\n${sees().join("\n")}`, { cause })
    })

  return {
    type: (keys) => pty.write(keys),
    sees,
    all,
    waitFor: (wanted, milliseconds) => waited(() => all().find((text) => wanted.test(text)), wanted, milliseconds),
    prompt: (wanted, milliseconds) =>
      waited(() => [sees().at(-1) ?? ""].find((text) => wanted.test(text)), wanted, milliseconds),
    cursor: () => ({ column: screen.buffer.active.cursorX, row: screen.buffer.active.cursorY }),
    resize: (newColumns, newRows) => {
      screen.resize(newColumns, newRows)
      pty.resize(newColumns, newRows)
    },
    written: () => written,
    ended: async (milliseconds) => {
      await waitedForEnd(milliseconds)
      return code ?? -1
    },
    kill: (signal) => pty.kill(signal),
  }

  async function waitedForEnd(milliseconds = 20_000): Promise<void> {
    await until(() => code !== undefined, "the program has ended", milliseconds).catch((cause: unknown) => {
      throw new Error(`the program has not ended; the terminal shows:\n${sees().join("\n")}`, { cause })
    })
  }
}

/** Returns the IDs of the processes that run sessions. */
export function sessionsOf(world: World): number[] {
  const words = (id: number) => {
    try {
      return readFileSync(`/proc/${id}/cmdline`, "latin1").split("\0")
    } catch {
      // The process has ended meanwhile.
      return []
    }
  }
  return world.processes().filter((id) => words(id).some((word) => /^--(resume|session-id)/.test(word)))
}

/** How to run the program without a terminal. */
export interface RunOptions {
  env?: Record<string, string>
  /** What it reads from its standard input. */
  input?: string
  /** Called while the program runs. `output` returns what it has written so far. */
  meanwhile?: (child: ChildProcessWithoutNullStreams, output: () => string) => void | Promise<void>
  /** The file of the program. Default: the program as it is built. */
  program?: string
}

/** Runs the program without a terminal, in the project of a world, until it ends. */
export async function flame(
  world: Pick<World, "folder" | "env">,
  words: readonly string[],
  { env = {}, input = "", meanwhile, program = FLAME }: RunOptions = {},
): Promise<Ended> {
  const child = spawnChild(process.execPath, [program, ...words], {
    cwd: world.folder,
    env: { ...world.env, ...env },
    timeout: 60_000,
  })
  let stdout = ""
  let stderr = ""
  child.stdout.setEncoding("utf8").on("data", (text: string) => {
    stdout += text
  })
  child.stderr.setEncoding("utf8").on("data", (text: string) => {
    stderr += text
  })
  const closed = once(child, "close")
  child.stdin.end(input)
  await meanwhile?.(child, () => stdout)
  const [code] = await closed
  return { code: typeof code === "number" ? code : -1, stdout, stderr }
}
