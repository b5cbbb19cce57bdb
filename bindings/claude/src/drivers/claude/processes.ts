// The processes of sessions: they must not outlive this process, nor work beside a newer one of the same session.

import { execFile, spawn } from "node:child_process"
import { readdirSync, readFileSync } from "node:fs"
import { setTimeout as sleep } from "node:timers/promises"
import { promisify } from "node:util"
import type { SpawnedProcess, SpawnOptions } from "@anthropic-ai/claude-agent-sdk"

/** How much of the errors that a process has written is kept, in characters. */
const KEPT = 2000
/** How long a killed process may take to end, in milliseconds. */
const DEATH_TIME = 5000

const run = promisify(execFile)

/** True if the kernel can kill sessions when this process dies: on Linux, by `setpriv`. */
export async function canTieToParent(): Promise<boolean> {
  if (process.platform !== "linux") return false
  try {
    await run("setpriv", ["--pdeathsig", "KILL", "true"])
    return true
  } catch {
    return false
  }
}

/**
 * Starts a session's process so that the kernel kills it when this process dies, however that happens. `onError` gets the last
 * words of its standard error.
 */
export function spawnTied(options: SpawnOptions, onError: (text: string) => void): SpawnedProcess {
  const { command, args, cwd, env, signal } = options
  const tied = ["--pdeathsig", "KILL", command, ...args]
  // In a group of its own it does not get the Ctrl-C that the terminal sends to this process, which stops it in order.
  const child = spawn("setpriv", tied, { cwd, env, signal, stdio: "pipe", detached: true })
  let words = ""
  child.stderr.setEncoding("utf8").on("data", (text: string) => {
    words = (words + text).slice(-KEPT)
    onError(words)
  })
  return child
}

/** Kills what an earlier process has left running of a session, and waits for its end. */
export async function killLeftovers(sessionID: string): Promise<void> {
  for (const end = Date.now() + DEATH_TIME; Date.now() < end; await sleep(20)) {
    const left = await processesOf(sessionID)
    if (left.length === 0) return
    for (const id of left) {
      try {
        process.kill(id, "SIGKILL")
      } catch {
        // It has ended meanwhile.
      }
    }
  }
  throw new Error(`a process of session ${sessionID} does not end: ${(await processesOf(sessionID)).join(", ")}`)
}

/** The processes that run a session: those with its ID behind an option of the SDK's program. */
async function processesOf(sessionID: string): Promise<number[]> {
  const found: number[] = []
  for (const [id, words] of await commandLines()) {
    const isSession = words.some(
      (word, index) => word === sessionID && /^--(session-id|resume)$/.test(words[index - 1] ?? ""),
    )
    const hasIt = words.includes(`--session-id=${sessionID}`) || words.includes(`--resume=${sessionID}`)
    if (id !== process.pid && (isSession || hasIt)) found.push(id)
  }
  return found
}

async function commandLines(): Promise<[number, string[]][]> {
  if (process.platform === "linux")
    return readdirSync("/proc")
      .filter((name) => /^\d+$/.test(name))
      .flatMap(commandLine)
  if (process.platform === "win32") return []
  const { stdout } = await run("ps", ["-axo", "pid=,args="], { maxBuffer: 64 * 1024 * 1024 })
  return stdout.split("\n").map((line) => {
    const [id = "", ...words] = line.trim().split(/\s+/)
    return [Number(id), words]
  })
}

function commandLine(id: string): [number, string[]][] {
  try {
    const status = readFileSync(`/proc/${id}/stat`, "latin1")
    // A zombie works no more.
    if (/^\d+ \(.*\) Z /s.test(status)) return []
    return [[Number(id), readFileSync(`/proc/${id}/cmdline`, "latin1").split("\0")]]
  } catch {
    // It has ended meanwhile, or belongs to somebody else.
    return []
  }
}
