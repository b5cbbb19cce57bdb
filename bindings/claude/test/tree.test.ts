// The document's example, a REST API on two levels, and what each session's requests hold.

import assert from "node:assert/strict"
import { existsSync } from "node:fs"
import { join } from "node:path"
import test from "node:test"
import { Flame } from "callstack-flame"
import { type Answer, call, frameOf, type ModelRequest, type World, within } from "./harness/index.js"

const push = (title: string, more: object = {}) =>
  call("mcp__stack__stack_frame_push", {
    title,
    successCriteria: `${title} works`,
    successCriteriaCompacted: title,
    ...more,
  })
const pop = (results: string, status = "completed") =>
  call("mcp__stack__stack_frame_pop", { status, results, resultsCompacted: results })
const write = (world: World, name: string) =>
  call("Write", { file_path: join(world.folder, name), content: `// ${name}\n` })

/** A script by frame: the answers of each, in order. */
function byFrame(frames: Record<string, (Answer | ((request: ModelRequest, world: World) => Answer))[]>) {
  const steps = new Map(Object.entries(frames).map(([frame, answers]) => [frame, [...answers]]))
  return (request: ModelRequest, world: World): Answer => {
    const answer = steps.get(frameOf(request) ?? "")?.shift()
    return typeof answer === "function"
      ? answer(request, world)
      : (answer ?? { text: `nothing to do in ${frameOf(request)}` })
  }
}

test("a REST API in two levels", () =>
  within(
    byFrame({
      f1: [
        { text: "First the login.", calls: [push("JWT login")] },
        { calls: [push("API routes")] },
        { calls: [pop("The API is built")] },
        { text: "done" },
      ],
      f2: [
        (_, world) => ({ calls: [write(world, "auth.ts")] }),
        { calls: [pop("JWT auth with bcrypt in auth.ts")] },
        { text: "done" },
      ],
      f3: [{ calls: [push("CRUD endpoints")] }, { calls: [pop("Routes exist")] }, { text: "done" }],
      f4: [
        (_, world) => ({ calls: [write(world, "routes.ts")] }),
        { calls: [pop("Endpoints for users and orders in routes.ts")] },
        { text: "done" },
      ],
    }),
    async (world) => {
      const flame = new Flame({
        directory: world.folder,
        model: "claude-sonnet-5",
        claude: { permissionMode: "acceptEdits" },
      })
      flame.on((event) => {
        if (event.kind !== "text") console.log(JSON.stringify(event).slice(0, 300))
      })
      const outcome = await flame.run("Build a REST API with authentication")
      console.log(flame.tree(), outcome.frame.status, outcome.report)
      for (const r of world.model.asked)
        console.log(
          "-----",
          frameOf(r),
          r.session,
          JSON.stringify(r.charged),
          r.tools.length,
          "\n",
          r.systemBlocks?.at(-1),
          "\n>>",
          r.messages.map((m) => m.role + ": " + m.text).join("\n  "),
        )
      assert.equal(outcome.frame.status, "completed")
      assert.ok(existsSync(join(world.folder, "auth.ts")))
      await flame.close()
      await world.settled()
    },
  ))
