// `make demo`: the real OpenCode builds a shop with a scripted model, and what the plugin makes of it is shown.

import { Stack } from "callstack-core"
import { contextOf, makeProject, serve, startModel } from "./harness/index.js"
import { shop } from "./harness/shop.js"

const model = await startModel(shop)
const project = makeProject(model.url)
const server = await serve(project)
const start = performance.now()
const { text } = await server.prompt("Build a shop")
const seconds = ((performance.now() - start) / 1000).toFixed(1)
await server.stop()
model.stop()

const stack = Stack.open(project.stack)
const rule = (title: string) => console.log(`\n── ${title} ${"─".repeat(Math.max(0, 96 - title.length))}`)
rule("OpenCode was asked: Build a shop")
console.log(`It answered: ${text}`)
rule("The tree of frames")
console.log(stack.outline({ details: true }))
const cart = model.requests.find(({ messages }) => messages[0]?.text.includes("frame f3"))
const { stable, volatile } = contextOf(cart)
rule("What the second child's first request has of it, in the system prompt")
console.log(stable)
rule("… and behind the newest message")
console.log(volatile)
rule("Figures")
const sizes = model.requests
  .map((request) => contextOf(request))
  .map((context) => context.stable.length + context.volatile.length)
console.log(
  `${model.requests.length} requests of ${new Set(model.requests.map(({ sessionID }) => sessionID)).size} sessions in ${seconds} s`,
)
console.log(
  `contexts of ${Math.min(...sizes)} to ${Math.max(...sizes)} characters; the one above has ${stack.context("f3").tokens} tokens of ${Stack.settings().budget.total} at most`,
)
console.log(
  `the second child saw ${stable.includes("price(id) in cents") ? "the results of the first" : "nothing of the first"}, and nothing of the conversation that led to them`,
)
stack.close()
