// A stack on a server: an agent under `callstack run`, and another one on the same stack after it. CALLSTACK
// must be a program with PostgreSQL, and POSTGRES_URL the database (scripts/with-postgres). Without the
// database the test is left out.

import assert from "node:assert/strict"
import { test } from "node:test"
import { answers, asked, logOf, runs, SECRET, scripted, sums, world } from "./job.mjs"

const url = process.env.POSTGRES_URL

test("codex and claude: one stack in PostgreSQL", { skip: url === undefined && "there is no server" }, async (t) => {
  const stack = ["--stack", `${url}/agents`]
  const models = []
  for (const name of ["codex", "claude"]) {
    const model = await scripted(name, answers(name))
    t.after(() => model.close())
    models.push({ model, ...(await runs(name, model, { world: world(t, name), options: stack })) })
    const { shown } = models.at(-1)
    assert.equal(model.work.length, answers(name).length, shown)
    assert.ok(!model.work.at(-1).raw.toString().includes(SECRET), `it is folded\n${shown}`)
  }
  const [{ shown, ...place }] = models
  const { frames } = asked(place, "tree", "--all", ...stack)
  assert.deepEqual(
    frames.map(({ title, status }) => [title, status]),
    ["First part", "Second part", "First part", "Second part"].map((title) => [title, "completed"]),
    shown,
  )
  const { recorded, billed } = sums(place, [...models[0].model.work, ...models[1].model.work], ...stack)
  // Each wire counts the rest in its own way.
  for (const key of ["requests", "failed", "read"]) assert.equal(recorded[key], billed[key], `${key}\n${shown}`)
  const [first] = frames
  assert.ok(JSON.stringify(logOf(place, first.handle, ...stack)).includes(SECRET), "the log is on the server")
})
