// Frames that do not simply complete: they end without a pop, with a refusal, with a question, or with a
// failure.

import assert from "node:assert/strict"
import test from "node:test"
import {
  call,
  callstack,
  happened,
  type ModelRequest,
  pop,
  push,
  running,
  stack,
  until,
  volatilesOf,
} from "./harness/index.js"

/** The answer of a session when it is asked for a summary in a fixed form. */
function summary(text: string, artifacts: string[] = [], decisions: string[] = []) {
  return { calls: [call("StructuredOutput", { summary: text, artifacts, decisions })] }
}

test("frames that end without a pop are summarized, or keep their last words", () => {
  const refusal = { text: "I will not", stop: "refusal" }
  const outside = (request: ModelRequest) => {
    assert.deepEqual(request.tools, ["StructuredOutput"])
    if (!request.lastUser.includes("We write prose")) return { status: 400, text: "no summary today" }
    return summary("Prose was written in another session", ["prose.md"])
  }
  let results: string[] = []
  return running(
    {
      f1: [
        { calls: ["Form", "Silence", "Words", "Refusal", "Errors"].map((title) => push(title)) },
        ({ news }) => {
          results = news.map(({ text }) => text)
          return { calls: [pop("All have ended")] }
        },
      ],
      f2: [
        { text: "I have looked at everything." },
        (request) => {
          assert.match(request.lastUser, /ended without a report[\s\S]*The frame: Form/)
          assert.deepEqual(request.tools, ["StructuredOutput"])
          return summary("The form has four fields", ["src/form.ts", " "], ["Names are required"])
        },
      ],
      // The SDK repeats the request after each empty answer: once in a turn, twice if a form is wanted.
      f3: [{}, { text: "" }, {}, {}, {}],
      // A statement about its frame in a text is only text.
      f4: [
        { text: "FRAME_COMPLETE: It is in the words" },
        { text: "The words are all there is" },
        { text: "No form of output" },
      ],
      f5: [{ text: "We write prose" }, refusal, refusal],
      f6: [{ text: "My last words" }, { status: 400 }, { status: 400 }, { status: 400 }],
      none: [outside, outside, outside, outside, outside, outside, outside],
    },
    async ({ flame }) => {
      const { frame } = await flame.run("End somehow")
      assert.equal(frame.status, "completed")
      const ended = ["f2", "f3", "f4", "f5", "f6"].map((handle) => flame.stack.frame(handle))
      for (const { status } of ended) assert.equal(status, "blocked")
      const said = ended.map(({ results }) => (results ?? "").replace(/^\[auto-completed: .*?\] /s, ""))
      assert.deepEqual(said, [
        "The form has four fields",
        "It left no last words.",
        "No form of output",
        "Prose was written in another session",
        "My last words",
      ])
      const [form, , , prose] = ended
      assert.deepEqual([form?.artifacts, form?.decisions], [["src/form.ts"], ["Names are required"]])
      assert.deepEqual(prose?.artifacts, ["prose.md"])
      for (const text of said)
        assert.ok(
          results.some((result) => result.includes(text)),
          text,
        )
    },
    { maxConcurrent: 5 },
  )
})

test("a frame that asks is answered in another terminal, and then its parent finishes", () =>
  running(
    {
      f1: [
        { calls: [push("Invoices")] },
        { text: "I cannot go on without the rate." },
        summary("Invoices wait for a rate of the person who knows"),
        (request) => {
          assert.match(request.lastUser, /^Your work on frame f1 was interrupted/)
          assert.match(volatilesOf(request).at(-1) ?? "", /<ended-child[\s\S]*Invoices with 7 percent/)
          return { calls: [pop("Invoices are done")] }
        },
      ],
      f2: [
        {
          calls: [
            stack("frame_pop", {
              status: "blocked",
              question: "Which VAT rate?",
              results: "Totals exist",
              resultsCompacted: "Totals exist",
            }),
          ],
        },
        ({ lastUser }) => ({ calls: [pop(lastUser.includes("7 percent") ? "Invoices with 7 percent" : "no answer")] }),
      ],
    },
    async (all) => {
      const { flame, world, events } = all
      const outcome = flame.run("Write invoices")
      await happened(all, "ended", "f1")
      assert.deepEqual(flame.waiting(), [{ frame: "f2", question: "Which VAT rate?" }])
      const answered = await callstack(world.folder, "answer", "f2", "7 percent")
      assert.equal(answered.code, 0, answered.stderr)
      const { frame, waiting } = await outcome
      assert.deepEqual([frame.status, frame.results, waiting], ["completed", "Invoices are done", []])
      assert.equal(flame.stack.frame("f2").results, "Invoices with 7 percent")
      const asked = events.flatMap((event) => (event.kind === "waiting" ? [[event.frame, event.question]] : []))
      assert.deepEqual(asked, [["f2", "Which VAT rate?"]])
    },
  ))

