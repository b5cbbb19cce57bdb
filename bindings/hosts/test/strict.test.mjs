// The checks of the scripted model: each refuses what its provider would refuse.

import assert from "node:assert/strict"
import { test } from "node:test"
import { violations } from "../strict.mjs"

const said = { thoughts: new Map([["sig", "I think"]]), ofCall: new Map([["a", "sig"]]) }
const user = { role: "user", content: "Do it." }
const thought = { type: "thinking", thinking: "I think", signature: "sig" }
const use = (id) => ({ type: "tool_use", id, name: "t", input: {} })
const result = (tool_use_id) => ({ type: "tool_result", tool_use_id, content: "" })
const marked = (text) => ({ type: "text", text, cache_control: { type: "ephemeral" } })
const turns = (...contents) =>
  contents.map((content, place) => ({ role: place % 2 === 0 ? "assistant" : "user", content }))
const messages = (...contents) => ({ messages: [user, ...turns(...contents)] })
const call = (call_id) => ({ type: "function_call", call_id })
const output = (call_id) => ({ type: "function_call_output", call_id })
const reasoning = { type: "reasoning", summary: [{ text: "I think" }], encrypted_content: "sig" }
const calls = (...ids) => ({ role: "assistant", tool_calls: ids.map((id) => ({ id })) })
const tool = (tool_call_id) => ({ role: "tool", tool_call_id })
const contents = (...parts) => ({
  contents: [["text"], ...parts].map((of, place) => ({ role: place % 2 === 0 ? "user" : "model", parts: of.flat() })),
})
const asks = (id, thoughtSignature) => ({ functionCall: { id, name: "t" }, thoughtSignature })
const says = { functionResponse: { name: "t" } }

const accepted = {
  anthropic: [messages([thought, use("a"), use("b")], [result("a"), result("b"), { type: "text", text: "go on" }])],
  responses: [{ input: [reasoning, call("a"), call("b"), output("b"), output("a")] }],
  chat: [{ messages: [user, calls("a", "b"), tool("b"), tool("a"), user] }],
  gemini: [contents([asks("a", "sig"), asks("b")], [says, says])],
}
const refused = {
  anthropic: [
    [messages([thought, use("a")], [{ type: "text", text: "no" }]), /results of \[\] behind calls of \[a\]/],
    [messages([{ type: "text", text: "hm" }], [result("b")]), /results of \[b\] behind calls of \[\]/],
    [messages([thought, use("a")], [{ type: "text", text: "" }, result("a")]), /behind a text/],
    [messages([{ ...thought, thinking: "I thought" }, use("a")], [result("a")]), /not the model's/],
    [messages([use("a")], [result("a")]), /lost its thought/],
    [messages([use("b")], [result("b")], [use("b")], [result("b")]), /b is there twice/],
    [messages([{ type: "text", text: "hm" }]), /begin and end with the user/],
    [messages([{ type: "text", text: "hm" }], ["a", "b", "c", "d", "e"].map(marked)), /5 marks/],
  ],
  responses: [
    [{ input: [call("b")] }, /outputs of \[\] for calls of \[b\]/],
    [{ input: [output("b"), call("b")] }, /ends before it begins/],
    [{ input: [call("a"), output("a")] }, /a has lost its thought/],
    [{ input: [reasoning, user] }, /without what it led to/],
    [{ input: [{ ...reasoning, summary: [] }, call("b"), output("b")] }, /not the model's/],
  ],
  chat: [
    [{ messages: [user, calls("a"), user] }, /before the results of \[a\]/],
    [{ messages: [user, tool("a")] }, /a result of a/],
    [{ messages: [user, calls("a")] }, /no results of \[a\]/],
  ],
  gemini: [
    [contents([asks("b")], ["text"]), /responses of \[\] behind calls of \[t\]/],
    [contents([asks("a")], [says]), /lost its signature/],
    [{ contents: [{ role: "model", parts: [] }] }, /begin with the user/],
  ],
}

for (const [wire, requests] of Object.entries(accepted))
  test(`${wire}: what keeps the rules is accepted`, () => {
    for (const request of requests) assert.deepEqual(violations(wire, request, said), [])
  })

for (const [wire, requests] of Object.entries(refused))
  test(`${wire}: what a provider refuses is refused`, () => {
    for (const [request, why] of requests) assert.match(violations(wire, request, said).join("\n"), why)
  })
