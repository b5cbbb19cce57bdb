// The driver for OpenCode: the real server with the bridge in it, and a scripted model.

import assert from "node:assert/strict"
import { readFileSync } from "node:fs"
import { join } from "node:path"
import { test } from "node:test"
import { Flame, type FlameEvent, type FlameOptions, OpenCodeDriver, type OpenCodeOptions } from "callstack-flame"
import { type Answer, call, frameOf, type ModelRequest, until, type World, within } from "./harness/index.js"
import { openCodeIn } from "./harness/opencode.js"

type Step = Answer | ((request: ModelRequest) => Answer | Promise<Answer>)
type Steps = Record<string, Step[]>

interface Scenario {
  flame: Flame
  world: World
  events: FlameEvent[]
  /** Returns the requests of a frame. */
  asked: (frame: string) => ModelRequest[]
}

const push = (title: string, more: object = {}) =>
  call("stack_frame_push", { title, successCriteria: `${title} works`, successCriteriaCompacted: title, ...more })
const pop = (results: string, more: object = {}) =>
  call("stack_frame_pop", { status: "completed", results, resultsCompacted: results, ...more })

/** A script by frame: the answers of each, in order. */
function byFrame(steps: Steps) {
  const left = new Map(Object.entries(steps).map(([frame, answers]) => [frame, [...answers]]))
  return (request: ModelRequest): Answer | Promise<Answer> => {
    const answer = left.get(frameOf(request) ?? "no context")?.shift()
    if (answer === undefined) throw new Error(`frame ${frameOf(request)} has asked once more: ${request.lastUser}`)
    return typeof answer === "function" ? answer(request) : answer
  }
}

/** How long a server may take to start and to ask, in milliseconds. */
const LIMIT = 60_000

/** The answer of a model that is still thinking when its request is aborted. */
const endless: Answer = { text: "I begin.", hang: "stream" }

type Options = Omit<FlameOptions, "driver"> & { driver?: OpenCodeOptions }

/** Makes an orchestrator on OpenCode in a world. */
function flameIn(world: World, { driver = {}, ...options }: Options = {}): Flame {
  const { config, ...opencode } = openCodeIn(world)
  const all = { ...opencode, ...driver, config: { ...config, ...driver.config } }
  return new Flame({ directory: world.folder, driver: new OpenCodeDriver(all), ...options })
}

/** Runs an orchestrator on OpenCode, and checks that no process is left. */
function scenario(steps: Steps, use: (scenario: Scenario) => Promise<void>, options: Options = {}): Promise<void> {
  return within(byFrame(steps), async (world) => {
    const flame = flameIn(world, options)
    const events: FlameEvent[] = []
    flame.on((event) => events.push(event))
    const asked = (frame: string) => world.model.asked.filter((request) => frameOf(request) === frame)
    try {
      await use({ flame, world, events, asked })
    } finally {
      await flame.close()
    }
    await world.settled()
  })
}

const of = <Kind extends FlameEvent["kind"]>(events: FlameEvent[], kind: Kind) =>
  events.filter((event): event is Extract<FlameEvent, { kind: Kind }> => event.kind === kind)

