// The slash commands of people: the plugin executes them, and the model is told.

import assert from "node:assert/strict"
import { existsSync } from "node:fs"
import { join } from "node:path"
import { test } from "node:test"
import type { TextPart } from "@opencode-ai/sdk"
import {
  answers,
  byTask,
  call,
  contextOf,
  done,
  type Project,
  type Server,
  scenario,
  task,
  until,
} from "./harness/index.js"

/** Types a command. Returns what the person sees of it, and what the model is told. */
async function type({ client }: Server, sessionID: string, command: string, text = "") {
  const { error } = await client.session.command({
    path: { id: sessionID },
    body: { command, arguments: text },
  })
  assert.equal(error, undefined, `/${command} has failed`)
  return await shown(client, sessionID)
}

async function shown(client: Server["client"], sessionID: string): Promise<{ person: string; model: string }> {
  const { data = [] } = await client.session.messages({ path: { id: sessionID } })
  const parts = data.findLast(({ info }) => info.role === "user")?.parts ?? []
  const texts = parts.filter((part): part is TextPart => part.type === "text")
  const one = (isTheirs: (part: TextPart) => boolean) => texts.filter(isTheirs).map(({ text }) => text)
  const [person = ""] = one(({ synthetic }) => synthetic !== true)
  const [model = ""] = one(({ ignored }) => ignored !== true)
  assert.equal(texts.length, 2, "one part is for the person, one for the model")
  return { person, model }
}

const planned = byTask({
  "Build a shop": [
    call("stack_frame_plan_children", { children: [task("Cart"), task("Mail", { dependsOn: ["Cart"] })] }),
    { text: "Planned" },
  ],
})

test("OpenCode lists the commands, with their arguments", async (t) => {
  const { server } = await scenario(t, planned)
  const { data = [] } = await server.client.command.list()
  const found = new Map(data.map(({ name, description }) => [name, description]))
  for (const name of ["push", "plan", "edit", "pop", "answer", "stop", "retry", "activate", "invalidate", "usage"]) {
    assert.ok(found.has(`stack-${name}`), `/stack-${name} is missing`)
  }
  assert.equal(found.get("stack-answer"), "Answer a blocked frame, so that it can resume: FRAME ANSWER")
})

