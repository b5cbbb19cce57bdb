// The orchestrator with a driver of its own: what a driver may do wrong or late, and what is told of its sessions.

import assert from "node:assert/strict"
import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import test from "node:test"
import { setImmediate } from "node:timers/promises"
import { Stack } from "callstack-core"
import {
  Flame,
  type FlameEvent,
  type FlameOptions,
  type SessionDriver,
  type SessionOwner,
  type Summary,
  type TurnEnd,
} from "callstack-flame"

/** A driver whose sessions answer by a function. They say nothing else and call no tools. */
class ScriptedDriver implements SessionDriver {
  readonly toolPrefix = ""
  readonly defaultTools = []
  /** The prompts so far. */
  readonly prompts: string[] = []
  /** Is called before a session is interrupted. */
  interrupting: () => void = () => undefined
  /** Answers when a session is asked for a summary. */
  summary: () => Promise<Summary | undefined> = () => Promise.resolve(undefined)
  #sessions = 0
  readonly #answer: (prompt: string, number: number) => string | undefined
  readonly #ends = new Map<string, () => void>()

  /** `answer` gets each prompt and its number, from 1. Without an answer the session works until it is interrupted. */
  constructor(answer: (prompt: string, number: number) => string | undefined) {
    this.#answer = answer
  }

  open(): Promise<void> {
    return Promise.resolve()
  }

  isOwn(sessionID: string): boolean {
    return sessionID.startsWith("scripted-")
  }

  start(): Promise<string> {
    this.#sessions += 1
    return Promise.resolve(`scripted-${this.#sessions}`)
  }

  send(sessionID: string, prompt: string): Promise<TurnEnd> {
    const text = this.#answer(prompt, this.prompts.push(prompt))
    if (text !== undefined) return Promise.resolve({ text })
    return new Promise((resolve) => this.#ends.set(sessionID, () => resolve({ text: "Interrupted" })))
  }

  interrupt(sessionID: string): Promise<void> {
    this.interrupting()
    this.#ends.get(sessionID)?.()
    return Promise.resolve()
  }

  messages(): Promise<[]> {
    return Promise.resolve([])
  }

  compact(): Promise<boolean> {
    return Promise.resolve(false)
  }

  summarize(): Promise<Summary | undefined> {
    return this.summary()
  }

  close(): Promise<void> {
    return Promise.resolve()
  }
}

/** Uses an orchestrator with a driver in a new folder. */
async function withDriver(
  driver: SessionDriver,
  use: (flame: Flame, events: FlameEvent[], directory: string) => Promise<void>,
  options: FlameOptions = {},
): Promise<void> {
  const directory = mkdtempSync(join(tmpdir(), "flame-driver-"))
  const flame = new Flame({ directory, driver, waitForAnswers: false, ...options })
  const events: FlameEvent[] = []
  flame.on((event) => events.push(event))
  try {
    await use(flame, events, directory)
  } finally {
    await flame.close()
    rmSync(directory, { recursive: true })
  }
}

/** The warnings in the log. */
function warningsOf(events: readonly FlameEvent[]): string[] {
  return events.flatMap((event) => (event.kind === "log" && event.level === "warn" ? [event.message] : []))
}

test("a driver that could not be opened is opened again by the next call, and then never again", () => {
  let openings = 0
  class LateDriver extends ScriptedDriver {
    override open(): Promise<void> {
      openings += 1
      return openings === 1 ? Promise.reject(new Error("not installed yet")) : Promise.resolve()
    }
  }
  return withDriver(new LateDriver(() => "FRAME_COMPLETE: It works"), async (flame) => {
    await assert.rejects(flame.run("Early"), /not installed yet/)
    const { frame } = await flame.run("Late")
    assert.equal(frame.results, "It works")
    await flame.run("Later")
    assert.equal(openings, 2)
  })
})

test("a text that always begins a frame that is refused gets the refusal once", () => {
  const driver = new ScriptedDriver((_, number) => (number > 10 ? "Enough" : "PUSH_FRAME: Go deeper"))
  return withDriver(
    driver,
    async (flame, events) => {
      const { frame } = await flame.run("Top")
      assert.equal(frame.status, "blocked")
      assert.equal(driver.prompts.length, 2)
      assert.match(driver.prompts[1] ?? "", /depth|deep/)
      assert.equal(flame.stack.frames().length, 1)
      assert.ok(warningsOf(events).some((message) => message.includes("begins frames that are refused")))
    },
    { maxDepth: 0 },
  )
})

test("a text that always begins a frame begins at most 20 of them", () => {
  const driver = new ScriptedDriver((prompt) =>
    /Part/.test(prompt) && !/Top/.test(prompt) && !/^f\d+ /.test(prompt) ? "FRAME_COMPLETE: Done" : "PUSH_FRAME: Part",
  )
  return withDriver(driver, async (flame, events) => {
    const { frame } = await flame.run("Top")
    assert.equal(frame.status, "blocked")
    assert.equal(flame.stack.frames({ relation: "children", frame: frame.handle }).length, 20)
    assert.ok(warningsOf(events).some((message) => message.includes("has begun frames 20 times")))
  })
})

test("a turn that begins while others are interrupted is interrupted too", () => {
  let interrupts = 0
  let flame: Flame | undefined
  let second: ReturnType<Flame["run"]> | undefined
  class BusyDriver extends ScriptedDriver {
    override async interrupt(sessionID: string): Promise<void> {
      interrupts += 1
      // The engine asks for the first one, and the stop for the second: then another turn begins before this one ends.
      if (interrupts === 1) return
      second ??= flame?.run("Two")
      while (this.prompts.length < 2) await setImmediate()
      await super.interrupt(sessionID)
    }
  }
  return withDriver(new BusyDriver(() => undefined), async (made) => {
    flame = made
    const begun = new Promise<void>((resolve) => made.on(({ kind }) => kind === "begun" && resolve()))
    const first = made.run("One")
    await begun
    await made.stop()
    assert.deepEqual(made.status(), [])
    assert.equal((await first).frame.status, "blocked")
    assert.equal((await second)?.frame.status, "blocked")
  })
})

test("a session that is summarized is told as working, and a stop waits for it", () => {
  const driver = new ScriptedDriver(() => "I stop here")
  return withDriver(driver, async (flame) => {
    let end: (summary: undefined) => void = () => undefined
    const asked = new Promise<void>((resolve) => {
      driver.summary = () => {
        resolve()
        return new Promise((settle) => {
          end = settle
        })
      }
    })
    const running = flame.run("One")
    await asked
    assert.deepEqual(
      flame.status().map(({ title }) => title),
      ["One"],
    )
    const order: string[] = []
    driver.interrupting = () => {
      setTimeout(() => {
        order.push("summary")
        end(undefined)
      }, 50)
    }
    await flame.stop()
    order.push("stopped")
    assert.deepEqual(order, ["summary", "stopped"])
    assert.deepEqual(flame.status(), [])
    assert.equal((await running).frame.status, "blocked")
  })
})

/** What a driver does about a request. */
type Step = "report" | "cost"

/** A driver that does these things in its turns. Each turn has one request, which costs $0.10. */
class PaidDriver extends ScriptedDriver {
  readonly #turns: readonly (readonly Step[])[]
  #owner: SessionOwner | undefined

