// `make demo`: the real OpenCode builds a shop with a scripted model. Prints a context, figures, and what the program
// `callstack` shows of the stack.

import { join, relative } from "node:path"
import { Stack } from "callstack-core"
import {
  contextOf,
  framesOf,
  makeProject,
  PROGRAM,
  program,
  type Script,
  serve,
  startModel,
  until,
} from "./harness/index.js"
import { shop } from "./harness/shop.js"

/** Charges what a provider with a prompt cache would: four characters are a token, the prefix of the session's last request is cached. */
function metered(script: Script): Script {
  const sent = new Map<string, string>()
  const tokens = (characters: number) => Math.ceil(characters / 4)
  return (request) => {
    const [before, now] = [sent.get(request.sessionID) ?? "", request.conversation]
    let cached = 0
    while (cached < before.length && before[cached] === now[cached]) cached += 1
    sent.set(request.sessionID, now)
    const reply = script(request)
    const output = tokens(JSON.stringify([reply.text, reply.calls]).length)
    return { ...reply, charge: { uncachedInput: tokens(now.length - cached), cacheRead: tokens(cached), output } }
  }
}

const model = await startModel(metered(shop))
const project = makeProject(model.url)
const server = await serve(project)
const start = performance.now()
const { text } = await server.prompt("Build a shop")
const seconds = ((performance.now() - start) / 1000).toFixed(1)
// OpenCode tells the plugin about a message some time after it has answered.
await until("the last request is recorded", () => {
  const asked = model.charges.filter(({ request }) => request.purpose !== "title").length
  return [...framesOf(project).values()].reduce((sum, { usage }) => sum + (usage?.[0]?.requests ?? 0), 0) === asked
})
await server.stop()
model.stop()

const stack = Stack.open(project.stack)
const rule = (title: string) => console.log(`\n── ${title} ${"─".repeat(Math.max(0, 96 - title.length))}`)
rule("The prompt to OpenCode: Build a shop")
console.log(`The answer: ${text}`)
const totals = model.requests.find(({ messages }) => messages[0]?.text.includes("frame f4"))
const { stable, volatile } = contextOf(totals)
rule("The context in the first request of f4, a grandchild: in the system prompt")
console.log(stable)
rule("The context in the first request of f4, a grandchild: after the newest message")
console.log(volatile)
rule("Figures")
const sizes = model.requests
  .map((request) => contextOf(request))
  .map((context) => context.stable.length + context.volatile.length)
console.log(
  `${model.requests.length} requests of ${new Set(model.requests.map(({ sessionID }) => sessionID)).size} sessions in ${seconds} s`,
)
console.log(
  `contexts of ${Math.min(...sizes)} to ${Math.max(...sizes)} characters; the one above has ${stack.context("f4").tokens} tokens of at most ${Stack.settings().budget.total}`,
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
rule("Try it on this stack")
console.log(`export CALLSTACK_DIR=${project.stack}\n${shown} show f4\n${shown} context f4 --report\n${shown} log f4`)
