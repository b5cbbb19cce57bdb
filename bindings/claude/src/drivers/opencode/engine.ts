// The engine as the bridge sees it: in another process, behind the driver.

import { Agent, type ClientRequest, type IncomingMessage, request } from "node:http"
import type { HostAnswer, HostEvent, TakePrompt, Tool } from "callstack-core"
import type { Engine } from "opencode-callstack/adapter"
import type { SessionContext } from "../../driver.js"
import { type Address, type CallName, type Calls, LIFE } from "./protocol.js"

/** Logs the failure of an operation that no caller waits for. */
export type LogFailure = (message: string) => void

/** Each call has a connection of its own, which ends with it. */
const agent = new Agent({ keepAlive: false })

/** Calls the driver. */
export class RemoteEngine implements Engine {
  readonly #address: Address
  readonly #log: LogFailure
  /** The sessions that have got a context: the sessions of the orchestrator. */
  readonly sessions = new Set<string>()

  constructor(address: Address, log: LogFailure) {
    this.#address = address
    this.#log = log
  }

  /** Tells the driver that the bridge is there. Returns the tools that it offers. */
  async hello(directory: string): Promise<readonly Tool[]> {
    return (await this.#call("hello", { directory })).tools
  }

  /** Calls `ended` when the driver ends. Returns a function that stops waiting for that. */
  watch(ended: () => void): () => void {
    let isWatching = true
    const end = () => {
      if (isWatching) ended()
      isWatching = false
    }
    const sent = this.#send("GET", LIFE)
    sent.on("error", end)
    // A connection that is cut off is an error too, and Bun throws an error that has no listener.
    sent.on("response", (answer: IncomingMessage) => answer.on("error", end).on("close", end).resume())
    sent.end()
    return () => {
      isWatching = false
      sent.destroy()
    }
  }

  async attempt(name: string, work: () => void | Promise<void>): Promise<void> {
    try {
      await work()
    } catch (error) {
      this.#log(`${name} failed: ${messageOf(error)}`)
    }
  }

  async report(event: HostEvent, takePrompt?: TakePrompt): Promise<void> {
    const { prompts } = await this.#call("report", { event })
    for (const prompt of prompts) takePrompt?.(prompt)
  }

  async context(sessionID: string): Promise<SessionContext | undefined> {
    const { context } = await this.#call("context", { sessionID })
    if (context === null) return undefined
    this.sessions.add(sessionID)
    return context
  }

  async tool(sessionID: string, name: string, args: object, signal?: AbortSignal): Promise<HostAnswer> {
    try {
      return await this.#call("tool", { sessionID, name, args }, signal)
    } catch (error) {
      const text = `${name}: ${messageOf(error)}`
      return { text, title: text, ended: [], isError: true }
    }
  }

  #call<Name extends CallName>(
    name: Name,
    asks: Calls[Name]["asks"],
    signal?: AbortSignal,
  ): Promise<Calls[Name]["gets"]> {
    return new Promise((resolve, reject) => {
      const sent = this.#send("POST", name)
      const abort = () => sent.destroy(new Error("the call was aborted"))
      const fail = (error: Error) => {
        signal?.removeEventListener("abort", abort)
        reject(new Error(`the orchestrator does not answer: ${error.message}`, { cause: error }))
      }
      sent.on("error", fail)
      sent.on("response", (answer: IncomingMessage) => {
        read(answer).then((text) => {
          signal?.removeEventListener("abort", abort)
          if (answer.statusCode === 200) resolve(JSON.parse(text) as Calls[Name]["gets"])
          else reject(new Error(`the orchestrator has refused the call: ${text}`))
        }, fail)
      })
      signal?.addEventListener("abort", abort, { once: true })
      if (signal?.aborted) abort()
      else sent.end(JSON.stringify(asks))
    })
  }

  #send(method: string, name: string): ClientRequest {
    const { url, token } = this.#address
    return request(new URL(name, url), { method, agent, headers: { authorization: `Bearer ${token}` } })
  }
}

async function read(answer: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = []
  for await (const chunk of answer) chunks.push(chunk as Buffer)
  return Buffer.concat(chunks).toString()
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error)
}
