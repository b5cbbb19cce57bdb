// The processes of sessions: they must not outlive this process, and must not work at the same time as a
// newer process of the same session.

import { type ChildProcess, type ChildProcessWithoutNullStreams, execFile, spawn } from "node:child_process"
import { readdirSync, readFileSync } from "node:fs"
import { setTimeout as sleep } from "node:timers/promises"
import { promisify } from "node:util"
import type { SpawnOptions } from "@anthropic-ai/claude-agent-sdk"

/** How much of the errors that a process has written is kept, in characters. */
const KEPT = 2000
/** How long a killed process may take to end, in milliseconds. */
const DEATH_TIME = 5000

const run = promisify(execFile)

/**
 * The words that identify processes of a session: arguments of its own process, and the variable in the
 * environment of processes that its tools start.
 */
export function marksOf(sessionID: string): string[] {
  return [`--session-id=${sessionID}`, `--resume=${sessionID}`, `CLAUDE_CODE_SESSION_ID=${sessionID}`]
}

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

/** How a session's process is started. */
export interface Spawning {
  /** Whether the kernel kills it when this process dies, even if this process was killed or crashed. */
  isTied: boolean
  /** Gets the last words of its standard error. */
  onError: (text: string) => void
}

/**
 * Starts a session's process in a process group of its own: a Ctrl-C at the terminal reaches only this
 * process, which then interrupts its sessions.
 */
export function spawnSession(options: SpawnOptions, { isTied, onError }: Spawning): ChildProcessWithoutNullStreams {
  const { cwd, env, signal } = options
  const words = isTied ? ["setpriv", "--pdeathsig", "KILL", options.command] : [options.command]
  const [command = "", ...args] = [...words, ...options.args]
  const detached = process.platform !== "win32"
  const child = spawn(command, args, { cwd, env, signal, detached, stdio: "pipe" })
  let errors = ""
  child.stderr.setEncoding("utf8").on("data", (text: string) => {
    errors = (errors + text).slice(-KEPT)
    onError(errors)
  })
  return child
}

/** Waits until a process has ended, or could not be started. A process that does not end is killed. */
export async function ended(child: ChildProcess): Promise<void> {
  if (child.pid === undefined || child.exitCode !== null || child.signalCode !== null) return
  const kill = setTimeout(() => child.kill("SIGKILL"), DEATH_TIME)
  await new Promise<void>((resolve) => child.once("exit", () => resolve()))
  clearTimeout(kill)
}

/**
 * Kills what an earlier process has left running of a session, and waits for its end: the process of the
 * session, and on Linux also the processes that its tools have started.
 */
export async function killLeftovers(sessionID: string): Promise<void> {
  for (const end = Date.now() + DEATH_TIME; Date.now() < end; await sleep(20)) {
    const left = await processesOf(sessionID)
    if (left.length === 0) return
    for (const id of left) kill(id)
  }
  throw new Error(
    `processes of session ${sessionID} do not end: ${(await processesOf(sessionID)).join(", ")}; end them and resume again`,
  )
}

function kill(id: number): void {
  try {
    process.kill(id, "SIGKILL")
  } catch {
    // The process has ended meanwhile, or belongs to another user.
  }
}

async function processesOf(sessionID: string): Promise<number[]> {
  if (process.platform === "win32") return []
  const found = process.platform === "linux" ? processesInProc(sessionID) : await processesInList(sessionID)
  return found.filter((id) => id !== process.pid)
}

function processesInProc(sessionID: string): number[] {
  const marks = new Set(marksOf(sessionID))
  const isMarked = (id: string, file: string) =>
    contentOf(id, file)
      .split("\0")
      .some((word) => marks.has(word))
  return readdirSync("/proc")
    .filter((name) => /^\d+$/.test(name) && (isMarked(name, "cmdline") || isMarked(name, "environ")))
    .map(Number)
}

async function processesInList(sessionID: string): Promise<number[]> {
  const marks = marksOf(sessionID)
  const { stdout } = await run("ps", ["-axo", "pid=,args="], { maxBuffer: 64 * 1024 * 1024 })
  const lines = stdout.split("\n").map((line) => line.trim().split(/\s+/))
  return lines.filter((words) => words.some((word) => marks.includes(word))).map(([id]) => Number(id))
}

/**
 * Reads a file about a process; empty if the process has ended, or belongs to another user. The file of a
 * zombie process is empty, too.
 */
function contentOf(id: string, file: string): string {
  try {
    return readFileSync(`/proc/${id}/${file}`, "latin1")
  } catch {
    return ""
  }
}
