// A person steers agents that run in the real OpenCode, with the program `callstack` in another process.

import assert from "node:assert/strict"
import { test } from "node:test"
import { answers, byTask, call, contextOf, done, program, scenario, task, until } from "./harness/index.js"

test("a person stops one child of three, answers another, retries the third, and edits the plan", async (t) => {
  let release: () => void = () => undefined
  const released = new Promise<void>((resolve) => (release = resolve))
  const asking = {
    status: "blocked",
    question: "Which VAT rate? Ask a person",
    results: "Net totals work",
    resultsCompacted: "net",
  }
  const begin = (sessionID: string) => ({
    tool: "stack_frame_activate",
    arguments: { sessionID, background: true },
  })
  const { model, server, project, frames } = await scenario(
    t,
    byTask({
      "Build a shop": [
        call("stack_frame_plan_children", {
          children: [
            task("Taxes"),
            task("Catalogue"),
            task("Search"),
            task("Invoices"),
            task("Export", { dependsOn: ["Invoices"] }),
          ],
        }),
        { calls: ["f2", "f3", "f4"].map(begin) },
        { text: "They work" },
        { text: "I see" },
        call("stack_frame_activate", { sessionID: "f7" }),
        (request) => ({ text: answers(request).at(-1) ?? "" }),
      ],
      "frame f2": [
        { ...call("stack_frame_pop", asking), after: released },
        { text: "I wait for the rate" },
        call("stack_frame_pop", done("VAT of 20 %")),
        { text: "Done" },
      ],
      "frame f3": [{ after: new Promise(() => undefined) }],
      "frame f4": [
        { ...call("stack_frame_pop", done("The index is too slow", "failed")), after: released },
        { text: "No" },
      ],
      "frame f7": [call("stack_frame_pop", done("Search by prefix")), { text: "Done" }],
    }),
  )
  const status = (title: string) => frames().get(title)?.status
  const { sessionID } = await server.prompt("Build a shop")
  const asked = () =>
    new Set(model.requests.filter(({ purpose }) => purpose === "work").map((request) => request.sessionID))
  await until("three children work", () => asked().size === 4)

  const stopped = JSON.parse(program(project, "stop", "f3", "--reason", "the catalogue is bought", "--json"))
  assert.deepEqual([stopped.kind, stopped.schemaVersion], ["stopped", 1])
  await until("the host has let the stopped frame go", () => frames().get("Catalogue")?.holder?.released !== undefined)
  assert.deepEqual([status("Taxes"), status("Search")], ["in_progress", "in_progress"], "the others go on")

  release()
  await until(
    "one child asks, another has failed",
    () => status("Taxes") === "blocked" && status("Search") === "failed",
  )
  assert.match(program(project, "answer"), /blocked f2: Taxes\n +waits for: Which VAT rate\? Ask a person\n/)
  program(project, "answer", "f2", "20 %")
  await until("the answered child is done", () => status("Taxes") === "completed")
  const prompts = model
    .work(frames().get("Taxes")?.sessionID ?? "")
    .at(-1)
    ?.messages.map(({ text }) => text)
  assert.ok(prompts?.some((text) => text.includes("Which VAT rate? Ask a person\nThe answer: 20 %")))

  program(project, "retry", "Search", "--note", "Search by prefix only")
  program(project, "edit", "Invoices", "--title", "Bills")
  program(project, "edit", "Export", "--no-dependencies")
  assert.match(program(project, "ready"), /f6.*Export[\s\S]*f7.*Search|f7.*Search[\s\S]*f6.*Export/)

  await server.prompt("What has happened?", sessionID)
  const seen = contextOf(model.work(sessionID).at(-1))
  const context = seen.stable + seen.volatile
  assert.match(context, /VAT of 20 %/, "the answered child's results")
  assert.match(context, /the catalogue is bought/, "why the stopped child is blocked")
  assert.match(context, /Bills/, "the new title")
  assert.doesNotMatch(seen.volatile, /Invoices/)
  assert.match(seen.volatile, /id="f7"[^>]*title="Search"/, "the next attempt is planned")

  const { text } = await server.prompt("Search again", sessionID)
  assert.match(text, /^f7 \(Search\) is completed\.\nResults: Search by prefix/)
  const again = contextOf(model.work(frames().get("Search")?.sessionID ?? "")[0])
  assert.match(again.stable, /<earlier-attempts>\n<frame id="f4" status="failed">[\s\S]*The index is too slow/)
  assert.match(again.volatile, /<answer>Search by prefix only<\/answer>/)

  const usage = JSON.parse(program(project, "usage", "--json")) as { kind: string }
  assert.equal(usage.kind, "usage")
})