test("a root pushes a child, the child writes a file and pops, and the root pops with its results", () =>
  scenario(
    {
      f1: [
        { text: "First the login.", calls: [push("JWT login")] },
        (request) => {
          assert.match(
            request.news[0]?.text ?? "",
            /^f2 \(JWT login\) is completed\.\nResults: bcrypt in auth\.ts\nArtifacts: auth\.ts/,
          )
          return { calls: [pop("The API is built")] }
        },
      ],
      f2: [
        { calls: [call("write", { filePath: "auth.ts", content: "// login\n" })] },
        { calls: [call("read", { filePath: "/etc/hosts" })] },
        (request) => {
          assert.match(request.news[0]?.text ?? "", /Nobody can be asked for the permission external_directory/)
          return { calls: [pop("bcrypt in auth.ts")] }
        },
      ],
    },
    async ({ flame, world, events, asked }) => {
      const { frame } = await flame.run("Build an API with a login")
      assert.deepEqual([frame.status, frame.results], ["completed", "The API is built"])
      assert.equal(readFileSync(join(world.folder, "auth.ts"), "utf8"), "// login\n")
      assert.deepEqual(flame.stack.frame("f2").artifacts, ["auth.ts"])

      assert.equal(world.model.asked.length, 5, "nothing is asked after a pop, and no titles")
      const [first] = asked("f2")
      assert.equal(first?.systemBlocks.filter((text) => text.includes("<stack-context")).length, 1)
      assert.match(first?.system ?? "", /<ancestors count="1">\n<frame id="f1"/)
      assert.match(first?.messages.at(-1)?.text ?? "", /<stack-now>[\s\S]*<current-frame id="f2"/)
      assert.match(first?.messages[0]?.text ?? "", /^Your task is frame f2: JWT login\n/)
      assert.match(asked("f1")[1]?.system ?? "", /<stack-context/)
      const offered = ["apply_patch", "bash", "edit", "glob", "grep", "read", "write"]
      for (const { tools } of world.model.asked) {
        const own = tools.filter((name) => !name.startsWith("stack_"))
        assert.deepEqual(
          own.filter((name) => !offered.includes(name)),
          [],
        )
        assert.ok(tools.includes("stack_frame_push") && tools.includes("write"))
      }

      assert.equal(
        of(events, "text")
          .map(({ text }) => text)
          .join(""),
        "First the login.",
      )
      assert.deepEqual(
        of(events, "tool").map(({ frame, tool }) => `${frame} ${tool}`),
        ["f1 stack_frame_push", "f2 write", "f2 read", "f2 stack_frame_pop", "f1 stack_frame_pop"],
      )
      assert.deepEqual(
        of(events, "toolEnded").map(({ tool, failed }) => `${tool} ${failed}`),
        ["write false", "read true", "stack_frame_pop false", "stack_frame_push false", "stack_frame_pop false"],
      )
      const { total, totalCostUsd } = flame.usage("f1")
      const { input, output } = world.model.charged()
      assert.deepEqual(
        total.map(({ requests, failed, uncachedInput, output }) => [requests, failed, uncachedInput, output]),
        [[5, 0, input, output]],
      )
      assert.equal(totalCostUsd.toFixed(6), ((input * 1000 + output * 2000) / 1e6).toFixed(6))
      const log = flame.stack.readLog("f2").lines.map(({ entry }) => entry as { role?: string; text?: string })
      assert.ok(log.some(({ role, text }) => role === "user" && text?.startsWith("Your task is frame f2")))
      assert.ok(JSON.stringify(log).includes("stack_frame_pop"))
    },
  ))

test("a child that does not pop is summarized, and its parent goes on", () =>
  scenario(
    {
      f1: [
        { calls: [push("Lexer")] },
        (request) => {
          assert.match(
            request.news[0]?.text ?? "",
            /^f2 \(Lexer\) is blocked\.\nResults so far: \[auto-completed[^\]]*\] The lexer reads names; numbers are missing\nArtifacts: lexer\.ts\nDecisions: Names are ASCII/,
          )
          return { calls: [pop("Half a compiler")] }
        },
      ],
      f2: [
        { text: "The lexer reads names." },
        (request) => {
          assert.deepEqual(request.tools, [])
          assert.match(request.lastUser, /Summarize it for those who go on[\s\S]*Answer with one JSON object/)
          const summary = {
            summary: "The lexer reads names; numbers are missing",
            artifacts: ["lexer.ts"],
            decisions: ["Names are ASCII"],
          }
          return { text: `Here it is:\n\`\`\`json\n${JSON.stringify(summary, null, 2)}\n\`\`\`\n{that is all}` }
        },
      ],
    },
    async ({ flame }) => {
      const { frame } = await flame.run("Write a compiler", { title: "Compiler" })
      assert.equal(frame.status, "completed")
      assert.equal(flame.stack.frame("f2").status, "blocked")
      const [usage] = flame.usage("f2").own
      assert.deepEqual([usage?.requests, usage?.failed], [2, 0])
    },
  ))

