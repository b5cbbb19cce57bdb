// Stops: signals to an orchestrator with a tree of frames, and the actions of people on frames while the
// frames run or wait.

import assert from "node:assert/strict"
import { existsSync } from "node:fs"
import { join } from "node:path"
import { after, test } from "node:test"
import { setTimeout as sleep } from "node:timers/promises"
import { type Frame, Stack } from "callstack-core"
import { Flame } from "callstack-flame"
import { agent, startHost, type Work, workOf } from "./harness/hosts.js"
import {
  type Answer,
  call,
  frameOf,
  type ModelRequest,
  transcriptLines,
  until,
  type World,
  within,
} from "./harness/index.js"
import { pop, push, stack, withFlame } from "./harness/scripts.js"

const UNLIMITED = { maxConcurrent: 0 }
const unhandled: unknown[] = []
process.on("unhandledRejection", (error) => unhandled.push(error))
after(() => assert.deepEqual(unhandled, []))

/** Returns the frames of a world's stack. */
function framesOf({ folder }: World): Frame[] {
  const opened = Stack.open(join(folder, ".callstack"))
  try {
    return opened.frames()
  } finally {
    opened.close()
  }
}

test("a signal stops a tree of depth 3 without another request, words are kept, and it can be resumed", () => {
  const leaf: Work = { title: "Leaf", files: ["leaf.txt"] }
  const tree: Work = { title: "Root", children: [{ title: "Middle", children: [leaf] }] }
  let isFirst = true
  const script = (request: ModelRequest, world: World): Answer | undefined => {
    if (frameOf(request) !== "f3" || !isFirst) return agent(tree, request, world)
    isFirst = false
    return { text: "I think about the leaf.", hang: "stream" }
  }
  return within(script, async (world) => {
    const { model } = world
    const host = startHost(world, { goal: "Root" })
    await host.line((line) => line.kind === "text" && line.frame === "f3", "words of the leaf")
    const asked = model.asked.length
    // The signal goes to the whole group, as from a terminal with Ctrl-C.
    process.kill(-(host.child.pid ?? 0), "SIGINT")
    const [outcome] = await host.outcomes()
    // The process ends without a signal: nothing keeps it alive after close().
    assert.equal(await host.end, 0)
    await world.settled()
    assert.equal(model.asked.length, asked)
    assert.equal(outcome?.frame.status, "blocked")
    const failures = host.lines.filter(({ kind }) => kind === "unhandled" || kind === "failed")
    assert.deepEqual(failures, [])
    const [, , f3] = framesOf(world)
    assert.match(
      f3?.results ?? "",
      /^\[auto-completed: It was stopped: it was ended by SIGINT; .*\] I think about the leaf\.$/,
    )
    assert.ok((await transcriptLines(world, f3?.sessionID ?? "")).includes("assistant: I think about the leaf."))

    const again = startHost(world)
    const [resumed] = await again.outcomes()
    assert.equal(resumed?.frame.results, "Results of Root.")
    assert.ok(existsSync(join(world.folder, "leaf.txt")))
    assert.equal(await again.end, 0)
    await world.settled()
    assert.deepEqual(
      framesOf(world).map(({ title, status }) => [title, status]),
      [
        ["Root", "completed"],
        ["Middle", "completed"],
        ["Leaf", "completed"],
      ],
    )
  })
})

test("a second signal ends the process at once, and what its tools have started", () =>
  within(
    () => ({ calls: [call("Bash", { command: "sleep 1; echo late > late.txt" })] }),
    async (world) => {
      const host = startHost(world, { goal: "Root", options: { claude: { allowedTools: ["Bash"] } } })
      await host.line(({ kind }) => kind === "tool", "a tool")
      await sleep(300)
      host.child.kill("SIGINT")
      host.child.kill("SIGTERM")
      // Two signals at the same time may arrive in either order: the status belongs to the later one.
      assert.ok([130, 143].includes(Number(await host.end)))
      await world.settled(0, 5000)
      await sleep(1000)
      assert.ok(!existsSync(join(world.folder, "late.txt")))
    },
  ))

