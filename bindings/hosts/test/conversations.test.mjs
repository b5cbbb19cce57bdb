// Conversations at the same time and one after another: subagents, resumed sessions, two agents on one stack,
// a compaction by the host.

import assert from "node:assert/strict"
import fs from "node:fs"
import path from "node:path"
import { test } from "node:test"
import { bin } from "../hosts.mjs"
import { startModel } from "../model.mjs"
import { asked, assertBilled, FILES, logOf, pop, push, runs, SECRET, scripted, shell, world } from "./job.mjs"

const RESULTS = "Nothing is missing."

/** One sub-task in which a file is read. */
const oneFrame = (name, title = "Read") => [
  { reasoning: "I begin.", calls: [push(name, title)] },
  { reasoning: "I read.", text: `${title}: I read it.`, calls: [shell(name, "cat file.txt")] },
  { reasoning: "I end.", calls: [pop(name, RESULTS)] },
  { text: `${title}: all is done.` },
]

test("claude: subagents at the same time have frames of their own", async (t) => {
  const PROMPTS = { "Look here": "Look at the first file.", "Look there": "Look at the second file." }
  const agent = ([description, prompt]) => ({
    name: "Agent",
    args: { description, prompt, subagent_type: "general-purpose" },
  })
  const ofAgents = { "Look here": [], "Look there": [] }
  const script = [
    { calls: [push("claude", "Both")] },
    { text: "Two at once.", calls: Object.entries(PROMPTS).map(agent) },
    { text: "Both have looked." },
  ]
  let asked = 0
  const model = await scripted("claude", (request) => {
    const said = JSON.stringify(request.items.filter(({ kind }) => kind === "text"))
    const which = Object.keys(PROMPTS).find((title) => said.includes(PROMPTS[title]))
    if (which === undefined) return script[asked++] ?? { text: "Done." }
    ofAgents[which].push(request)
    const file = which === "Look here" ? "file.txt" : "other.txt"
    return ofAgents[which].length === 1
      ? { text: `I look: ${which}.`, calls: [shell("claude", `cat ${file}`)] }
      : { text: `Seen: ${which}.` }
  })
  t.after(() => model.close())
  const { shown, ...place } = await runs("claude", model, { world: world(t, "claude"), allowed: ["Agent"] })
  for (const [title, requests] of Object.entries(ofAgents)) {
    assert.equal(requests.length, 2, `${title}\n${shown}`)
    assertBilled(place, requests, `${title}\n${shown}`, title)
    const log = JSON.stringify(logOf(place, title))
    const other = Object.keys(PROMPTS).find((it) => it !== title)
    for (const text of [PROMPTS[title], `I look: ${title}.`, `Seen: ${title}.`])
      assert.ok(log.includes(text), `${text}\n${log}`)
    for (const text of [PROMPTS[other], `I look: ${other}.`]) assert.ok(!log.includes(text), `${text}\n${log}`)
  }
  assertBilled(place, model.work, shown)
})

/** How agents that name no conversation start a subagent. */
const STARTED = {
  qwen: ["agent", { subagent_type: "general-purpose" }],
  copilot: ["task", { agent_type: "general-purpose", name: "looker", mode: "sync" }],
  gemini: ["invoke_agent", { agent_name: "generalist" }],
}

