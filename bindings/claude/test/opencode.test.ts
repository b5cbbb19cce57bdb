// The driver for OpenCode: the real server with the bridge in it, and a scripted model.

import assert from "node:assert/strict"
import { spawn } from "node:child_process"
import { existsSync, readFileSync, writeFileSync } from "node:fs"
import { createRequire } from "node:module"
import { type AddressInfo, createServer } from "node:net"
import { join } from "node:path"
import { test } from "node:test"
import { createOpencodeClient } from "@opencode-ai/sdk/v2"
import { Flame, type FlameEvent, type FlameOptions, OpenCodeDriver, type OpenCodeOptions } from "callstack-flame"
import { RemoteEngine } from "../src/drivers/opencode/engine.js"
import { Receiver } from "../src/drivers/opencode/receiver.js"
import { OpenCodeServer } from "../src/drivers/opencode/server.js"
import { readText } from "../src/drivers/opencode/summary.js"
import { type Answer, call, frameOf, type ModelRequest, until, type World, within } from "./harness/index.js"
import { openCodeIn } from "./harness/opencode.js"
import { type Fault, fakeOpenCodeIn } from "./harness/opencode-fake.js"

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
  call("stack_frame_pop", { status: "completed", results, resultsCompacted: results, anyway: true, ...more })

/** A script by frame: the answers of each frame, in order. */
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

