// What sessions may do: modes, rules, the callback, hooks of the user, and the tools of frames.

import assert from "node:assert/strict"
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import test from "node:test"
import {
  type Answer,
  call,
  frameOf,
  type ModelRequest,
  pop,
  push,
  running,
  type Step,
  stack,
  type World,
  write,
} from "./harness/index.js"

const bash = (command: string) => call("Bash", { command })

/** The steps of a frame that calls tools, keeps their answers and pops. */
function trying(answers: string[], attempt: (request: ModelRequest, world: World) => Answer): Step[] {
  return [
    attempt,
    ({ news }) => {
      answers.push(...news.map(({ name, isError, text }) => `${name} ${isError ? "refused" : "done"}: ${text}`))
      return { calls: [pop("Tried")] }
    },
  ]
}

/** Returns the files among these that exist. */
function existing({ folder }: World, ...names: string[]): string[] {
  return names.filter((name) => existsSync(join(folder, name)))
}

test("what neither mode nor rules allow is refused, and no settings make that wider", () => {
  const answers: string[] = []
  return running(
    {
      f1: trying(answers, (_, world) => ({
        calls: [
          write(world, "a.ts"),
          bash("mkdir folder"),
          bash("touch c.txt"),
          call("Read", { file_path: "/etc/hostname" }),
          call("WebFetch", { url: "http://127.0.0.1:9/", prompt: "x" }),
        ],
      })),
    },
    async ({ flame, world }) => {
      mkdirSync(join(world.folder, ".claude"))
      const wide = { permissions: { defaultMode: "acceptEdits", allow: ["Write", "Bash", "Read", "WebFetch"] } }
      for (const name of ["settings.json", "settings.local.json"])
        writeFileSync(join(world.folder, ".claude", name), JSON.stringify(wide))
      await flame.run("Try")
      // The answers come in the order in which the calls have ended.
      const [bashDone, bashRefused, read, fetch, written, ...others] = answers.sort()
      assert.match(bashDone ?? "", /^Bash done: /)
      assert.match(bashRefused ?? "", /^Bash refused: /)
      assert.match(read ?? "", /^Read refused: .*haven't granted it/)
      assert.match(fetch ?? "", /^WebFetch refused: .*No such tool/)
      assert.match(written ?? "", /^Write refused: .*haven't granted it/)
      assert.deepEqual(others, [])
      assert.deepEqual(existing(world, "a.ts", "folder", "c.txt"), ["c.txt"])
      const transcript = readFileSync(world.transcript(flame.stack.frame("f1").sessionID), "utf8")
      assert.deepEqual([...new Set(transcript.match(/"permissionMode":"\w+"/g))], ['"permissionMode":"default"'])
    },
    { claude: { permissionMode: "default", allowedTools: ["Bash(touch:*)"] } },
  )
})

test("the callback gets the frame of a request; what it throws is a refusal", () => {
  const answers: string[] = []
  const asked: string[] = []
  return running(
    {
      f1: [
        { calls: [push("Child")] },
        ...trying(answers, (_, world) => ({ calls: [write(world, "a.ts"), write(world, "b.ts")] })),
      ],
      f2: trying(answers, (_, world) => ({ calls: [write(world, "c.ts"), write(world, "d.ts")] })),
    },
    async ({ flame, world }) => {
      await flame.run("Ask")
      assert.deepEqual(asked, ["f2 Write c.ts", "f2 Write d.ts", "f1 Write a.ts", "f1 Write b.ts"])
      assert.match(answers[0] ?? "", /^Write done/)
      assert.match(answers[1] ?? "", /^Write refused: .*not this one/)
      assert.match(answers[2] ?? "", /^Write refused: /)
      assert.match(answers[3] ?? "", /^Write done/)
      assert.deepEqual(existing(world, "a.ts", "b.ts", "c.ts", "d.ts"), ["b.ts", "c.ts"])
      assert.deepEqual(flame.stack.frame("f1").artifacts, ["b.ts"])
    },
    {
      claude: {
        permissionMode: "default",
        canUseTool: (tool, input, { frame, toolUseID, signal }) => {
          const name = String(input["file_path"]).replace(/.*\//, "")
          asked.push(`${frame} ${tool} ${name}`)
          assert.ok(toolUseID !== "" && !signal.aborted)
          if (name === "a.ts") throw new Error("the terminal is gone")
          if (name === "d.ts") return Promise.resolve({ behavior: "deny", message: "not this one" })
          return Promise.resolve({ behavior: "allow", updatedInput: input })
        },
      },
    },
  )
})

/** A server of the Model Context Protocol with two tools, as a program. */
const SERVER = `
  const { McpServer } = await import(process.argv[1] + "/server/mcp.js")
  const { StdioServerTransport } = await import(process.argv[1] + "/server/stdio.js")
  const server = new McpServer({ name: "shop", version: "1.0.0" })
  for (const name of ["look", "buy"]) server.tool(name, name, () => ({ content: [{ type: "text", text: name + " done" }] }))
  await server.connect(new StdioServerTransport())`

test("a frame has at most the tools of its parent, whatever its limits name", () => {
  const answers: string[] = []
  const offered = new Map<string, string[]>()
  const note = (request: ModelRequest) => {
    const tools = request.tools.filter((name) => !name.startsWith("mcp__stack__"))
    offered.set(frameOf(request) ?? "", tools.sort())
  }
  const modules = import.meta.resolve("@modelcontextprotocol/sdk/client/index.js").replace("/client/index.js", "")
  const shop = { command: process.execPath, args: ["--input-type=module", "--eval", SERVER, modules], alwaysLoad: true }
  const use = [call("mcp__shop__look"), call("mcp__shop__buy"), bash("touch pwned")]
  return running(
    {
      f1: [
        (request) => {
          note(request)
          return { calls: [stack("frame_activate", { sessionID: "f2" })] }
        },
        ...trying(answers, () => ({ calls: use })),
      ],
      f2: [
        (request) => {
          note(request)
          return { calls: [push("Below")] }
        },
        ...trying(answers, (_, world) => ({ calls: [write(world, "a.ts"), ...use] })),
      ],
      f3: [
        (request) => {
          note(request)
          return { calls: [pop("Seen")] }
        },
      ],
    },
    async ({ flame, world }) => {
      const root = flame.plan({ goal: "Be narrow" })
      flame.plan({ goal: "Wish for more", parent: root, tools: ["Read", "Write", "Bash", "mcp__shop__buy"] })
      await flame.activate(root)
      assert.deepEqual(Object.fromEntries(offered), {
        f1: ["Glob", "Write", "mcp__shop__buy", "mcp__shop__look"],
        f2: ["Write"],
        f3: ["Write"],
      })
      const said = answers.map((answer) => answer.split(":")[0])
      const refused = ["mcp__shop__look refused", "mcp__shop__buy refused", "Bash refused"]
      assert.deepEqual(said, ["Write done", ...refused, "mcp__shop__look done", ...refused.slice(1)])
      assert.match(answers[5] ?? "", /frame f1 may not use mcp__shop__buy; its tools are Write, Glob, mcp__shop__look/)
      assert.deepEqual(existing(world, "a.ts", "pwned"), ["a.ts"])
    },
    {
      tools: ["Write", "Glob", "mcp__shop__look"],
      claude: { mcpServers: { shop }, allowedTools: ["mcp__shop__look", "mcp__shop__buy", "Bash"] },
    },
  )
})

test("a hook that fails before a tool refuses the call: one of the user, and the own one", async () => {
  const answers: string[] = []
  const attempt = (): Record<string, Step[]> => ({
    f1: trying(answers, (_, world) => ({ calls: [write(world, "a.ts"), stack("add_decision", { decision: "Try" })] })),
  })
  const deny = () => {
    const decision = { hookEventName: "PreToolUse" as const, permissionDecision: "deny" as const }
    return Promise.resolve({ hookSpecificOutput: decision })
  }
  const fail = () => Promise.reject(new Error("the hook is broken"))
  const PreToolUse = [
    { matcher: "Write", hooks: [fail] },
    { matcher: "mcp__stack__stack_add_decision", hooks: [deny] },
  ]
  await running(
    attempt(),
    async ({ flame, world }) => {
      await flame.run("Try")
      assert.match(answers[0] ?? "", /^Write refused: .*hook/)
      assert.match(answers[1] ?? "", /^mcp__stack__stack_add_decision refused: /)
      assert.deepEqual(existing(world, "a.ts"), [])
    },
    { claude: { hooks: { PreToolUse } } },
  )
  // The hook of the user looks for the tool in this list.
  const tools = Object.assign(["Write"], {
    some: () => {
      throw new Error("the list is broken")
    },
  })
  await running(attempt(), async ({ flame, world }) => {
    const allowance = flame.stack.allowance.bind(flame.stack)
    Object.assign(flame.stack, { allowance: (frame: string) => ({ ...allowance(frame), tools }) })
    await flame.run("Try")
    assert.match(answers[2] ?? "", /^Write refused: .*hook/)
    assert.deepEqual(existing(world, "a.ts"), [])
  })
})

test("a frame that another one's agent has begun elsewhere has at most the tools of both", () =>
  running(
    {
      f1: [{ calls: [stack("frame_activate", { sessionID: "f2" })] }, { calls: [pop("All is read")] }],
      f2: [
        {
          calls: [
            stack("frame_plan_children", {
              parentSessionID: "f1",
              children: [{ title: "Escape", successCriteria: "evil.txt", successCriteriaCompacted: "evil.txt" }],
            }),
          ],
        },
        { calls: [stack("frame_activate", { sessionID: "f3" })] },
        { calls: [pop("Escaped?")] },
      ],
      f3: [{ calls: [call("Write", { file_path: "evil.txt", content: "evil" })] }, { calls: [pop("No")] }],
    },
    async ({ flame, world }) => {
      const root = flame.plan({ goal: "Work" })
      flame.plan({ goal: "Only read", parent: root, tools: ["Read"] })
      await flame.activate(root)
      const [request] = world.model.asked.filter((asked) => frameOf(asked) === "f3")
      assert.ok(request?.tools.includes("Read") && !request.tools.includes("Write"))
      assert.ok(!existsSync(join(world.folder, "evil.txt")))
    },
    { claude: { permissionMode: "acceptEdits" } },
  ))

test("nothing runs after the end of a frame, and no session changes the stack's folder by itself", () =>
  running(
    {
      f1: [
        (_, { folder }) => ({
          calls: [call("Write", { file_path: join(folder, ".callstack/state.json"), content: "{}" })],
        }),
        (_, { folder }) => ({
          calls: [pop("Over"), call("Write", { file_path: join(folder, "late.txt"), content: "late" })],
        }),
      ],
    },
    async ({ flame, world }) => {
      await flame.run("Be limited", { maxTokens: 100_000 })
      assert.ok(!existsSync(join(world.folder, "late.txt")))
      assert.ok(
        !existsSync(join(world.folder, ".callstack/state.json")),
        "a session has written into the stack's folder",
      )
    },
    { claude: { permissionMode: "acceptEdits" } },
  ))
