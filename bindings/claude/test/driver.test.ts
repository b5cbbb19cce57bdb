// The orchestrator with a driver of its own: faults and delays of a driver, and the reports about its
// sessions.

import assert from "node:assert/strict"
import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import test from "node:test"
import { setImmediate } from "node:timers/promises"
import { type PopStatus, Stack } from "callstack-core"
import {
  Flame,
  type FlameEvent,
  type FlameOptions,
  type SessionDriver,
  type SessionOwner,
  type Summary,
} from "callstack-flame"

/** How a turn ends: with a pop, or only with words. */
type End = { status: PopStatus; results: string } | "words"

const completed = (results: string): End => ({ status: "completed", results })

/** A driver whose sessions do what a function says. */
class ScriptedDriver implements SessionDriver {
  readonly toolPrefix = ""
  readonly defaultTools = []
  /** The prompts so far. */
  readonly prompts: string[] = []
  /** Called before a session is interrupted. */
  interrupting: () => void = () => undefined
  /** Answers when a session is asked for a summary. */
  summary: () => Promise<Summary | undefined> = () => Promise.resolve(undefined)
  #sessions = 0
  readonly #answer: (prompt: string, number: number) => End | undefined
  readonly #ends = new Map<string, () => void>()

  protected owner: SessionOwner | undefined

  /** `answer` gets each prompt and its number, from 1. Without an answer the session works until it is interrupted. */
  constructor(answer: (prompt: string, number: number) => End | undefined) {
    this.#answer = answer
  }

  open(owner?: SessionOwner): Promise<void> {
    this.owner = owner
    return Promise.resolve()
  }

  isOwn(sessionID: string): boolean {
    return sessionID.startsWith("scripted-")
  }

  start(): Promise<string> {
    this.#sessions += 1
    return Promise.resolve(`scripted-${this.#sessions}`)
  }

  async send(sessionID: string, prompt: string): Promise<void> {
    const end = this.#answer(prompt, this.prompts.push(prompt))
    if (end === undefined) return new Promise((resolve) => this.#ends.set(sessionID, resolve))
    // An agent that was stopped makes no more calls.
    if (end === "words" || this.owner?.isWorking(sessionID) === false) return
    const question = end.status === "blocked" ? { question: end.results } : {}
    const args = { ...end, ...question, resultsCompacted: end.results }
    await this.owner?.tool(sessionID, "stack_frame_pop", args, new AbortController().signal)
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

test("a driver that could not be opened is opened again by the next call, and then never again", () => {
  let openings = 0
  class LateDriver extends ScriptedDriver {
    override open(owner?: SessionOwner): Promise<void> {
      openings += 1
      return openings === 1 ? Promise.reject(new Error("not installed yet")) : super.open(owner)
    }
  }
  return withDriver(new LateDriver(() => completed("It works")), async (flame) => {
    await assert.rejects(flame.run("Early"), /not installed yet/)
    const { frame } = await flame.run("Late")
    assert.equal(frame.results, "It works")
    await flame.run("Later")
    assert.equal(openings, 2)
  })
})

test("a turn that begins while others are interrupted is interrupted too", () => {
  let interrupts = 0
  let flame: Flame | undefined
  let second: ReturnType<Flame["run"]> | undefined
  class BusyDriver extends ScriptedDriver {
    override async interrupt(sessionID: string): Promise<void> {
      interrupts += 1
      // The engine asks for the first interruption, and the stop asks for the second: then another turn
      // begins before this turn ends.
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
  const driver = new ScriptedDriver(() => "words")
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

/** The reports of a driver about a request. */
type Step = "report" | "cost"

/** A driver that makes these reports in its turns. Each turn has one request, which costs $0.10. */
class PaidDriver extends ScriptedDriver {
  readonly #turns: readonly (readonly Step[])[]

  constructor(turns: readonly (readonly Step[])[]) {
    super(() => completed("Paid"))
    this.#turns = turns
  }

  override async send(sessionID: string, prompt: string): Promise<void> {
    const { owner } = this
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
    // The first turn shows what a token costs. Later turns can be estimated by this price.
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
    /green/.test(prompt) ? completed("It is green") : { status: "blocked", results: "Which colour?" },
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