test("roots that wait for a person return when they are answered, popped, invalidated or stopped", () => {
  const script = (request: ModelRequest): Answer => {
    const isAnswered = /The answer: green/.test(request.lastUser)
    const results = isAnswered ? "It is green" : "Some"
    if (isAnswered) return { calls: [pop(results)] }
    const question = { status: "blocked", results, resultsCompacted: results, question: "Which colour?" }
    return { calls: [stack("frame_pop", question)] }
  }
  return withFlame(
    script,
    async ({ flame }) => {
      const [answered, popped, invalidated, stopped] = ["A", "B", "C", "D"].map((goal) => flame.run(goal))
      await until(() => flame.waiting().length === 4 && flame.status().length === 0, "all wait")
      const handleOf = (title: string) => flame.stack.frames().find((frame) => frame.title === title)?.handle ?? "none"
      await flame.answer(handleOf("A"), "green")
      await flame.pop(handleOf("B"), "completed", "A person has done it")
      flame.stack.invalidate(handleOf("C"), "not needed")
      const outcomes = await Promise.all([answered, popped, invalidated])
      assert.deepEqual(
        outcomes.map((outcome) => [outcome?.frame.status, outcome?.frame.results]),
        [
          ["completed", "It is green"],
          ["completed", "A person has done it"],
          ["invalidated", "Some"],
        ],
      )
      await assert.rejects(flame.answer(handleOf("B"), "red"), /waits for no answer/)
      await flame.stop()
      const outcome = await stopped
      assert.deepEqual(
        [outcome?.frame.status, outcome?.waiting.map(({ question }) => question)],
        ["blocked", ["Which colour?"]],
      )
    },
    UNLIMITED,
  )
})

test("frames that run are stopped, popped and invalidated one by one, and their parent goes on", () => {
  const titles = ["Stopped", "Popped", "Invalidated"]
  const tree: Work = { title: "Root", children: titles.map((title) => ({ title })) }
  const script = (request: ModelRequest): Answer => {
    if (workOf(tree, request)?.title !== "Root") return { text: "I work.", hang: "stream" }
    if (request.results.length === 0) return { calls: titles.map((title) => push(title)) }
    return { calls: [pop("I went on")] }
  }
  return withFlame(
    script,
    async ({ flame, world: { model } }) => {
      const words = new Set<string>()
      flame.on((event) => {
        if (event.kind === "text") words.add(event.frame)
      })
      const running = flame.run("Root")
      await until(() => words.size === 3, "all children work")
      const handleOf = (title: string) => flame.stack.frames().find((frame) => frame.title === title)?.handle ?? "none"
      await assert.rejects(flame.answer(handleOf("Stopped"), "yes"), /waits for no answer/)
      await flame.stop("enough", handleOf("Stopped"))
      await flame.pop(handleOf("Popped"), "completed", "A person has done it")
      flame.stack.invalidate(handleOf("Invalidated"), "not needed")
      const { frame } = await running
      assert.equal(frame.results, "I went on")
      const results =
        model.asked
          .at(-1)
          ?.results.map(({ text }) => text)
          .join("\n") ?? ""
      assert.match(
        results,
        /\(Stopped\) is blocked\.\nResults so far: \[auto-completed: It was stopped: enough; .*\] I work\./,
      )
      assert.match(results, /\(Popped\) is completed\.\nResults: A person has done it/)
      assert.match(results, /\(Invalidated\) is invalidated\./)
      assert.equal(model.asked.length, 5)
    },
    UNLIMITED,
  )
})

test("a stop during a summary asks for no other one", () => {
  const script = ({ lastUser }: ModelRequest): Answer =>
    /^Your work on this frame has ended/m.test(lastUser) ? { hang: "headers" } : { text: "I stop here." }
  return withFlame(
    script,
    async ({ flame, world: { model } }) => {
      const running = flame.run("Root")
      await model.waitFor(({ number }) => number === 2)
      await Promise.all([flame.stop("first"), flame.stop("second")])
      const { frame } = await running
      assert.equal(frame.status, "blocked")
      assert.equal(model.asked.length, 2)
    },
    UNLIMITED,
  )
})

test("stop() and close() at any time end what runs, and nothing begins after them", () => {
  const script = () => ({ hang: "headers" as const })
  return within(script, async (world) => {
    const make = () => new Flame({ directory: world.folder, model: "claude-sonnet-5" })
    const begun = (flame: Flame) =>
      new Promise<void>((resolve) => flame.on(({ kind }) => kind === "begun" && resolve()))

    // Before the SDK is loaded.
    const first = make()
    const early = first.run("One")
    const rejected = assert.rejects(early, /this orchestrator is closed/)
    await Promise.all([first.close(), first.close()])
    await rejected
    await assert.rejects(first.run("Two"), /this orchestrator is closed; make a new one/)

    const second = make()
    const stoppedEarly = second.run("Three")
    await second.stop()
    assert.equal((await stoppedEarly).frame.status, "planned")
    // Before the process of the session is ready.
    const running = second.run("Four")
    await begun(second)
    await second.stop("at once")
    assert.equal((await running).frame.status, "blocked")
    assert.deepEqual(second.status(), [])

    // While the model is asked.
    const resumed = second.resume()
    await world.model.waitFor(() => true)
    await second.close()
    assert.deepEqual(
      (await resumed).map(({ frame }) => frame.status),
      ["blocked"],
    )
    assert.equal(world.model.asked.length, 1)
    await world.settled()
  })
})
