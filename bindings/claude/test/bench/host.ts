// The measured process: runs many small sessions with callstack-flame, or with a host that only nests
// queries. Prints a line of JSON: a `Report`. node --expose-gc --import ./loader.js host.js flame|bare AREAS

import { randomUUID } from "node:crypto"
import { lstatSync, readdirSync, readFileSync } from "node:fs"
import { join } from "node:path"
import type { Options } from "@anthropic-ai/claude-agent-sdk"
import { ClaudeDriver, Flame, type SessionDriver, type SessionOwner } from "callstack-flame"
import { z } from "zod"
import { probe } from "./probe.js"
import { createSdkMcpServer, query, tool } from "./sdk.js"
import { GOAL, PUSH } from "./small.js"

/** The state of the process after a number of frames. Sizes are in bytes. */
export interface Sample {
  frames: number
  resident: number
  heap: number
  /** The heap and the memory that is allocated outside of it for JavaScript. */
  external: number
  /** The folder of the stack. */
  folder: number
  /** The bytes that the process has written to files since it began. 0 if the system does not count them. */
  written: number
}

/** The results of a run. Times are in milliseconds. */
export interface Report {
  /** From the parent's call of the tool to `query()`, and from the end of the session to the parent's answer. */
  outside: number[]
  before: number[]
  after: number[]
  /** From `query()` to the result, and from there to the end of the session's process. */
  working: number[]
  ending: number[]
  /** From the parent's call of the tool to its answer. */
  whole: number[]
  /** The time of the handlers of messages and hooks for each request. */
  requests: number[]
  /** The part of that time during which the session's process waits. */
  waits: number[]
  /** The processor time of the process. */
  processor: number
  samples: Sample[]
}

const MODEL = "claude-sonnet-5"
const SAMPLE_INTERVAL = 50
const MEGABYTE = 1024 * 1024
const folder = join(process.cwd(), ".callstack")
const samples: Sample[] = []

/** Takes a sample after a fixed number of frames. The sample itself must not count. */
function frameEnded(frames: number): void {
  if (frames % SAMPLE_INTERVAL !== 0) return
  probe.without(() => {
    globalThis.gc?.()
    const { rss, heapUsed, external } = process.memoryUsage()
    samples.push({ frames, resident: rss, heap: heapUsed, external, folder: sizeOf(folder), written: writtenBytes() })
    console.error(`${frames} frames, ${(rss / MEGABYTE).toFixed(0)} MB`)
  })
}

/** Runs the frames with callstack-flame. */
async function runFlame(): Promise<void> {
  const driver = measured(new ClaudeDriver({ allowedTools: ["Read"] }))
  const flame = new Flame({ model: MODEL, tools: ["Read"], maxConcurrent: 2, maxDepth: 3, driver })
  let ended = 0
  flame.on((event) => {
    if (event.kind !== "ended") return
    ended += 1
    // After everything that the end causes immediately.
    setImmediate(frameEnded, ended)
  })
  const { frame } = await flame.run(GOAL)
  if (frame.status !== "completed") throw new Error(`the job has ended as ${frame.status}: ${frame.results}`)
  await flame.close()
}

/** The driver, with the addition that the probe learns of calls and sessions. */
function measured(driver: SessionDriver): SessionDriver {
  const measuredOwner = (owner: SessionOwner): SessionOwner =>
    changed(owner, {
      tool: async (sessionID, name, args, signal) => {
        const title = (args as { title?: string }).title ?? ""
        const begun = probe.now()
        if (PUSH.endsWith(name)) probe.mark(title, "called")
        const answer = await owner.tool(sessionID, name, args, signal)
        if (PUSH.endsWith(name)) probe.mark(title, "answered")
        else probe.worked(sessionID, begun, true)
        return answer
      },
    })
  return changed(driver, {
    open: (owner) => driver.open(measuredOwner(owner)),
    start: async (parentID, title) => {
      const sessionID = await driver.start(parentID, title)
      probe.name(sessionID, title)
      probe.mark(title, "started")
      return sessionID
    },
    send: (sessionID, prompt) => {
      probe.markSession(sessionID, "sent")
      return driver.send(sessionID, prompt)
    },
  })
}

/** An object with some other methods. */
function changed<Whole extends object>(whole: Whole, methods: Partial<Whole>): Whole {
  return new Proxy(whole, {
    get(target, name) {
      const value: unknown = Reflect.get(methods, name) ?? Reflect.get(target, name)
      return typeof value === "function" ? value.bind(target) : value
    },
  })
}

/**
 * Runs the same sessions without a stack: the tool `push` runs a nested query, and answers with the last
 * words of that query.
 */
async function runBare(): Promise<void> {
  let ended = 0
  const run = async (title: string): Promise<string> => {
    const sessionId = randomUUID()
    probe.name(sessionId, title)
    const nested = async ({ title: below }: { title: string }) => {
      probe.mark(below, "called")
      const text = await run(below)
      probe.mark(below, "answered")
      return { content: [{ type: "text" as const, text }] }
    }
    const shape = { title: z.string(), successCriteria: z.string(), successCriteriaCompacted: z.string() }
    const options = { annotations: { readOnlyHint: true } }
    const push = tool("stack_frame_push", "Runs a sub-task in a session of its own", shape, nested, options)
    const server = createSdkMcpServer({ name: "stack", version: "1.0.0", alwaysLoad: true, tools: [push] })
    let words = ""
    for await (const message of query({
      prompt: title,
      options: { ...bareOptions(), sessionId, mcpServers: { stack: server } },
    }))
      if (message.type === "result" && message.subtype === "success") words = message.result
    ended += 1
    setImmediate(frameEnded, ended)
    return words
  }
  await run(GOAL)
}

function bareOptions(): Options {
  return {
    cwd: process.cwd(),
    model: MODEL,
    tools: ["Read"],
    allowedTools: ["Read", PUSH],
    includePartialMessages: true,
    strictMcpConfig: true,
    settingSources: [],
    permissionMode: "default",
  }
}

/** The size of a folder. */
function sizeOf(path: string): number {
  try {
    const status = lstatSync(path)
    if (!status.isDirectory()) return status.size
    return readdirSync(path).reduce((sum, name) => sum + sizeOf(join(path, name)), 0)
  } catch {
    // The folder was removed meanwhile, or there is no stack.
    return 0
  }
}

/** The number of bytes that this process has written, as Linux counts them. */
function writtenBytes(): number {
  try {
    return Number(/^write_bytes: (\d+)/m.exec(readFileSync("/proc/self/io", "latin1"))?.[1])
  } catch {
    return 0
  }
}

const begun = process.cpuUsage()
await (process.argv[2] === "bare" ? runBare() : runFlame())
const { user, system } = process.cpuUsage(begun)
const report: Report = {
  outside: probe.outside(),
  before: probe.between("called", "queried"),
  after: probe.between("ended", "answered"),
  working: probe.between("queried", "result"),
  ending: probe.between("result", "ended"),
  whole: probe.between("called", "answered"),
  requests: probe.requests,
  waits: probe.waits,
  processor: (user + system) / 1000,
  samples,
}
console.log(JSON.stringify(report))
