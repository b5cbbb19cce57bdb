// A program that runs an orchestrator as `flame` does, for tests that end it from outside: the first signal stops, the second
// ends at once. It prints events as lines of JSON.

import { ClaudeDriver, Flame, type FlameOptions, type Outcome } from "callstack-flame"
import { readJson } from "./json.js"

/** What the program is told in its first argument. */
export interface Task {
  /** The goal of a new root; undefined: what was interrupted goes on. */
  goal?: string
  options: FlameOptions
  /** Where it kills itself: at the n-th new session or the n-th prompt of one, counted from 1. */
  dieAt?: { moment: "start" | "send"; count: number }
}

/** A line that the program prints besides events. */
export type Line =
  | { kind: "outcomes"; outcomes: Outcome[] }
  | { kind: "failed"; error: string }
  | { kind: "stopped" }
  | { kind: "closed" }
  | { kind: "unhandled"; error: string }

const STATUS = { SIGINT: 130, SIGTERM: 143 }

/** A driver that kills its own process at a chosen moment, as `kill -9` does. */
class DyingDriver extends ClaudeDriver {
  #left: number
  readonly #moment: string

  constructor({ options, dieAt }: Task) {
    super(options.claude)
    this.#left = dieAt?.count ?? 0
    this.#moment = dieAt?.moment ?? ""
  }

  override start(): Promise<string> {
    this.#dieAt("start")
    return super.start()
  }

  override send(sessionID: string, prompt: string): Promise<{ text: string }> {
    this.#dieAt("send")
    return super.send(sessionID, prompt)
  }

  #dieAt(moment: string): void {
    if (moment !== this.#moment) return
    this.#left -= 1
    if (this.#left === 0) process.kill(process.pid, "SIGKILL")
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
const flame = new Flame({ ...task.options, ...(task.dieAt && { driver: new DyingDriver(task) }) })
flame.on(print)
let signals = 0
for (const signal of ["SIGINT", "SIGTERM"] as const) {
  process.on(signal, () => {
    signals += 1
    if (signals > 1) process.exit(STATUS[signal])
    flame
      .stop(`it was ended by ${signal}`)
      .then(() => print({ kind: "stopped" }))
      .catch((error: unknown) => print({ kind: "failed", error: String(error) }))
  })
}
await work(flame, task)
await flame.close()
print({ kind: "closed" })
