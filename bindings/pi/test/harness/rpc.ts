// pi in its mode for programs: commands in, events out, one JSON text in each line.

import { spawn } from "node:child_process"
import type { TestContext } from "node:test"
import { PI, until, type World } from "./world.js"

/** An event of pi, or its answer to a command. */
export interface PiEvent {
  type: string
  [key: string]: unknown
}

/** A running pi. */
export interface Rpc {
  /** All events so far. */
  events: PiEvent[]
  /** Sends a command and returns the data of the answer. */
  send(command: { type: string; [key: string]: unknown }): Promise<Record<string, unknown>>
  /** Writes to the agent, and waits until it has ended its work. */
  prompt(text: string): Promise<void>
  /** Types a slash command, and returns what the person sees. */
  type(command: string): Promise<{ level: string; text: string }>
  /** The text of the status line; undefined if there is no status line. */
  status(): string | undefined
  /** The text that pi has written for people, such as errors of extensions. */
  errors(): string
  /** Ends pi. Default: as its terminal would end it. */
  stop(signal?: NodeJS.Signals): Promise<void>
}

/** Starts pi in a world. It ends with the test. */
export function serve(test: TestContext, { path, env, words }: World, ...more: string[]): Rpc {
  const child = spawn(process.execPath, [PI, ...words, "--mode", "rpc", ...more], { cwd: path, env })
  const events: PiEvent[] = []
  let [rest, errors, ids, hasEnded] = ["", "", 0, false]
  child.stdout.on("data", (chunk: Buffer) => {
    const lines = (rest + chunk.toString()).split("\n")
    rest = lines.pop() ?? ""
    events.push(...lines.filter((line) => line !== "").map((line) => JSON.parse(line) as PiEvent))
  })
  child.stderr.on("data", (chunk: Buffer) => {
    errors += chunk.toString()
  })
  child.on("close", () => {
    hasEnded = true
  })
  const find = async (what: string, wanted: (event: PiEvent) => boolean, from = 0) =>
    until(what, () => {
      if (hasEnded) throw new Error(`pi has ended before this has happened: ${what}\n${errors}`)
      return events.slice(from).find(wanted)
    })
  const send: Rpc["send"] = async (command) => {
    const id = `test-${++ids}`
    child.stdin.write(`${JSON.stringify({ id, ...command })}\n`)
    const { success, error, data } = await find(`an answer to ${command.type}`, (event) => event["id"] === id)
    if (success !== true) throw new Error(`${command.type}: ${String(error)}`)
    return (data ?? {}) as Record<string, unknown>
  }
  const stop = async (signal: NodeJS.Signals = "SIGTERM") => {
    child.kill(signal)
    await until("pi has ended", () => hasEnded)
  }
  test.after(() => stop())
  return {
    events,
    send,
    stop,
    errors: () => errors,
    prompt: async (text) => {
      const from = events.length
      await send({ type: "prompt", message: text })
      await find("the agent has ended its work", ({ type }) => type === "agent_end", from)
      await until("pi is idle", async () => (await send({ type: "get_state" }))["isStreaming"] === false)
    },
    type: async (command) => {
      const from = events.length
      await send({ type: "prompt", message: command })
      const isNotice = (event: PiEvent) => event["method"] === "notify"
      const notice = await find(`an answer to ${command}`, isNotice, from)
      return { level: String(notice["notifyType"]), text: String(notice["message"]) }
    },
    status: () => {
      const newest = events.findLast((event) => event["method"] === "setStatus" && event["statusKey"] === "callstack")
      return newest?.["statusText"] as string | undefined
    },
  }
}
