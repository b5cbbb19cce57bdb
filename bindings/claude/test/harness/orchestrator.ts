// A program that runs an orchestrator like `flame`, for tests that end it from outside: the first signal
// stops it, the second ends it at once. It prints events as lines of JSON.

import { ClaudeDriver, type ClaudeOptions, Flame, type FlameOptions, type Outcome } from "callstack-flame"
import { readJson } from "./json.js"

/** The data in the program's first argument. */
export interface Task {
  /** The goal of a new root; undefined: everything that was interrupted resumes. */
  goal?: string
  options: FlameOptions
  /**
   * Where it kills itself, like `kill -9`: at the n-th new session, prompt of a session, or end of a frame,
   * counted from 1.
   */
  dieAt?: { moment: "start" | "send" | "ended"; count: number }
}

/** A line that the program prints in addition to events. */
export type Line =
  | { kind: "outcomes"; outcomes: Outcome[] }
  | { kind: "failed"; error: string }
  | { kind: "stopped" }
  | { kind: "closed" }
  | { kind: "unhandled"; error: string }

const STATUS = { SIGINT: 130, SIGTERM: 143 }

/** Kills this process when a moment has occurred this number of times. */
class Death {
  #left: number
  readonly #moment: string | undefined

  constructor({ dieAt }: Task) {
    this.#moment = dieAt?.moment
    this.#left = dieAt?.count ?? 0
  }

  at(moment: string): void {
    if (moment !== this.#moment) return
    this.#left -= 1
    if (this.#left === 0) process.kill(process.pid, "SIGKILL")
  }
}

/** A driver that reports its moments before they occur. */
class MortalDriver extends ClaudeDriver {
  readonly #death: Death

  constructor(death: Death, options: ClaudeOptions = {}) {
    super(options)
    this.#death = death
  }

  override start(): Promise<string> {
    this.#death.at("start")
    return super.start()
  }

  override send(sessionID: string, prompt: string): Promise<void> {
    this.#death.at("send")
    return super.send(sessionID, prompt)
  }
}

function print(line: object): void {
  console.log(JSON.stringify(line))
}

async function work(flame: Flame, { goal }: Task): Promise<void> {
  try {
    const outcomes = goal === undefined ? await flame.resume() : [await flame.run(goal)]
    print({ kind: "outcomes", outcomes })
  } catch (error) {
    print({ kind: "failed", error: error instanceof Error ? error.message : String(error) })
  }
}

const task = readJson<Task>(process.argv[2] ?? "")
process.on("unhandledRejection", (error) => print({ kind: "unhandled", error: String(error) }))
process.on("uncaughtException", (error) => print({ kind: "unhandled", error: String(error.stack) }))
const death = new Death(task)
const flame = new Flame({ ...task.options, driver: new MortalDriver(death, task.options.claude) })
flame.on(print)
flame.on(({ kind }) => death.at(kind))
let signals = 0
for (const signal of ["SIGINT", "SIGTERM"] as const) {
  process.on(signal, () => {
    signals += 1
    if (signals > 1) process.exit(STATUS[signal])
    flame
      .stop(`it was ended by ${signal}`)
      .then(() => print({ kind: "stopped" }))
      .catch((error: unknown) => print({ kind: "failed", error: String(error) }))
      .then(() => flame.close())
      .catch((error: unknown) => print({ kind: "failed", error: String(error) }))
  })
}
await work(flame, task)
await flame.close().catch((error: unknown) => print({ kind: "failed", error: String(error) }))
print({ kind: "closed" })