/** A server of tools, as code for Node: it has the tools `add` and `list`. */
const NOTES = ["@modelcontextprotocol/sdk/server/mcp.js", "@modelcontextprotocol/sdk/server/stdio.js", "zod"]
  .map((name, index) => `import * as m${index} from ${JSON.stringify(import.meta.resolve(name))};`)
  .concat(`
    const server = new m0.McpServer({ name: "notes", version: "1.0.0" })
    const text = (text) => ({ content: [{ type: "text", text }] })
    server.registerTool("add", { inputSchema: { note: m2.z.string() } }, ({ note }) => text("noted: " + note))
    server.registerTool("list", {}, () => text("nothing"))
    await server.connect(new m1.StdioServerTransport())`)
  .join("\n")

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
          assert.match(request.news[0]?.text ?? "", /No person can be asked for the permission external_directory/)
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
        { status: 529, text: "overloaded", headers: { "retry-after-ms": "1" } },
        { text: "The lexer reads names." },
        (request) => {
          assert.deepEqual(request.tools, [])
          assert.match(request.lastUser, /Summarize it for the next agent[\s\S]*Answer with one JSON object/)
          const summary = {
            summary: "The lexer reads names; numbers are missing",
            artifacts: ["lexer.ts"],
            decisions: ["Names are ASCII"],
          }
          return { text: `Here it is:\n\`\`\`json\n${JSON.stringify(summary, null, 2)}\n\`\`\`\n{that is all}` }
        },
      ],
    },
    async ({ flame, events }) => {
      const { frame } = await flame.run("Write a compiler", { title: "Compiler" })
      assert.equal(frame.status, "completed")
      assert.equal(flame.stack.frame("f2").status, "blocked")
      const [retry] = of(events, "retry")
      assert.deepEqual([retry?.frame, retry?.attempt], ["f2", 1])
      assert.match(retry?.error ?? "", /overloaded/i)
      const [usage] = flame.usage("f2").own
      assert.deepEqual([usage?.requests, usage?.failed], [3, 1])
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
    async ({ flame, world, events, asked }) => {
      const running = flame.run("Write a compiler", { title: "Compiler" })
      await world.model.waitFor((request) => frameOf(request) === "f2", LIMIT)
      const words = () => of(events, "text").filter(({ frame }) => frame === "f2")
      await until(() => words().length > 0, "the words of the child arrive")
      assert.equal(flame.status().length, 2)
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
      const [usage] = flame.usage("f2").own
      assert.deepEqual([usage?.requests, usage?.failed], [2, 1], "the aborted request was sent")
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

test("a frame has its tools, its model and its turns, and no other plugin of the stack", () => {
  const require = createRequire(import.meta.url)
  const look = { calls: [call("read", { filePath: "." })] }
  return scenario(
    { f1: [look, look], f2: [{ calls: [call("notes_add", { note: "Hello" })] }, { calls: [pop("Noted")] }] },
    async ({ flame, world, asked }) => {
      const { frame } = await flame.run("Look around", { tools: ["read"], maxTurns: 2, model: "scripted/other" })
      assert.equal(frame.status, "blocked")
      assert.match(frame.results ?? "", /frame f1 has had its 2 turns; a frame that resumes gets as many again/)
      for (const { tools, model } of asked("f1")) {
        assert.deepEqual([model, tools.filter((name) => !name.startsWith("stack_"))], ["other", ["read"]])
      }
      const [usage] = flame.usage("f1").own
      assert.deepEqual([usage?.requests, usage?.failed], [2, 0], "what was not sent is not counted")

      await flame.run("Note something", { tools: ["notes_add"] })
      const [, second] = asked("f2")
      assert.deepEqual(
        second?.tools.filter((name) => !name.startsWith("stack_")),
        ["notes_add"],
      )
      assert.equal(second?.news[0]?.text, "noted: Hello")
      assert.ok(!existsSync(join(world.folder, ".opencode")), "opencode-callstack keeps no stack here")
    },
    {
      waitForAnswers: false,
      driver: {
        config: {
          plugin: [require.resolve("opencode-callstack")],
          mcp: { notes: { type: "local", command: [process.execPath, "--input-type=module", "--eval", NOTES] } },
        },
      },
    },
  )
})

test("what is not among the tools of a frame is refused, and what OpenCode would ask too", () =>
  scenario(
    {
      f1: [
        { calls: [call("bash", { command: "touch made", description: "Make a file" })] },
        { calls: [call("webfetch", { url: "http://127.0.0.1:9/", format: "text" })] },
        { calls: [call("notes_add", { note: "Hello" })] },
        { calls: [call("read", { filePath: ".env" })] },
        { calls: [pop("Looked")] },
      ],
      f2: [
        { calls: [call("bash", { command: "touch made", description: "Make a file" })] },
        { calls: [call("bash", { command: "cat /etc/hosts", description: "Read a file outside" })] },
        { calls: [pop("Made")] },
      ],
    },
    async ({ flame, world, asked }) => {
      writeFileSync(join(world.folder, ".env"), "SECRET=1")
      await flame.run("Look around", { tools: ["read", "notes_add"] })
      const answers = asked("f1").map(({ news }) => news.map(({ text }) => text).join())
      assert.deepEqual(
        asked("f1").flatMap(({ tools }) => tools.filter((name) => !name.startsWith("stack_") && name !== "read")),
        [],
      )
      assert.match(answers[1] ?? "", /unavailable tool 'bash'/)
      assert.match(answers[2] ?? "", /unavailable tool 'webfetch'/)
      assert.match(answers[3] ?? "", /unavailable tool 'notes_add'/, "the configuration asks for it")
      assert.match(answers[4] ?? "", /No person can be asked for the permission read/)
      assert.ok(!existsSync(join(world.folder, "made")))

      await flame.run("Make a file")
      assert.ok(existsSync(join(world.folder, "made")))
      assert.match(asked("f2")[2]?.news[0]?.text ?? "", /No person can be asked for the permission external_directory/)
    },
    {
      driver: {
        config: {
          permission: { "notes_*": "ask" },
          mcp: { notes: { type: "local", command: [process.execPath, "--input-type=module", "--eval", NOTES] } },
        },
      },
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

test("a budget ends a prompt before its next request", () =>
  scenario({ f1: [{ calls: [call("read", { filePath: "." })] }] }, async ({ flame, world }) => {
    const { frame } = await flame.run("Look around", { maxBudgetUsd: 0.1 })
    assert.equal(frame.status, "blocked")
    assert.match(frame.results ?? "", /budget/)
    assert.equal(world.model.asked.length, 1)
  }))

test("a report that fails ends neither the orchestrator nor the session", () => {
  let breakReports: () => unknown = () => undefined
  let reports = 0
  return scenario(
    {
      f1: [
        () => {
          breakReports()
          return { calls: [call("read", { filePath: "." })] }
        },
        { calls: [pop("It works")] },
      ],
    },
    async ({ flame }) => {
      breakReports = () =>
        Object.assign(flame.stack, {
          overspent: () => {
            reports += 1
            throw new Error("the stack cannot be read")
          },
        })
      const { frame } = await flame.run("Damage", { maxTokens: 100_000 })
      assert.equal(frame.results, "It works")
      assert.ok(reports > 0, "no report has failed")
    },
  )
})

test("sessions end with an orchestrator that is killed, and another one goes on with them", () =>
  within(
    byFrame({
      f1: [{ calls: [push("Lexer")] }, { calls: [pop("It compiles")] }],
      f2: [endless, { calls: [pop("The lexer works")] }],
      // Until the server notices that its orchestrator is dead, its sessions can continue, with calls that
      // fail.
      "no context": [endless, endless],
    }),
    async (world) => {
      const { config, ...opencode } = openCodeIn(world)
      const code = `
        import { Flame, OpenCodeDriver } from "callstack-flame"
        const driver = new OpenCodeDriver(${JSON.stringify({ ...opencode, config })})
        await new Flame({ directory: ${JSON.stringify(world.folder)}, driver }).run("Write a compiler")`
      const orchestrator = spawn(process.execPath, ["--input-type=module", "--eval", code], {
        cwd: import.meta.dirname,
        stdio: ["ignore", "inherit", "inherit"],
      })
      await world.model.waitFor((request) => frameOf(request) === "f2", LIMIT)
      orchestrator.kill("SIGKILL")
      await world.settled()
      const flame = flameIn(world)
      const outcomes = await flame.resume()
      assert.deepEqual(
        outcomes.map(({ frame }) => [frame.status, frame.results]),
        [["completed", "It compiles"]],
      )
      assert.equal(flame.stack.frame("f2").results, "The lexer works")
      await flame.close()
      await world.settled()
    },
  ))

test("in a server that runs already, sessions of others are left alone, and it outlives the orchestrators", () =>
  within(
    byFrame({
      f1: [{ calls: [push("Lexer")] }, { calls: [pop("It compiles")] }],
      f2: [{ calls: [pop("The lexer works")] }],
      f3: [{ calls: [pop("It links")] }],
      "no context": [
        { calls: [push("Foreign")] },
        (request) => ({ text: `answer: ${request.news[0]?.text}` }),
        { text: "Still here" },
      ],
    }),
    async (world) => {
      const { config, env, program } = openCodeIn(world)
      const bridge = { port: await freePort(), token: "a token of this test" }
      const variables = {
        CALLSTACK_FLAME_URL: `http://127.0.0.1:${bridge.port}`,
        CALLSTACK_FLAME_TOKEN: bridge.token,
      }
      const plugin = [createRequire(import.meta.url).resolve("callstack-flame/bridge")]
      const server = await OpenCodeServer.start({
        program,
        directory: world.folder,
        env: {
          ...process.env,
          ...env,
          OPENCODE_CONFIG_CONTENT: JSON.stringify({ ...config, plugin }),
          OPENCODE_SERVER_PASSWORD: "secret",
          ...variables,
        },
      })
      const url = server.url.replace("//", "//opencode:secret@")
      const headers = { authorization: `Basic ${btoa("opencode:secret")}` }
      const client = createOpencodeClient({ baseUrl: server.url, directory: world.folder, headers })
      const say = async (sessionID: string, text: string) => {
        const { data } = await client.session.prompt({ sessionID, parts: [{ type: "text", text }] })
        return data?.parts.flatMap((part) => (part.type === "text" ? [part.text] : [])).join("")
      }
      const foreign = (await client.session.create({ title: "Foreign" })).data?.id ?? ""
      Object.assign(process.env, variables)
      const [named, unnamed] = [new OpenCodeDriver({ url, bridge }), new OpenCodeDriver({ url })]
      for (const [goal, driver] of [
        ["Write a compiler", named],
        ["Write a linker", unnamed],
      ] as const) {
        const flame = new Flame({ directory: world.folder, driver })
        const { frame } = await flame.run(goal)
        assert.equal(frame.status, "completed")
        if (goal === "Write a compiler") {
          const answer = await say(foreign, "Build something else")
          assert.match(answer ?? "", /^answer: stack_frame_push: the orchestrator has no frame for this session/)
        }
        assert.deepEqual(
          flame.stack.frames().map(({ title }) => title),
          goal === "Write a compiler" ? ["Write a compiler", "Lexer"] : ["Write a compiler", "Lexer", "Write a linker"],
        )
        await flame.close()
      }
      assert.equal(await say(foreign, "Are you there?"), "Still here")
      await server.stop()
      await world.settled()
    },
  ))

/** Uses an orchestrator whose server misbehaves, and checks that no process is left when it is closed. */
function withFault(fault: Fault, use: (flame: Flame, world: World) => Promise<void>): Promise<void> {
  return within(
    () => undefined,
    async (world) => {
      const driver = new OpenCodeDriver(fakeOpenCodeIn(world, fault))
      const flame = new Flame({ directory: world.folder, driver, waitForAnswers: false })
      try {
        await use(flame, world)
      } finally {
        await flame.close()
      }
      await world.settled()
    },
  )
}

test("close ends a server that never answers while it is opened", () =>
  withFault("silent", async (flame, world) => {
    const refused = assert.rejects(flame.run("Work"), /the driver for OpenCode was closed/)
    await until(() => existsSync(join(world.folder, "asked")), "the server is asked")
    await flame.stop()
    await flame.close()
    await refused
  }))

for (const way of ["stop", "close"] as const) {
  test(`${way} returns if the server answers neither the prompt nor the abort`, () =>
    withFault("hangs", async (flame) => {
      const running = flame.run("Work")
      await until(() => flame.status().length > 0, "the session works")
      await flame[way]()
      assert.equal((await running).frame.status, "blocked")
      assert.deepEqual(way === "stop" ? flame.status() : [], [])
    }))
}

test("a server without events is refused, with the reason", () =>
  withFault("no events", async (flame) => {
    await assert.rejects(flame.run("Work"), /the events of OpenCode's server cannot be read: SSE failed: 500/)
  }))

test("when the events end, running turns end with the reason", () =>
  withFault("events end", async (flame) => {
    const { frame } = await flame.run("Work")
    assert.equal(frame.status, "blocked")
    assert.match(frame.results ?? "", /the events of OpenCode's server cannot be read: SSE failed: 500/)
  }))

test("what cannot work is said at once", async () => {
  assert.throws(() => new OpenCodeDriver({ model: "gpt" }), /the model gpt has no provider/)
  assert.throws(
    () => new OpenCodeDriver({ url: "http://127.0.0.1:4096" }),
    /the option `url` needs the option `bridge`/,
  )
  await within(
    () => undefined,
    async (world) => {
      const flame = flameIn(world, { driver: { program: "opencode-is-not-here" } })
      await assert.rejects(
        flame.run("Work"),
        /opencode-is-not-here cannot be started: .*ENOENT; install OpenCode: npm install -g opencode-ai$/,
      )
      await flame.close()
    },
  )
})

test("the driver does not answer a request without its token", async () => {
  let signalled: () => void = () => undefined
  const aborted = new Promise<void>((resolve) => {
    signalled = resolve
  })
  const receiver = await Receiver.listen({
    hello: () => Promise.resolve({ tools: [] }),
    context: () => Promise.reject(new Error("the disk is full")),
    report: ({ event }) => Promise.resolve({ prompts: [event.kind] }),
    tool: (_, signal) =>
      new Promise(() => {
        signal.addEventListener("abort", signalled)
      }),
  })
  const engine = (token: string) => new RemoteEngine({ ...receiver.address, token }, () => undefined)
  await assert.rejects(engine("x").hello("/"), /the orchestrator has refused the call: the token is not that of this/)
  const own = engine(receiver.address.token)
  assert.deepEqual(await own.hello("/"), [])
  await assert.rejects(own.context("ses_1"), /the disk is full/)
  const prompts: string[] = []
  await own.report({ kind: "sessionIdle", sessionID: "ses_1" }, (text) => prompts.push(text))
  assert.deepEqual(prompts, ["sessionIdle"])
  const abort = new AbortController()
  const call = own.tool("ses_1", "stack_status", {}, abort.signal)
  setTimeout(() => abort.abort(), 50)
  assert.match((await call).text, /^stack_status: the orchestrator does not answer: the call was aborted/)
  await aborted
  const ended = new Promise<void>((resolve) => own.watch(resolve))
  receiver.close()
  await ended
  await assert.rejects(own.hello("/"), /the orchestrator does not answer: .*ECONNREFUSED/)
})

test("a summary is read from JSON, with or without words around it, or from text", () => {
  const given = { summary: " Half ", artifacts: ["a.ts", 7, " "], decisions: "none" }
  const read = { text: "Half", artifacts: ["a.ts"], decisions: [] }
  assert.deepEqual(readText(JSON.stringify(given)), read)
  assert.deepEqual(readText(`Here {it} is:\n${JSON.stringify(given)}\nThat is all.`), read)
  assert.deepEqual(readText(`\`\`\`json\n${JSON.stringify(given, null, 2)}\n\`\`\`\nNot {"this": 1}`), read)
  assert.deepEqual(readText('{"other": 1}'), { text: '{"other": 1}', artifacts: [], decisions: [] })
  assert.equal(readText(" \n"), undefined)
})

/** Returns a port of loopback that no process uses. */
async function freePort(): Promise<number> {
  const server = createServer()
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve))
  const { port } = server.address() as AddressInfo
  await new Promise((resolve) => server.close(resolve))
  return port
}
