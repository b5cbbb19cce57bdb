#!/usr/bin/env node
// The packages of this checkout. Each is installed by its host's own installer. Then a short job runs, alone
// and under `callstack run`. The tools must be there, and the words and the usage must be recorded once, by
// the hooks or by the proxy, as the model counts them.
//
//   node packages.mjs [HOST…]    CALLSTACK is the program

import assert from "node:assert/strict"
import { execFileSync } from "node:child_process"
import fs from "node:fs"
import os from "node:os"
import path from "node:path"
import { hosts, run } from "./hosts.mjs"
import { startModel } from "./model.mjs"

const checkout = path.resolve(new URL("../..", import.meta.url).pathname)
const modules = path.resolve(process.env.NODE_MODULES ?? new URL("node_modules", import.meta.url).pathname)
const program = path.resolve(process.env.CALLSTACK ?? "")
if (!process.env.CALLSTACK) throw new Error("CALLSTACK must be the path of the program callstack")

/** How each host installs its package. */
const installers = {
  claude: [
    ["plugin", "marketplace", "add", checkout],
    ["plugin", "install", "callstack@callstack"],
  ],
  codex: [
    ["plugin", "marketplace", "add", checkout],
    ["plugin", "add", "callstack@callstack"],
  ],
  gemini: [["extensions", "install", path.join(checkout, "bindings/gemini-cli"), "--consent"]],
  qwen: [["extensions", "install", path.join(checkout, "bindings/qwen-code"), "--consent"]],
  copilot: [
    ["plugin", "marketplace", "add", checkout],
    ["plugin", "install", "callstack@callstack"],
  ],
}

/** What a host needs for the job in addition to its package. */
const more = {
  claude: {
    allowed: ["mcp__plugin_callstack_callstack", "Agent"],
    without: [
      ["--strict-mcp-config", 3],
      ["--setting-sources", 2],
    ],
  },
  codex: { arguments: ["--dangerously-bypass-hook-trust"] },
  copilot: { arguments: ["--trust-folder"] },
}

/** A subagent of Claude Code, which has a transcript of its own. */
const AGENT = { description: "Look", prompt: "Look at the file.", subagent_type: "general-purpose" }
const LOOKED = "There is nothing to see."

const SECRET = "what the file says, "
const RESULTS = "The file is read, and nothing is missing."

const chosen = process.argv.length > 2 ? process.argv.slice(2) : Object.keys(installers)
for (const name of chosen) for (const wrapper of [[], [program, "run"]]) await check(name, wrapper)