for (const [name, [tool, given]] of Object.entries(STARTED))
  test(`${name}: a subagent is a frame, though no request names its conversation`, async (t) => {
    const [TASK, ANSWER] = ["Look at the first file.", "Seen: the file is there."]
    const script = [
      { calls: [push(name, "Survey")] },
      { text: "One looks.", calls: [{ name: tool, args: { ...given, description: "Look here", prompt: TASK } }] },
      { text: "I look, too.", calls: [shell(name, "cat other.txt")] },
      { calls: [pop(name, RESULTS)] },
      { text: "It has looked." },
    ]
    const ofAgent = [{ text: "I look here.", calls: [shell(name, "cat file.txt")] }]
    // A subagent of Gemini CLI ends with a call.
    ofAgent.push(
      name === "gemini"
        ? { calls: [{ name: "complete_task", args: { result: { response: ANSWER } } }] }
        : { text: ANSWER },
    )
    const requests = []
    let done = 0
    const model = await scripted(name, (request) => {
      const words = request.items.filter(({ kind, role }) => kind === "text" && role === "user")
      if (!words.some(({ text }) => text.trim().endsWith(TASK))) return script[done++] ?? { text: "Done." }
      requests.push(request)
      return ofAgent[requests.length - 1] ?? { text: "Done." }
    })
    t.after(() => model.close())
    const { shown, ...place } = await runs(name, model, { world: world(t, name) })
    assert.equal(requests.length, 2, shown)
    const title = "Look here"
    assertBilled(place, requests, shown, title)
    const [log, above] = [title, "Survey"].map((frame) => JSON.stringify(logOf(place, frame)))
    for (const text of [TASK, "I look here."]) assert.ok(log.includes(text), `${text}\n${log}`)
    assert.ok(!above.includes("I look here.") && above.includes("I look, too."), above)
    const frames = asked(place, "tree", "--all").frames
    const frame = frames.find((frame) => frame.title === title)
    assert.deepEqual([frame.status, frame.parent], ["completed", frames.find((f) => f.title === "Survey").handle])
    assertBilled(place, model.work, shown)
  })

for (const name of Object.keys(STARTED))
  test(`${name}: a subagent that fails fails its frame, and its caller goes on`, async (t) => {
    const [tool, given] = STARTED[name]
    const TASK = "Look at the first file."
    // The frame and the subagent begin with one message.
    const begun = [push(name, "Survey"), { name: tool, args: { ...given, description: "Look here", prompt: TASK } }]
    const script = [{ calls: begun }, { calls: [pop(name, RESULTS)] }, { text: "One has failed." }]
    let done = 0
    const model = await scripted(name, (request) => {
      const words = request.items.filter(({ kind, role }) => kind === "text" && role === "user")
      if (!words.some(({ text }) => text.trim().endsWith(TASK))) return script[done++] ?? { text: "Done." }
      return { status: 400 }
    })
    t.after(() => model.close())
    const { shown, ...place } = await runs(name, model, { world: world(t, name) })
    const statuses = asked(place, "tree", "--all").frames.map(({ title, status }) => `${title}: ${status}`)
    assert.deepEqual(statuses, ["Survey: completed", "Look here: failed"], shown)
  })

/** How each agent resumes its last session. */
const resumed = {
  claude: { given: ["--continue"] },
  codex: {
    words: [
      bin("codex"),
      "exec",
      "--skip-git-repo-check",
      "--dangerously-bypass-approvals-and-sandbox",
      "resume",
      "--last",
      "Go on.",
    ],
  },
}

for (const name of Object.keys(resumed))
  test(`${name}: a resumed session folds to an extension of what was sent`, async (t) => {
    const script = [...oneFrame(name), { text: "I went on." }]
    const model = await scripted(name, script)
    t.after(() => model.close())
    const place = world(t, name)
    await runs(name, model, { world: place })
    const { shown } = await runs(name, model, { world: place, prompt: "Go on.", isSetUp: true, ...resumed[name] })
    assert.equal(model.work.length, script.length, shown)
    const [before, after] = model.work.slice(-2)
    const items = ({ items }) => items.map((item) => JSON.stringify(item))
    assert.deepEqual(items(after).slice(0, before.items.length), items(before), shown)
    const text = after.raw.toString()
    assert.ok(!text.includes(SECRET) && text.includes(RESULTS) && text.includes("Go on."), shown)
    assertBilled(place, model.work, shown)
  })

