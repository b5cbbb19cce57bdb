// The document's example, a REST API on two levels: its tree, its files, and the content of each session's
// requests.

import assert from "node:assert/strict"
import { readdirSync, readFileSync } from "node:fs"
import { join } from "node:path"
import test from "node:test"
import {
  callstack,
  frameOf,
  type ModelRequest,
  pop,
  push,
  readJson,
  running,
  stableOf,
  stack,
  treeOf,
  volatilesOf,
  write,
} from "./harness/index.js"

/** A planned child. */
const part = (title: string) => ({ title, successCriteria: `${title}, with tests`, successCriteriaCompacted: title })

interface Live {
  data: { active: string; frames: { handle: string; status: string }[] }
}

test("a REST API in two levels ends with the files and the tree of the document", () => {
  let shown: string[] = []
  let live: Live | undefined
  return running(
    {
      f1: [
        {
          text: "Three parts. SECRET-OF-ROOT",
          calls: [
            stack("frame_plan_children", {
              children: [part("Implement JWT authentication"), part("Build API routes"), part("Add caching layer")],
            }),
          ],
        },
        { calls: [stack("frame_activate", { sessionID: "f2" })] },
        { calls: [stack("frame_activate", { sessionID: "f3" })] },
        { calls: [stack("frame_activate", { sessionID: "f4" })] },
        { calls: [pop("A REST API with authentication, in three parts")] },
      ],
      f2: [
        (_, world) => ({ text: "SECRET-OF-AUTH", calls: [write(world, "src/user.ts"), write(world, "src/auth.ts")] }),
        { calls: [stack("add_decision", { decision: "Tokens live for an hour" })] },
        { calls: [pop("Implemented JWT auth with User model, bcrypt hashing, token middleware")] },
      ],
      f3: [
        {
          text: "SECRET-OF-ROUTES",
          calls: [
            stack("frame_plan_children", {
              children: [part("Implement CRUD endpoints"), part("Add pagination support")],
            }),
          ],
        },
        { calls: [stack("frame_activate", { sessionID: "f5" })] },
        async (_, { folder }) => {
          live = readJson<Live>((await callstack(folder, "tree", "--json")).stdout)
          return { calls: [stack("frame_activate", { sessionID: "f6" })] }
        },
        { calls: [pop("Routes with pagination")] },
      ],
      f4: [{ calls: [pop("Redis in front of GET")] }],
      f5: [
        (_, world) => ({ text: "SECRET-OF-CRUD", calls: [write(world, "src/routes.ts")] }),
        { calls: [pop("Created REST endpoints for users, products, orders with validation")] },
      ],
      f6: [(_, world) => ({ calls: [write(world, "src/pages.ts")] }), { calls: [pop("Pages of 20")] }],
    },
    async ({ flame, world }) => {
      flame.on((event) => {
        if (event.kind !== "toolEnded" || !event.tool.endsWith("frame_activate") || event.frame !== "f3") return
        if (shown.length === 0) shown = treeOf(flame)
      })
      const { frame, waiting } = await flame.run("Build REST API with authentication")
      // The tree of the document's appendix C, in the middle of the work.
      assert.deepEqual(shown, [
        "[in_progress] Build REST API with authentication",
        "  [completed] Implement JWT authentication",
        "    = Implemented JWT auth with User model, bcrypt hashing, token middleware",
        "  [in_progress] Build API routes",
        "    [completed] Implement CRUD endpoints",
        "      = Created REST endpoints for users, products, orders with validation",
        "    [planned] Add pagination support",
        "  [planned] Add caching layer",
      ])
      assert.equal(live?.data.active, "f3")
      assert.deepEqual(
        live.data.frames.map(({ handle, status }) => [handle, status]),
        [
          ["f1", "in_progress"],
          ["f2", "completed"],
          ["f3", "in_progress"],
          ["f5", "completed"],
          ["f6", "planned"],
          ["f4", "planned"],
        ],
      )
      assert.deepEqual(treeOf(flame), [
        "[completed] Build REST API with authentication",
        "  = A REST API with authentication, in three parts",
        "  [completed] Implement JWT authentication",
        "    = Implemented JWT auth with User model, bcrypt hashing, token middleware",
        "  [completed] Build API routes",
        "    = Routes with pagination",
        "    [completed] Implement CRUD endpoints",
        "      = Created REST endpoints for users, products, orders with validation",
        "    [completed] Add pagination support",
        "      = Pages of 20",
        "  [completed] Add caching layer",
        "    = Redis in front of GET",
      ])
      assert.deepEqual([frame.handle, frame.status, waiting], ["f1", "completed", []])
      assert.deepEqual(readdirSync(join(world.folder, "src")).sort(), ["auth.ts", "pages.ts", "routes.ts", "user.ts"])
      assert.equal(readFileSync(join(world.folder, "src/auth.ts"), "utf8"), "// src/auth.ts\n")
      assert.deepEqual(flame.stack.frame("f2").artifacts, ["src/user.ts", "src/auth.ts"])
      checkContexts(world.model.asked)
    },
  )
})

