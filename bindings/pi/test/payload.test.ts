// Changes of requests that pi has written for a provider, in forms that the scripted model does not support.

import assert from "node:assert/strict"
import { test } from "node:test"
import { markBefore, replaceText } from "#internal/payload.js"

const mark = { type: "ephemeral" }
const words = (text: string, more: object = {}) => ({ type: "text", text, ...more })

test("the point of Bedrock's cache stands before the text that changes with each request", () => {
  const point = { cachePoint: { type: "default" } }
  const messages = [
    { role: "user", content: [{ toolResult: {} }] },
    { role: "user", content: [{ text: "now" }, point] },
  ]
  markBefore({ messages }, "now")
  assert.deepEqual(
    messages.map(({ content }) => content),
    [[{ toolResult: {} }, point], [{ text: "now" }]],
  )
})

test("a mark goes to the nearest place that can have one, and stays if there is none", () => {
  const newest = () => ({ role: "user", content: [words("now", { cache_control: mark })] })
  for (const [before, marked] of [
    [[{ role: "user", content: "Build" }], [[words("Build", { cache_control: mark })], [words("now")]]],
    [
      [
        { role: "assistant", content: [words("I look.")] },
        { role: "tool", content: "files" },
      ],
      [[words("I look.", { cache_control: mark })], "files", [words("now")]],
    ],
    [
      [{ role: "user", content: [words("Like this:"), { type: "image" }] }],
      [[words("Like this:"), { type: "image", cache_control: mark }], [words("now")]],
    ],
    [[{ role: "system", content: "You are" }], ["You are", [words("now", { cache_control: mark })]]],
  ] as const) {
    const messages = [...structuredClone(before), newest()]
    markBefore({ messages }, "now")
    assert.deepEqual(
      messages.map(({ content }) => content),
      marked,
    )
  }
})

test("requests without marks, and with other newest messages, are left alone", () => {
  for (const payload of [
    undefined,
    {},
    { messages: [] },
    { messages: [{ role: "user", content: [words("now", { cache_control: mark })] }] },
    {
      messages: [
        { role: "user", content: "a" },
        { role: "user", content: "now" },
      ],
    },
    {
      messages: [
        { role: "user", content: "a" },
        { role: "user", content: [words("else", { cache_control: mark })] },
      ],
    },
    { messages: ["a", "b"] },
  ]) {
    const before = structuredClone(payload)
    markBefore(payload, "now")
    assert.deepEqual(payload, before)
  }
})

test("a text is replaced wherever it is, and what has it not is the same object", () => {
  const request = { system: [{ text: "You are. <old>$&</old>" }], messages: [{ content: "hi" }], max: 1, none: null }
  const changed = replaceText(request, "<old>$&</old>", "<new>$1</new>")
  assert.deepEqual(changed, { ...request, system: [{ text: "You are. <new>$1</new>" }] })
  assert.equal(changed.messages, request.messages)
  assert.equal(replaceText(request, "<nothing>", ""), request)
})