test("a person sees the tree; the model is told so, and does not get it", async (t) => {
  const { model, server } = await scenario(t, planned)
  const { sessionID } = await server.prompt("Build a shop")
  const tree = await type(server, sessionID, "stack")
  assert.match(tree.person, /^\/stack\n\n\[>\] f1 Test {2}<-- ACTIVE\n\|-- \[ \] f2 Cart\n`-- \[ \] f3 Mail\n/)
  assert.match(tree.model, /looked at the call stack with the command \/stack\. .*nothing has changed/)
  const request = model.work(sessionID).at(-1)
  const told = request?.messages.find(({ text }) => text.includes("with the command /stack"))
  assert.doesNotMatch(told?.text ?? "none", /f2 Cart/)

  assert.match((await type(server, sessionID, "stack", "f3")).person, /Waits for: f2 Cart[\s\S]*Criteria: Mail works/)
  assert.match((await type(server, sessionID, "stack-status")).person, /This session works on f1 \(Test\)/)
  const usage = (await type(server, sessionID, "stack-usage")).person
  assert.match(usage, /f1 and below +requests +failed +uncached.*\nscripted\/main +[4-6] +0 +[4-6]00 /)
})

test("a person plans, edits and invalidates, and the agent's next request shows it", async (t) => {
  const { model, server, frames } = await scenario(t, planned)
  const { sessionID } = await server.prompt("Build a shop")
  const plan = await type(server, sessionID, "stack-plan", "Taxes: VAT is right\nStock")
  assert.match(plan.person, /Planned f4, f5, in this order\./)
  assert.match(
    plan.model,
    /has used the command \/stack-plan\. They have written:\nTaxes: VAT is right\nStock\nIt has been carried out:\nPlanned f4, f5/,
  )
  await type(server, sessionID, "stack-edit", "f5 Warehouse: shelves are counted")
  await type(server, sessionID, "stack-invalidate", "Mail nobody reads mails")
  const found = frames()
  assert.equal(found.get("Taxes")?.successCriteria, "VAT is right")
  assert.equal(found.get("Warehouse")?.successCriteria, "shelves are counted")
  assert.equal(found.get("Mail")?.invalidationReason, "nobody reads mails")
  assert.deepEqual([found.get("Test")?.title, found.size], ["Test", 5], "a command is no new task of the session")
  const { volatile } = contextOf(model.work(sessionID).at(-1))
  assert.match(volatile, /Taxes[\s\S]*Warehouse/)
  assert.doesNotMatch(volatile, /title="Mail"/)
})

test("a person pushes a frame, answers its question and finishes another one", async (t) => {
  const { server, frames } = await scenario(
    t,
    byTask({
      "Build a shop": [{ text: "What shall I do?" }],
      "frame f2": [
        call("stack_frame_pop", { ...done("Rates are missing", "blocked"), question: "Which VAT?" }),
        { text: "I wait" },
        { text: "I see" },
        (request) =>
          call("stack_frame_pop", done(request.messages.some(({ text }) => text.includes("20 %")) ? "20 %" : "?")),
        { text: "Done" },
      ],
      "frame f3": [{ after: new Promise(() => undefined) }],
    }),
  )
  const { sessionID } = await server.prompt("Build a shop")
  await type(server, sessionID, "stack-push", "Taxes: VAT is right")
  await until("the frame has a question", () => frames().get("Taxes")?.status === "blocked")
  const looked = await type(server, frames().get("Taxes")?.sessionID ?? "", "stack-status")
  assert.match(looked.person, /f2 \(Taxes\), which is blocked/)
  assert.equal(frames().get("Taxes")?.status, "blocked", "a command in its session is no answer")
  await type(server, sessionID, "stack-answer", "f2 It is 20 %")
  await until("the frame goes on by itself", () => frames().get("Taxes")?.status === "completed")
  assert.equal(frames().get("Taxes")?.results, "20 %")

  await type(server, sessionID, "stack-push", "Mail")
  await until("the other frame works", () => frames().get("Mail")?.status === "in_progress")
  await type(server, sessionID, "stack-pop", "Mail failed the server is down")
  assert.deepEqual([frames().get("Mail")?.status, frames().get("Mail")?.results], ["failed", "the server is down"])
  await type(server, sessionID, "stack-retry", "Mail use the other server")
  await until("a new attempt works", () => frames().get("Mail")?.retryOf !== undefined)
  assert.equal(frames().get("Mail")?.questions?.[0]?.answer, "use the other server")
})

test("a command takes effect while the agent waits for a child, and the agent learns of it", async (t) => {
  const { model, server, frames } = await scenario(
    t,
    byTask({
      "Build a shop": [call("stack_frame_push", task("Cart")), (request) => ({ text: answers(request).at(-1) ?? "" })],
      "frame f2": [call("stack_status"), { after: new Promise(() => undefined) }],
    }),
  )
  const { data: session } = await server.client.session.create({ body: { title: "Test" } })
  const root = session?.id ?? ""
  const prompted = server.prompt("Build a shop", root)
  const child = await until(
    "the child works",
    () => frames().get("Cart")?.status === "in_progress" && frames().get("Cart"),
  )
  await until("it is asked twice", () => model.work(child.sessionID).length === 2)
  await Promise.all([prompted, type(server, root, "stack-stop", "f2 the cart is bought")])
  assert.equal(frames().get("Cart")?.status, "blocked")
  const conversation = model.work(root).at(-1)?.conversation ?? ""
  assert.match(conversation, /It was stopped: the cart is bought/)
  assert.match(conversation, /has used the command \/stack-stop/)
})

test("arguments are texts: nothing in them is executed or read, and missing ones are named", async (t) => {
  const { model, server, project, frames } = await scenario(t, planned)
  const { sessionID } = await server.prompt("Build a shop")
  const text = "Shell !`touch executed` @opencode.json $1"
  await type(server, sessionID, "stack-plan", text)
  assert.equal(frames().get(text)?.status, "planned")
  assert.ok(!existsSync(join(project.path, "executed")), "the shell command was executed")
  assert.doesNotMatch(model.work(sessionID).at(-1)?.conversation ?? "", /enabled_providers/, "the file was read")
  const { person, model: told } = await type(server, sessionID, "stack-answer", "f2")
  assert.match(person, /Nothing was done\. Usage: \/stack-answer FRAME ANSWER/)
  assert.match(told, /was refused, and nothing has changed/)
  assert.match((await type(server, sessionID, "stack-pop", "f9 It is done")).person, /no frame matches `f9`/)
})

test("commands of the user with the same name stay the user's", async (t) => {
  const own = (project: Project) => join(project.path, ".opencode", "command", "stack-plan.md")
  const { model, server, project, frames } = await scenario(t, planned, {
    config: { command: { stack: { template: "Stack the chairs: $ARGUMENTS" } } },
    files: { ".opencode/command/stack-plan.md": "Plan a party\n" },
  })
  assert.ok(existsSync(own(project)))
  const { sessionID } = await server.prompt("Build a shop")
  for (const [command, asked] of [
    ["stack", "Stack the chairs: six"],
    ["stack-plan", "Plan a party"],
  ] as const) {
    await server.client.session.command({ path: { id: sessionID }, body: { command, arguments: "six" } })
    assert.match(model.work(sessionID).at(-1)?.conversation ?? "", new RegExp(asked))
  }
  assert.equal(frames().size, 3, "nothing was planned")
})

test("in a session without a frame a person sees all trees, and a plan makes the frame of the session", async (t) => {
  const { server, frames } = await scenario(t, planned)
  const { data: session } = await server.client.session.create({ body: { title: "Docs" } })
  const id = session?.id ?? ""
  assert.match((await type(server, id, "stack")).person, /No frames yet/)
  assert.match((await type(server, id, "stack-usage")).person, /No frames yet/)
  await type(server, id, "stack-plan", "Write them")
  assert.equal(frames().get("Write them")?.parentSessionID, id)
  await server.prompt("Write the docs of the shop", id)
  assert.equal([...frames().values()].find(({ sessionID }) => sessionID === id)?.status, "in_progress")
})
