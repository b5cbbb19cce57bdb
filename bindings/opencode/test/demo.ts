// `make demo`: the real OpenCode builds a shop with a scripted model, and a person answers a question. Prints
// a context, figures, and the view of the stack in the program `callstack`, and writes the flame chart of the
// run.

import { join, relative } from "node:path"
import { setTimeout as sleep } from "node:timers/promises"
import { Stack } from "callstack-core"
import { ANSWER, demoShop, QUESTION } from "./harness/demo-shop.js"
import { contextOf, framesOf, makeProject, PROGRAM, program, serve, startModel, until } from "./harness/index.js"

/** The requests to a model, as `callstack usage --json` has them. */
interface Usage {
  requests: number
}

const model = await startModel(demoShop)
const project = makeProject(model.url)
const server = await serve(project)
/** The run: a prompt, a question that a person answers, and another prompt. */
async function build() {
  const start = performance.now()
  const session = (await server.client.session.create({ body: { title: "Build a shop" } })).data?.id
  const asked = await server.prompt("Build a shop", session)
  // The time that a person needs to find the answer.
  await sleep(1_500)
  const answered = program(project, "answer", "Payment", ANSWER)
  await until("the answered frame is done", () => framesOf(project).get("Payment")?.status === "completed")
  const { text } = await server.prompt("Payment has its answer. Finish the shop", session)
  const seconds = ((performance.now() - start) / 1000).toFixed(1)
  // OpenCode reports a message to the plugin some time after it has answered.
  await until("the last request is recorded", () => {
    const asked = model.charges.filter(({ request }) => request.purpose !== "title").length
    const { data } = JSON.parse(program(project, "usage", "--json")) as { data: { total: { models: Usage[] } } }
    return data.total.models.reduce((sum, { requests }) => sum + requests, 0) === asked
  })
  return { asked, answered, text, seconds }
}

/** Builds the shop, and also stops OpenCode and the model after an error. */
async function buildAndStop() {
  try {
    return await build()
  } finally {
    await server.stop()
    model.stop()
  }
}

const { asked, answered, text, seconds } = await buildAndStop()

const stack = Stack.open(project.stack)
const rule = (title: string) => console.log(`\n── ${title} ${"─".repeat(Math.max(0, 96 - title.length))}`)
rule("The prompt to OpenCode: Build a shop")
console.log(`The answer: ${asked.text}`)
rule(`A person answers: callstack answer Payment "${ANSWER}"`)
console.log(`The question was: ${QUESTION}\n${answered.trimEnd()}\nThe answer to the next prompt: ${text}`)
const totals = model.requests.find(({ messages }) => messages[0]?.text.includes("frame f7"))
const { stable, volatile } = contextOf(totals)
rule("The context in the first request of f7, a grandchild: in the system prompt")
console.log(stable)
rule("The context in the first request of f7, a grandchild: after the newest message")
console.log(volatile)
rule("Figures")
const sizes = model.requests
  .map((request) => contextOf(request))
  .map((context) => context.stable.length + context.volatile.length)
console.log(
  `${model.requests.length} requests of ${new Set(model.requests.map(({ sessionID }) => sessionID)).size} sessions in ${seconds} s`,
)
console.log(
  `contexts of ${Math.min(...sizes)} to ${Math.max(...sizes)} characters; the one above has ${stack.context("f7").tokens} tokens of at most ${Stack.settings().budget.total}`,
)
console.log(
  `the grandchild saw ${stable.includes("price(id) in cents") ? "the results of f2, its parent's sibling" : "nothing of f2"}, and nothing of the conversation that led to them`,
)
stack.close()
const shown = relative(join(import.meta.dirname, "../../../.."), PROGRAM)
rule(`${shown} tree --all`)
console.log(program(project, "tree", "--all").trimEnd())
rule(`${shown} usage f1`)
console.log(program(project, "usage", "f1").trimEnd())
const page = join(project.path, "..", "shop.html")
program(project, "view", page)
rule("Look at it")
console.log(`The flame chart of the run, in a browser: ${page}`)
console.log(`export CALLSTACK_DIR=${project.stack}
${shown} watch              # the tree on the full screen; live while agents work
${shown} view --serve       # the flame chart, live
${shown} show f7            # a frame
${shown} context f7 --report
${shown} log f7`)