test("what an agent has left running while it waits for an answer is not killed", {
  skip: process.platform !== "linux",
}, () => {
  const ask = { status: "blocked", question: "Which port?", results: "It runs", resultsCompacted: "It runs" }
  const command = "setsid sleep 100 > /dev/null 2>&1 < /dev/null & echo $! > process"
  // It is possible that no process has noted the end of a process that was killed: it is a zombie then.
  const look = 'grep -q "^State:.S" "/proc/$(cat process)/status" && echo It was running; kill "$(cat process)"'
  return running(
    {
      f1: [
        { calls: [call("Bash", { command })] },
        { calls: [stack("frame_pop", ask)] },
        { calls: [call("Bash", { command: look })] },
        ({ news }) => ({ calls: [pop(news[0]?.text ?? "")] }),
      ],
    },
    async ({ flame }) => {
      const outcome = flame.run("Serve")
      await until(() => flame.waiting().length === 1 && flame.status().length === 0, "f1 waits")
      await flame.answer("f1", "8080")
      assert.equal((await outcome).frame.results, "It was running")
    },
    { claude: { allowedTools: ["Bash"] } },
  )
})

test("a frame that fails is an answer for its parent, which goes on", () => {
  const answers: { text: string; isError: boolean }[] = []
  const note = ({ news }: ModelRequest) => answers.push(...news)
  return running(
    {
      f1: [
        { calls: [push("Index")] },
        (request) => {
          note(request)
          return { calls: [stack("frame_activate", { sessionID: "f2", retry: true, answer: "Use a prefix" })] }
        },
        (request) => {
          note(request)
          return { calls: [pop("Found another way")] }
        },
      ],
      f2: [{ calls: [pop("The index does not fit into memory", "failed")] }],
      f3: [
        (request) => {
          assert.match(request.system, /<earlier-attempts[\s\S]*does not fit into memory/)
          return { calls: [pop("Search by prefix works")] }
        },
      ],
    },
    async ({ flame }) => {
      const { frame } = await flame.run("Search")
      assert.deepEqual([frame.status, frame.results], ["completed", "Found another way"])
      assert.equal(flame.stack.frame("f2").status, "failed")
      assert.match(answers[0]?.text ?? "", /f2 \(Index\) is failed[\s\S]*does not fit into memory/)
      assert.match(answers[1]?.text ?? "", /f3 \(Index\) is completed[\s\S]*by prefix/)
    },
  )
})

test("a parent goes on although its child was answered before the parent was blocked", () => {
  const summary = { summary: "Invoices wait for a rate of the person who knows", artifacts: [], decisions: [] }
  const ask = { status: "blocked", question: "Which rate?", results: "Totals exist", resultsCompacted: "Totals exist" }
  let isDone: () => boolean = () => false
  return running(
    {
      f1: [
        { calls: [push("Invoices")] },
        { text: "I cannot go on without the rate." },
        async (_, { folder }) => {
          await callstack(folder, "answer", "f2", "7 percent")
          await until(() => isDone(), "f2 is completed")
          return { calls: [call("StructuredOutput", summary)] }
        },
        { calls: [pop("Invoices are done")] },
      ],
      f2: [{ calls: [stack("frame_pop", ask)] }, { calls: [pop("Invoices with 7 percent")] }],
    },
    async (all) => {
      isDone = () => all.events.some((e) => e.kind === "ended" && e.frame === "f2" && e.status === "completed")
      const { frame } = await all.flame.run("Write invoices")
      assert.deepEqual([frame.status, frame.results], ["completed", "Invoices are done"])
      await happened(all, "ended", "f1")
    },
  )
})

test("a task in the background of a frame that has ended does not keep the run waiting", () =>
  running(
    {
      f1: [
        { calls: [call("Bash", { command: "sleep 600", run_in_background: true })] },
        { calls: [pop("The server runs")] },
      ],
    },
    async ({ flame }) => {
      const { frame } = await flame.run("Start a server")
      assert.equal(frame.results, "The server runs")
    },
    { claude: { allowedTools: ["Bash"], env: { CLAUDE_CODE_DISABLE_BACKGROUND_TASKS: "" } } },
  ))