/**
 * The texts of other frames that the requests of a frame must hold, and the words that they must not hold.
 */
const SEEN: Record<string, { texts: string[]; secrets: string[] }> = {
  f1: { texts: [], secrets: ["AUTH", "ROUTES", "CRUD"] },
  f2: { texts: ["Build REST API with authentication"], secrets: ["ROOT", "ROUTES", "CRUD"] },
  f3: { texts: ["bcrypt hashing", "Tokens live for an hour"], secrets: ["ROOT", "AUTH", "CRUD"] },
  f4: { texts: ["bcrypt hashing", "Routes with pagination"], secrets: ["ROOT", "AUTH", "ROUTES", "CRUD"] },
  // Grandchildren see the results of a sibling of their parent.
  f5: { texts: ["Build API routes", "bcrypt hashing"], secrets: ["ROOT", "AUTH", "ROUTES"] },
  f6: { texts: ["bcrypt hashing", "Created REST endpoints"], secrets: ["ROOT", "AUTH", "ROUTES", "CRUD"] },
}

function checkContexts(requests: readonly ModelRequest[]): void {
  const first = new Map<string, ModelRequest>()
  for (const request of requests) {
    const handle = frameOf(request) ?? ""
    const seen = SEEN[handle]
    assert.ok(seen)
    const stable = stableOf(request)
    for (const text of seen.texts) assert.ok(stable.includes(text), `${handle} sees ${text} in ${stable}`)
    const body = JSON.stringify(request.body)
    for (const secret of seen.secrets) assert.ok(!body.includes(`SECRET-OF-${secret}`), `${handle} sees ${secret}`)
    // The system prompt of a turn stays the same, so that the provider's cache stays valid.
    assert.equal(request.system, (first.get(handle) ?? request).system)
    if (!first.has(handle)) first.set(handle, request)
    const behind = request.messages.slice(request.messages.findLastIndex(({ role }) => role === "assistant") + 1)
    assert.ok(behind.some(({ text }) => text.includes("<stack-now")))
    assert.ok(!stable.includes("<stack-now"))
  }
  // The next request of an agent has what the agent has just planned, made or decided.
  const newest = (handle: string, number: number) =>
    volatilesOf(requests.filter((request) => frameOf(request) === handle)[number] as ModelRequest).at(-1) ?? ""
  assert.match(newest("f1", 0), /<initial-planning/)
  assert.match(newest("f1", 1), /<planned-children count="3">/)
  assert.match(newest("f1", 2), /<planned-children count="2">/)
  assert.match(newest("f2", 1), /<artifacts>src\/user.ts, src\/auth.ts<\/artifacts>/)
  assert.match(newest("f2", 2), /<decision>Tokens live for an hour<\/decision>/)
  assert.match(newest("f3", 2), /<planned-children count="1">/)
}

test("contexts keep to their budget", () => {
  const words = (name: string) => `${name} ${"and more words that say what was done ".repeat(300)}`
  const tokens: number[] = []
  return running(
    {
      f1: [
        { calls: [push("First", { successCriteria: words("criteria") })] },
        { calls: [push("Second")] },
        { calls: [push("Third")] },
        { calls: [pop("All")] },
      ],
      f2: [{ calls: [pop(words("first"))] }],
      f3: [{ calls: [stack("add_decision", { decision: words("decision") })] }, { calls: [pop(words("second"))] }],
      f4: [{ calls: [push("Below")] }, { calls: [pop("third")] }],
      f5: [{ calls: [pop("below")] }],
    },
    async ({ flame, world }) => {
      flame.on((event) => {
        if (event.kind === "log" && event.message === "Context generated") tokens.push(Number(event.data["tokens"]))
      })
      await flame.run("Build three things")
      assert.ok(tokens.length >= 8)
      assert.ok(Math.max(...tokens) <= 500, `a context has ${Math.max(...tokens)} tokens`)
      assert.ok(Math.max(...tokens) > 400)
      for (const request of world.model.asked) {
        const size = Buffer.byteLength(stableOf(request)) + Buffer.byteLength(volatilesOf(request).at(-1) ?? "")
        assert.ok(size <= 3000, `${frameOf(request)}: a context of ${size} bytes`)
      }
      // The agent that has begun a frame gets its results in full.
      const [root] = world.model.asked.filter((request) => frameOf(request) === "f1").slice(1)
      assert.ok(root?.results[0]?.text.includes(words("first").trim()))
    },
    { budget: { total: 500 } },
  )
})
