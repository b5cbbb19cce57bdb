// The script of `make demo`: a shop in four parts. Two parts run at the same time, one fails and is tried again, one asks a
// person, and one has a frame below it.

import { setTimeout as sleep } from "node:timers/promises"
import { byTask, call, type ModelRequest, type Reply, type Script } from "./model.js"

const part = (title: string, dependsOn: string[] = []) => ({
  title,
  successCriteria: `${title} works, with tests`,
  successCriteriaCompacted: `${title} works`,
  dependsOn,
})
const pop = (results: string, resultsCompacted = results, status = "completed") =>
  call("stack_frame_pop", { status, results, resultsCompacted })
const write = (filePath: string) => call("write", { filePath, content: `export const path = "${filePath}"\n` })

/** The question that a person answers, and the answer. */
export const QUESTION = "Which VAT rate do books have? The accountant knows"
export const ANSWER = "7 %"

const replies = byTask({
  "Build a shop": [
    call("stack_frame_plan_children", {
      children: [
        part("Catalogue"),
        part("Cart", ["Catalogue"]),
        part("Search", ["Catalogue"]),
        part("Payment", ["Cart"]),
        part("Newsletter"),
      ],
    }),
    call("stack_frame_activate", { sessionID: "f2" }),
    { calls: ["f3", "f4"].map((sessionID) => ({ tool: "stack_frame_activate", arguments: { sessionID } })) },
    call("stack_frame_activate", { sessionID: "f4", answer: "Search by prefix, without an index", retry: true }),
    call("stack_frame_activate", { sessionID: "f5" }),
    { text: "Payment waits for an answer about VAT; everything else is done." },
    call("stack_frame_invalidate", { sessionID: "f6", reason: "The first version has no newsletter" }),
    pop("The shop is open: catalogue, cart, search and payment", "The shop is open"),
    { text: "The shop is open." },
  ],
  "frame f2": [
    write("src/articles.ts"),
    write("src/catalogue.ts"),
    call("stack_add_decision", { decision: "Prices are integers: cents" }),
    pop(
      "Articles are in src/catalogue.ts: articles, find(words), price(id) in cents. 12 tests.",
      "src/catalogue.ts: articles, find(words), price(id) in cents",
    ),
    { text: "The catalogue is done." },
  ],
  "frame f3": [
    write("src/cart.ts"),
    call("stack_frame_push", part("Cart total")),
    write("src/cart.test.ts"),
    pop("src/cart.ts: add, remove, total"),
    { text: "The cart is done." },
  ],
  "frame f4": [
    write("src/words.ts"),
    write("src/search.ts"),
    write("src/search.test.ts"),
    pop("The index of all words does not fit into memory", "The index is too large", "failed"),
    { text: "The search has failed." },
  ],
  "frame f5": [
    write("src/payment.ts"),
    call("stack_frame_pop", {
      status: "blocked",
      question: QUESTION,
      results: "Payment works without VAT",
      resultsCompacted: "src/payment.ts: pay(cart), without VAT",
    }),
    { text: "I wait for the rate." },
    write("src/vat.ts"),
    pop("src/payment.ts: pay(cart) with VAT of 20 %, and of 7 % for books"),
    { text: "The payment is done." },
  ],
  "frame f7": [
    write("src/total.ts"),
    write("src/total.test.ts"),
    call("stack_add_decision", { decision: "A total is rounded once, at its end" }),
    pop("total(cart) adds price(id) of each article, in cents", "src/cart.ts: total(cart) in cents"),
    { text: "The cart total is done." },
  ],
  "frame f8": [
    write("src/prefixes.ts"),
    write("src/search.ts"),
    write("src/search.test.ts"),
    pop("src/search.ts: find(prefix)"),
    { text: "The search is done." },
  ],
})

/** Tokens of a text: four characters each. */
const tokens = (text: string) => Math.ceil(text.length / 4)

/**
 * Charges what a provider with a prompt cache would charge, and takes as long as a fast model: the prefix of
 * the session's last request is cached.
 */
function metered(script: Script): Script {
  const sent = new Map<string, string>()
  return (request: ModelRequest): Reply => {
    const [before, now] = [sent.get(request.sessionID) ?? "", request.conversation]
    let cached = 0
    while (cached < before.length && before[cached] === now[cached]) cached += 1
    sent.set(request.sessionID, now)
    const reply = script(request)
    const output = tokens(JSON.stringify([reply.text, reply.calls]))
    const charge = { uncachedInput: tokens(now.slice(cached)), cacheRead: tokens(now.slice(0, cached)), output }
    const thought = 250 + charge.uncachedInput / 10 + 5 * output
    return { ...reply, charge, after: sleep(thought) }
  }
}

export const demoShop: Script = metered(replies)
