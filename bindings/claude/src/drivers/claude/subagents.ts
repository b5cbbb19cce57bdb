// The subagents of the SDK: their words and their use of tokens, as sessions of the engine below the session
// that has started them. The work that a frame's agent hands to a subagent is a frame of its own, with a log.

import type { SDKAssistantMessage, SDKUserMessage } from "@anthropic-ai/claude-agent-sdk"
import type { HostEvent } from "callstack-core"
import { type Counted, countOf } from "./counted.js"

/** The data with which a subagent was started. */
interface Started {
  description: string
  prompt: string
}

/** A message of a subagent's model while its blocks are still coming. */
interface Unfinished {
  id: string
  model: string
  counted: Counted
  begun: number
  parts: unknown[]
}

/** The tool that starts a subagent, under its names. */
export const startsAgent = (tool: string) => tool === "Agent" || tool === "Task"

/** The calls that start subagents, until the subagents begin. */
export class StartedAgents {
  /** By the type of the subagent, oldest first. */
  readonly #started = new Map<string, Started[]>()

  /** A call is about to start a subagent. */
  start(input: unknown): void {
    const { subagent_type: type, description, prompt } = (input ?? {}) as Record<string, unknown>
    const started = { description: String(description ?? ""), prompt: String(prompt ?? "") }
    const key = typeof type === "string" ? type : "general-purpose"
    this.#started.set(key, [...(this.#started.get(key) ?? []), started])
  }

  /** Returns the events of a subagent that begins: its session, and its task. */
  begin(agentID: string, type: string, parentID: string): HostEvent[] {
    const { description, prompt } = this.#started.get(type)?.shift() ?? { description: "", prompt: "" }
    const title = `${description || type} (@${type} subagent)`
    const created: HostEvent = { kind: "sessionCreated", sessionID: agentID, parentID, title }
    if (prompt === "") return [created]
    const messageID = `${agentID}-task`
    return [created, { kind: "message", sessionID: agentID, messageID, role: "user", text: prompt }]
  }
}

/** Reads the messages of the subagents of a turn. */
export class SubagentMessages {
  readonly #report: (event: HostEvent) => void
  readonly #unfinished = new Map<string, Unfinished>()
  /**
   * The subagents by the calls that have started them: the outcomes of the subagents' tools name only these
   * calls.
   */
  readonly #byCall = new Map<string, string>()

  /**
   * The messages whose requests were reported. A tool that ends between the blocks of a message also ends the
   * message.
   */
  readonly #reported = new Set<string>()
  /** The last request of a subagent: the SDK reports the tokens of its answer only in the sum of the turn. */
  #last: Extract<HostEvent, { kind: "message" }> | undefined

  constructor(report: (event: HostEvent) => void) {
    this.#report = report
  }

  /** Takes a block of a message. Returns the tokens of a request that is complete now. */
  collect({ message, error, agent_id: agentID, parent_tool_use_id: call }: SDKAssistantMessage): Counted[] {
    if (error !== undefined || agentID === undefined) return []
    if (call !== null) this.#byCall.set(call, agentID)
    const known = this.#unfinished.get(agentID)
    const ended = known !== undefined && known.id !== message.id ? this.finish(agentID) : []
    const { id, model, content } = message
    const parts = known?.id === id ? known.parts : []
    parts.push(...content)
    const begun = known?.id === id ? known.begun : Date.now()
    this.#unfinished.set(agentID, { id, model, counted: countOf(message.usage), begun, parts })
    return ended
  }

  /** Takes the outcomes of tools. */
  answered({ uuid, parent_tool_use_id: call, message: { content } }: SDKUserMessage): Counted[] {
    const agentID = this.#byCall.get(call ?? "")
    // Without a call, the message is the task of the subagent. The hooks report the task.
    if (agentID === undefined) return []
    const ended = this.finish(agentID)
    const text = typeof content === "string" ? content : ""
    const parts = typeof content === "string" ? [] : content
    const message = { id: uuid ?? `${agentID}-${Date.now()}`, role: "user", text, time: Date.now(), parts }
    this.#report({ kind: "messageFinished", sessionID: agentID, message })
    return ended
  }

  /** Reports the last message of a subagent, or of all. */
  finish(agentID?: string): Counted[] {
    const agents = agentID === undefined ? [...this.#unfinished.keys()] : [agentID]
    return agents.flatMap((sessionID) => {
      const message = this.#unfinished.get(sessionID)
      this.#unfinished.delete(sessionID)
      if (message === undefined || this.#reported.has(message.id)) return []
      this.#reported.add(message.id)
      const { id, model, counted, begun: time, parts } = message
      const blocks = parts as { type?: string; text?: string }[]
      const text = blocks.flatMap((block) => (block.type === "text" ? [block.text ?? ""] : [])).join("\n")
      const request = { model, ...counted, duration: Date.now() - time }
      this.#tellLast()
      this.#last = { kind: "message", sessionID, messageID: id, role: "assistant", text, time, request }
      this.#report({ kind: "messageFinished", sessionID, message: { id, role: "assistant", text, time, parts } })
      return [counted]
    })
  }

  /**
   * Reports the last request, with these tokens of answers, which no message has reported. Returns false if
   * there is no last request.
   */
  settle(output: number): boolean {
    const { request } = this.#last ?? {}
    if (request !== undefined) request.output = (request.output ?? 0) + output
    return this.#tellLast()
  }

  #tellLast(): boolean {
    const last = this.#last
    this.#last = undefined
    if (last !== undefined) this.#report(last)
    return last !== undefined
  }
}
