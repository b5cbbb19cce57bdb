// The script of the first scenario: a shop in two parts, each in its own frame; the second part has a
// frame below it.

import { byTask, call, type Script } from "./model.js"

const parts = ["Catalogue", "Cart", "Totals"].map((title) => ({
  title,
  successCriteria: `${title} works, with tests`,
  successCriteriaCompacted: `${title} works`,
}))
const [catalogue, cart, totals] = parts

/** Plans both parts, runs them one after the other, and finishes. */
export const shop: Script = byTask({
  "Build a shop": [
    call("stack_frame_plan_children", { children: [catalogue, { ...cart, dependsOn: ["Catalogue"] }] }),
    call("stack_frame_activate", { sessionID: "f2" }),
    call("stack_frame_activate", { sessionID: "f3" }),
    call("stack_frame_pop", { status: "completed", results: "The shop is open", resultsCompacted: "The shop is open" }),
    { text: "The shop is open." },
  ],
  "frame f2": [
    call("write", { filePath: "src/catalogue.ts", content: "export const articles = []\n" }),
    call("stack_add_decision", { decision: "Prices are integers: cents" }),
    call("stack_frame_pop", {
      status: "completed",
      results: "Articles are in src/catalogue.ts: articles, find(words), price(id) in cents. 12 tests.",
      resultsCompacted: "src/catalogue.ts: articles, find(words), price(id) in cents",
    }),
    { text: "The catalogue is done." },
  ],
  "frame f3": [
    call("write", { filePath: "src/cart.ts", content: "export const cart = []\n" }),
    call("stack_frame_push", totals),
    call("stack_frame_pop", {
      status: "completed",
      results: "Totals are right",
      resultsCompacted: "src/cart.ts: add, remove, total",
    }),
    { text: "The cart is done." },
  ],
  "frame f4": [
    call("stack_frame_pop", {
      status: "completed",
      results: "total(cart) adds price(id) of each article, in cents",
      resultsCompacted: "src/cart.ts: total(cart) in cents",
    }),
    { text: "The totals are done." },
  ],
})