  constructor(turns: readonly (readonly Step[])[]) {
    super(() => "FRAME_COMPLETE: Paid")
    this.#turns = turns
  }

  override open(owner?: SessionOwner): Promise<void> {
    this.#owner = owner
    return Promise.resolve()
  }

  override async send(sessionID: string, prompt: string): Promise<TurnEnd> {
    const owner = this.#owner
    const request = { model: "scripted", output: 1000 }
    for (const step of this.#turns[this.prompts.length] ?? []) {
      if (step === "cost") owner?.tell(sessionID, { kind: "cost", session: sessionID, costUsd: 0.1 })
      else await owner?.report({ kind: "message", sessionID, messageID: "m1", role: "assistant", text: "", request })
    }
    return super.send(sessionID, prompt)
  }
}

const ORDERS: Step[][] = [["report", "cost"], ["report"]]
for (const order of ORDERS) {
  test(`a request costs once: ${order.join(", ")}`, () =>
    // The first turn shows what a token costs, by which later ones can be estimated.
    withDriver(new PaidDriver([["report", "cost"], order]), async (flame) => {
      await flame.run("First")
      const { frame } = await flame.run("Second", { maxBudgetUsd: 0.15 })
      assert.equal(frame.results, "Paid")
      const costs = ["f1", "f2"].map((handle) => flame.usage(handle).ownCostUsd)
      assert.deepEqual(costs, [0.1, 0.1])
    }))
}

test("an estimate over the budget stops a frame", () =>
  withDriver(new PaidDriver([["report", "cost"], ["report"]]), async (flame) => {
    await flame.run("First")
    const { frame } = await flame.run("Second", { maxBudgetUsd: 0.05 })
    assert.match(frame.results ?? "", /its budget of 0.05 US dollars is spent/)
  }))

test("what other processes have changed is shown at once, and a second resume goes on with it", () => {
  const driver = new ScriptedDriver((prompt) =>
    /green/.test(prompt) ? "FRAME_COMPLETE: It is green" : "FRAME_BLOCKED: Which colour?",
  )
  return withDriver(driver, async (flame, _, directory) => {
    const { frame } = await flame.run("Paint")
    assert.deepEqual(await flame.resume().then((outcomes) => outcomes.length), 1)
    const other = Stack.open(join(directory, ".callstack"))
    try {
      assert.deepEqual(flame.waiting(), [{ frame: frame.handle, question: "Which colour?" }])
      const planned = other.plan({ title: "Later", successCriteria: "Later", parent: null })
      assert.match(flame.tree(), /Later/)
      other.invalidate(planned, "not needed")
      const { handle } = frame
      const second = other.plan({ title: "Second", successCriteria: "Second", parent: null })
      assert.equal(flame.usage(second).totalCostUsd, 0)
      other.answer(handle, "green")
      assert.deepEqual(flame.waiting(), [])
      const [outcome] = await flame.resume()
      assert.equal(outcome?.frame.results, "It is green")
    } finally {
      other.close()
    }
  })
})
