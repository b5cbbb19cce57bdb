// `make demo`: the real OpenCode builds a shop with a scripted model. Prints the tree, a context and figures.

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
rule("The prompt to OpenCode: Build a shop")
console.log(`The answer: ${text}`)
rule("The tree of frames")
console.log(stack.outline({ details: true }))
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