test("what is stopped keeps its words, and goes on in its sessions", () =>
  scenario(
    {
      f1: [
        { calls: [push("Lexer")] },
        (request) => {
          assert.match(request.lastUser, /f2[\s\S]*completed/)
          return { calls: [pop("It compiles")] }
        },
      ],
      f2: [
        endless,
        (request) => {
          assert.match(request.messages.map(({ text }) => text).join("\n"), /I begin\.[\s\S]*frame f2 was interrupted/)
          return { calls: [pop("The lexer works")] }
        },
      ],
    },
    async ({ flame, world, asked }) => {
      const running = flame.run("Write a compiler", { title: "Compiler" })
      await world.model.waitFor((request) => frameOf(request) === "f2", LIMIT)
      await until(() => flame.status().length === 2, "both sessions work")
      await flame.stop("it is late")
      const { frame } = await running
      assert.equal(frame.status, "blocked")
      assert.deepEqual(flame.status(), [])
      await until(() => asked("f2")[0]?.gaveUp, "the request of the child is aborted")
      assert.match(flame.stack.frame("f2").results ?? "", /I begin\./)
      const outcomes = await flame.resume()
      assert.deepEqual(
        outcomes.map(({ frame }) => [frame.status, frame.results]),
        [["completed", "It compiles"]],
      )
    },
  ))

test("a refused key stops everything, and the reason says what to do", () =>
  scenario(
    { f1: [{ calls: [push("Lexer")] }], f2: [{ status: 401, text: "invalid x-api-key" }] },
    async ({ flame, world }) => {
      const { frame } = await flame.run("Write a compiler", { title: "Compiler" })
      assert.equal(frame.status, "blocked")
      assert.match(
        flame.stack.frame("f2").results ?? "",
        /the provider refuses the key: invalid x-api-key; set a valid one/,
      )
      assert.equal(world.model.asked.length, 2)
    },
  ))

test("a frame has its tools, its model and its turns", () =>
  scenario(
    { f1: [{ calls: [call("read", { filePath: "." })] }, { calls: [call("read", { filePath: "." })] }] },
    async ({ flame, world }) => {
      const { frame } = await flame.run("Look around", { tools: ["read"], maxTurns: 2, model: "scripted/other" })
      assert.equal(frame.status, "blocked")
      assert.match(frame.results ?? "", /frame f1 has had its 2 turns; a frame that goes on gets as many again/)
      for (const { tools, model } of world.model.asked) {
        assert.deepEqual([model, tools.filter((name) => !name.startsWith("stack_"))], ["other", ["read"]])
      }
      const [usage] = flame.usage("f1").own
      assert.deepEqual([usage?.requests, usage?.failed], [2, 0], "what was not sent is not counted")
    },
  ))

test("a checkpoint makes the conversation smaller", () =>
  scenario(
    {
      f1: [
        { calls: [call("stack_frame_summarize", { note: "Mind the seed 42" })] },
        { text: "I have asked for it." },
        (request) => {
          const conversation = request.messages.map(({ text }) => text).join("\n")
          assert.match(conversation, /with the seed 42; the printer is left/)
          assert.doesNotMatch(conversation, /I have asked for it/)
          return { calls: [pop("It compiles")] }
        },
      ],
      "no context": [
        (request) => {
          assert.match(request.lastUser, /Special request: Mind the seed 42/)
          return { text: "The lexer and the parser work with the seed 42; the printer is left to do." }
        },
      ],
    },
    async ({ flame, events }) => {
      await flame.run("Write a compiler", { title: "Compiler" })
      assert.equal(of(events, "compacted").length, 1)
      assert.equal(flame.stack.frame("f1").results, "It compiles")
    },
    { waitForAnswers: false },
  ))

test("when the server dies, its sessions end with the reason", () =>
  scenario({ f1: [{ calls: [push("Lexer")] }], f2: [endless] }, async ({ flame, world }) => {
    const running = flame.run("Write a compiler", { title: "Compiler" })
    await world.model.waitFor((request) => frameOf(request) === "f2", LIMIT)
    world.kill()
    const { frame } = await running
    assert.equal(frame.status, "blocked")
    assert.match(frame.results ?? "", /OpenCode's server has ended \(SIGKILL\)/)
    assert.equal(flame.stack.frame("f2").status, "blocked")
  }))
