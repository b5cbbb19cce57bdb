// A server of OpenCode that the driver starts for itself.

import { type ChildProcess, spawn } from "node:child_process"
import { setTimeout as sleep } from "node:timers/promises"

/** How long a server may take to start and to end, in milliseconds. */
const START_TIME = 60_000
const END_TIME = 5000
/** How much of its output is kept, in characters. */
const KEPT = 4000

/** The data that is needed to start a server. */
export interface ServerOptions {
  program: string
  directory: string
  env: NodeJS.ProcessEnv
  /** Ends the start. */
  signal?: AbortSignal
}

/** A running server. */
export class OpenCodeServer {
  /** Its address. */
  readonly url: string
  readonly #process: ChildProcess
  readonly #ended: Promise<string>
  readonly #kill = () => this.#process.kill("SIGKILL")

  private constructor(url: string, process_: ChildProcess, ended: Promise<string>) {
    this.url = url
    this.#process = process_
    this.#ended = ended
    process.once("exit", this.#kill)
  }

  /** Starts a server on a free port of loopback. */
  static async start({ program, directory, env, signal }: ServerOptions): Promise<OpenCodeServer> {
    signal?.throwIfAborted()
    const words = ["serve", "--hostname", "127.0.0.1", "--port", "0"]
    // The server is in a process group of its own: the keys that a person presses to stop the orchestrator
    // must not stop the server before its sessions.
    const process_ = spawn(program, words, { cwd: directory, env, stdio: ["ignore", "pipe", "pipe"], detached: true })
    let output = ""
    const listening = new Promise<string>((resolve) => {
      const read = (text: string) => {
        output = (output + text).slice(-KEPT)
        const [, url] = /listening on (http:\S+)\n/.exec(output) ?? []
        if (url === undefined) return
        output = ""
        resolve(url)
      }
      process_.stdout.setEncoding("utf8").on("data", read)
      process_.stderr.setEncoding("utf8").on("data", read)
    })
    const ended = new Promise<string>((resolve) => {
      process_.on("error", (error) =>
        resolve(`${program} cannot be started: ${error.message}; install OpenCode: npm install -g opencode-ai`),
      )
      process_.on("exit", (code, signal) =>
        resolve(`OpenCode's server has ended (${signal ?? code})${lastLine(output)}`),
      )
    })
    const late = sleep(START_TIME, undefined, { ref: false }).then(
      () => `OpenCode's server did not start within a minute${lastLine(output)}`,
    )
    const aborted = new Promise<string>((resolve) => {
      signal?.addEventListener("abort", () => resolve("the start of OpenCode's server was aborted"), { once: true })
    })
    const started = await Promise.race([listening.then((url) => ({ url })), ended, late, aborted])
    if (typeof started === "object") return new OpenCodeServer(started.url, process_, ended)
    process_.kill("SIGKILL")
    await ended
    throw new Error(started)
  }

  /**
   * Says how the server has ended; undefined if it runs. If its connections are gone, the process gets a
   * moment to end.
   */
  end(): Promise<string | undefined> {
    return Promise.race([this.#ended, sleep(1000, undefined, { ref: false })])
  }

  /** Ends the server, and waits for its end. */
  async stop(): Promise<void> {
    process.off("exit", this.#kill)
    const force = setTimeout(this.#kill, END_TIME)
    this.#process.kill("SIGTERM")
    await this.#ended
    clearTimeout(force)
  }
}

/** Returns the last line of an output, for the end of a sentence; empty if there is no line. */
function lastLine(output: string): string {
  const line = output.trim().split("\n").at(-1) ?? ""
  return line === "" ? "" : `: ${line}`
}