/** Installs the package of a host, and runs the job; `wrapper` is placed before the host's command. */
async function check(name, wrapper) {
  const host = hosts[name]
  const root = fs.mkdtempSync(path.join(os.tmpdir(), `package-${name}-`))
  const bin = path.join(root, "bin")
  fs.mkdirSync(bin)
  fs.copyFileSync(program, path.join(bin, "callstack"))
  const answers = [
    { calls: [{ name: "push", args: { title: "Read", successCriteria: "It is read.", frame: "new" } }] },
    {
      text: "I read it.",
      calls: [
        { name: host.shell, args: host.input("cat file.txt") },
        { name: host.shell, args: host.input("cat file.txt other.txt") },
      ],
    },
    ...(name === "claude" ? [{ calls: [{ name: "Agent", args: AGENT }] }] : []),
    { calls: [{ name: "pop", args: { frame: "f1", status: "completed", results: RESULTS } }] },
    { text: "All is done." },
  ]
  const work = []
  const agents = []
  const model = await startModel((request) => {
    if (!request.tools.some((tool) => tool?.endsWith(host.shell))) return { text: "{}" }
    const isBegun = request.items.every((item) => item.kind === "text")
    const isOfAgent = isBegun && JSON.stringify(request.items).includes(AGENT.prompt)
    if (isOfAgent) {
      agents.push(request)
      return { text: LOOKED }
    }
    work.push(request)
    return answers[work.length - 1] ?? { text: "Done." }
  })
  const world = { root, home: path.join(root, "home"), project: path.join(root, "project"), url: model.url }
  fs.mkdirSync(world.home)
  fs.mkdirSync(world.project)
  host.setup(world)
  const environment = {
    LANG: "C.UTF-8",
    TERM: "dumb",
    ...host.env(world),
    HOME: world.home,
    NO_PROXY: "127.0.0.1",
    PATH: `${bin}${path.delimiter}${process.env.PATH}`,
  }
  for (const install of installers[name]) {
    execFileSync(path.join(modules, ".bin", name), install, {
      cwd: world.project,
      env: environment,
      // Gemini CLI asks whether the folder is trusted.
      input: "y\n",
      stdio: "pipe",
      timeout: 60_000,
    })
  }
  const { arguments: given = [], allowed, without } = more[name] ?? {}
  const { code, out } = await run(name, {
    url: model.url,
    world,
    allowed,
    wrapper,
    files: { "file.txt": SECRET.repeat(100) },
    search: environment.PATH,
    isSetUp: true,
    given,
    without,
  })
  await model.close()
  const shown = `${name}:\n${out.slice(-3000)}`
  assert.equal(code, 0, shown)
  // Claude Code reports the end of a subagent in separate turns.
  assert.ok(name === "claude" ? work.length >= answers.length : work.length === answers.length, shown)
  const stack = (...words) =>
    execFileSync(path.join(bin, "callstack"), words, { cwd: world.project, env: environment, encoding: "utf8" })
  const entries = stack("log", "f1", "--raw")
    .trim()
    .split("\n")
    .map((line) => JSON.parse(line))
  const count = (key, text) => entries.filter((entry) => JSON.stringify(entry[key] ?? "").includes(text)).length
  const logged = [count("text", "Do the job."), count("text", "I read it."), count("text", "All is done.")]
  assert.deepEqual(logged, [1, 1, 1], `${name}: what was said, once each, in\n${JSON.stringify(entries, null, 1)}`)
  const calls = answers.flatMap((answer) => answer.calls ?? []).length
  const outcomes = entries.filter((entry) => entry.role === "tool").length
  assert.deepEqual([count("calls", "id"), outcomes], [calls, calls], `${name}: calls and their outcomes`)
  assert.equal(entries.filter((entry) => entry.role === "tool" && entry.text.includes(SECRET)).length, 2, shown)
  assert.ok(
    entries.every((entry) => Math.abs(entry.time - Date.now()) < 600_000),
    `${name}: times`,
  )
  const used = JSON.parse(stack("usage", "--json")).data.below.find(({ frame }) => frame.handle === "f1")
  const asked = [...work, ...agents]
  const bill = (key) => asked.reduce((sum, request) => sum + request.bill[key], 0)
  // The numbers are rounded, and each wire reports different ones.
  const rest = host.wire === "anthropic" ? bill("uncached") + bill("write") : bill("total") - bill("read")
  const { requests, uncachedInput, cacheRead, cacheWrite } = used.total.models[0]
  assert.deepEqual(
    { requests, read: cacheRead, rest: uncachedInput + cacheWrite },
    { requests: asked.length, read: bill("read"), rest },
    `${name}: what was used, as the model counts it`,
  )
  if (name === "claude") {
    const agent = stack("log", "Look", "--raw")
      .trim()
      .split("\n")
      .map((line) => JSON.parse(line).text)
    assert.deepEqual(
      [AGENT.prompt, LOOKED].map((text) => agent.filter((said) => said === text).length),
      [1, 1],
      agent.join(),
    )
    const { models } = JSON.parse(stack("usage", "Look", "--json")).data.total
    assert.equal(models[0].requests, 1, `${name}: the request of the subagent`)
  }
  fs.rmSync(root, { recursive: true })
  const by = wrapper.length > 0 ? "the proxy" : "the hooks"
  console.log(
    `${name}, recorded by ${by}: its own installer took the package; ${entries.length} entries, ${requests} requests`,
  )
}