test("claude: a fork of a session goes on in frames of its own", async (t) => {
  const steps = [...oneFrame("claude"), ...oneFrame("claude", "Other way"), { text: "The first one goes on." }]
  const model = await scripted("claude", steps)
  t.after(() => model.close())
  const place = world(t, "claude")
  await runs("claude", model, { world: place })
  const session = fs.readdirSync(path.join(place.home, ".claude/projects"), { recursive: true })
  const [first] = session.filter((file) => file.endsWith(".jsonl")).map((file) => path.basename(file, ".jsonl"))
  const again = (prompt, given) => runs("claude", model, { world: place, prompt, isSetUp: true, given })
  await again("Try it otherwise.", ["--resume", first, "--fork-session"])
  const { shown } = await again("Go on.", ["--resume", first])
  assert.equal(model.work.length, steps.length, shown)
  assertBilled(place, model.work, shown)
  const said = (log) => log.map(({ text }) => text).filter((text) => text !== undefined)
  const [read, other] = ["Read", "Other way"].map((title) => said(logOf(place, title)))
  assert.equal(
    read.filter((text) => text === "Read: I read it.").length,
    1,
    `once, also after the fork\n${read.join("\n")}`,
  )
  assert.ok(other.includes("Try it otherwise.") && !other.includes("Read: I read it."), other.join("\n"))
  // The first session knows nothing of its fork.
  const last = model.work.at(-1).raw.toString()
  assert.ok(last.includes(RESULTS) && !last.includes("Other way"), shown)
})

for (const names of [
  ["claude", "codex"],
  ["gemini", "gemini"],
  ["opencode", "qwen"],
])
  test(`${names.join(" and ")} at once on one stack do not mix`, async (t) => {
    const stack = path.join(world(t, "stack").root, "plan")
    const agents = await Promise.all(
      names.map(async (name, place) => {
        const title = `Part ${place}`
        const model = await scripted(name, oneFrame(name, title))
        t.after(() => model.close())
        return {
          name,
          title,
          model,
          ...(await runs(name, model, { world: world(t, name), options: ["--stack", stack] })),
        }
      }),
    )
    for (const { title, model, shown, ...place } of agents) {
      assert.ok(!model.work.at(-1).raw.toString().includes(SECRET), shown)
      // The frame of OpenCode's session is above the one that its agent has begun.
      const all = asked(place, "tree", "--stack", stack)
      const root = rootOf(all, title)
      assertBilled(place, model.work, shown, root, "--stack", stack)
      const log = JSON.stringify(logOf(place, title, "--stack", stack))
      for (const other of agents) {
        const isOwn = other.title === title
        assert.equal(log.includes(`${other.title}: I read it.`), isOwn, `${title} in the log of ${other.title}\n${log}`)
      }
    }
  })

/** The handle of the root above a frame. */
function rootOf({ frames }, title) {
  const place = frames.findIndex((frame) => frame.title === title)
  return frames.slice(0, place + 1).findLast(({ level }) => level === 0).handle
}

test("codex: a compaction by the host in the middle of a frame", async (t) => {
  const name = "codex"
  const read = (file) => ({ text: `I read ${file}.`, calls: [shell(name, `cat ${file}`)] })
  const script = [
    { calls: [push(name, "Read all")] },
    read("0.txt"),
    read("1.txt"),
    read("2.txt"),
    { calls: [pop(name, RESULTS)] },
    { text: "All is read." },
  ]
  let [done, compactions] = [0, 0]
  const model = await startModel((request) => {
    const last = request.items.findLast(({ role, kind }) => role === "user" && kind === "text")?.text ?? ""
    if (/CONTEXT CHECKPOINT COMPACTION|handoff summary/i.test(last)) {
      compactions += 1
      return { text: "A frame is begun, and files are being read." }
    }
    return script[done++] ?? { text: "Done." }
  })
  t.after(() => model.close())
  const files = Object.fromEntries([0, 1, 2].map((file) => [`${file}.txt`, "some words of a file, ".repeat(700)]))
  const { shown, ...place } = await runs(name, model, {
    world: world(t, name),
    window: 20_000,
    files: { ...FILES, ...files },
  })
  assert.ok(compactions > 0 && done === script.length, `${compactions} compactions, ${done} answers\n${shown}`)
  assertBilled(place, model.requests, shown)
  const { frames } = asked(place, "tree")
  assert.equal(frames.find(({ title }) => title === "Read all")?.status, "completed", shown)
})
