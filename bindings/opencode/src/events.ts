// Converts OpenCode's events into events of the engine.

import { isAbsolute, relative, sep } from "node:path"
import type { Event, Message, Part } from "@opencode-ai/sdk"
import type { FileChange, HostEvent, ModelRequest, SessionMessage } from "callstack-core"
import type { Requests } from "./requests.js"

/** The data about OpenCode's sessions that their events do not have. */
export interface Sessions {
  /** The requests to models that have no answer yet. */
  readonly requests: Requests
  /** Sessions from which messages were removed: a person has undone the messages. */
  readonly setBack: Set<string>
  /** The context window of each session's model, in tokens, by session ID. */
  readonly limits: ReadonlyMap<string, number | undefined>
  /** Returns the messages of a session; none if it does not exist. */
  messages(sessionID: string): Promise<SessionMessage[]>
}

/**
 * The request of a message that does not belong to the conversation. Nothing else of the message's event is
 * used.
 */
export function modelRequested(message: {
  sessionID: string
  messageID: string
  time?: number | undefined
  request?: ModelRequest | undefined
}): HostEvent | undefined {
  const { sessionID, messageID: requestID, time, request } = message
  return request && { kind: "modelRequested", sessionID, requestID, time, request }
}

/** Converts an event of OpenCode; returns undefined for an event that the engine does not use. */
export async function hostEvent(event: Event, sessions: Sessions): Promise<HostEvent | undefined> {
  switch (event.type) {
    case "session.created":
    case "session.updated": {
      const { id: sessionID, parentID, title } = event.properties.info
      if (event.type === "session.updated") return { kind: "sessionUpdated", sessionID, title }
      return { kind: "sessionCreated", sessionID, parentID, title }
    }
    case "session.idle":
      return { kind: "sessionIdle", sessionID: event.properties.sessionID }
    case "session.deleted":
      sessions.requests.forget(event.properties.info.id)
      return { kind: "sessionDeleted", sessionID: event.properties.info.id }
    case "session.status": {
      const { sessionID, status } = event.properties
      const request = status.type === "retry" ? sessions.requests.failed(sessionID) : undefined
      if (status.type !== "retry" || request === undefined) return undefined
      // OpenCode repeats the request for the same message.
      return { kind: "modelRequested", sessionID, requestID: `retry-${status.next}-${status.attempt}`, request }
    }
    case "session.error": {
      const { sessionID, error } = event.properties
      return sessionID === undefined ? undefined : { kind: "sessionError", sessionID, message: messageOf(error) }
    }
    case "session.compacted": {
      const { sessionID } = event.properties
      return { kind: "sessionCompacted", sessionID, messages: await sessions.messages(sessionID) }
    }
    case "message.updated": {
      const { info } = event.properties
      if (info.role !== "assistant" || info.time.completed === undefined) return undefined
      const { id: messageID, sessionID, tokens, time } = info
      const request = sessions.requests.answered(info)
      // The summary of a compaction is not a message of the conversation.
      if (info.summary === true) return modelRequested({ sessionID, messageID, time: time.created, request })
      const used = tokens.input + tokens.output + tokens.cache.read + tokens.cache.write
      return {
        kind: "message",
        sessionID,
        messageID,
        role: "assistant",
        text: "",
        time: time.created,
        tokens: used,
        contextLimit: sessions.limits.get(sessionID),
        request,
      }
    }
    case "message.removed":
      sessions.setBack.add(event.properties.sessionID)
      return undefined
    case "message.part.updated": {
      const { part } = event.properties
      if (part.type !== "tool" || part.state.status !== "error") return undefined
      const { sessionID, callID: toolCallID, tool, state } = part
      const childID = childOf(state.metadata)
      return { kind: "toolExecuted", sessionID, toolCallID, tool, failed: true, childID, answer: state.error }
    }
    default:
      return undefined
  }
}

/** Converts a message, with all its parts for the log. */
export function sessionMessage({ info, parts }: { info: Message; parts: Part[] }): SessionMessage {
  const summary = info.role === "assistant" && info.summary === true
  const unfinished = info.role === "assistant" && info.time.completed === undefined
  return { id: info.id, role: info.role, text: textOf(parts), summary, unfinished, time: info.time.created, parts }
}

/**
 * Whether the newest compaction of a session has left a summary. OpenCode reports the end of a compaction
 * even if it has failed.
 */
export function isCompacted(messages: readonly { info: Message }[]): boolean {
  const infos = messages.flatMap(({ info }) => (info.role === "assistant" && info.summary === true ? [info] : []))
  const newest = infos.at(-1)
  return newest !== undefined && newest.error === undefined
}

/**
 * Returns the text of a message: its text parts, one per line, without those that OpenCode or the plugin
 * generated.
 */
export function textOf(parts: readonly Part[]): string {
  const texts = parts.map((part) =>
    part.type === "text" && part.synthetic !== true && part.ignored !== true ? part.text : "",
  )
  return texts.filter((text) => text !== "").join("\n")
}

/** Returns the answers of the stack's tools in a message. */
export function answersIn(parts: readonly Part[]): string[] {
  return parts.flatMap((part) =>
    part.type === "tool" && part.tool.startsWith("stack_") && part.state.status === "completed"
      ? [part.state.output]
      : [],
  )
}

/** Whether a message is only for people: it shows something that no model gets. */
export function isForPeople(parts: readonly Part[]): boolean {
  return parts.some((part) => part.type === "text" && part.ignored === true)
}

/**
 * Returns the path of the file with which a tool was called: relative to the project's folder if the file is
 * inside it.
 */
export function pathOf(directory: string, args: unknown, metadata: unknown): string | undefined {
  const path = textAt(metadata, "filepath") ?? textAt(args, "filePath")
  return path && within(directory, path)
}

/** Returns the command line that a tool has run in a shell. */
export function commandOf(tool: string, args: unknown): string | undefined {
  return tool === "bash" ? textAt(args, "command") : undefined
}

/**
 * Returns the changes of a tool that changes several files, such as `apply_patch`. Its metadata lists them.
 */
export function changesOf(directory: string, metadata: unknown): FileChange[] {
  const files = typeof metadata === "object" && metadata !== null && "files" in metadata ? metadata.files : undefined
  return Array.isArray(files) ? files.flatMap((file: unknown) => changeOf(directory, file) ?? []) : []
}

function changeOf(directory: string, file: unknown): FileChange | undefined {
  const filePath = textAt(file, "filePath")
  if (filePath === undefined) return undefined
  const path = within(directory, filePath)
  switch (textAt(file, "type")) {
    case "add":
    case "update":
      return { kind: "written", path }
    case "delete":
      return { kind: "deleted", path }
    case "move":
      return { kind: "renamed", from: path, to: within(directory, textAt(file, "movePath") ?? filePath) }
    default:
      return undefined
  }
}

function within(directory: string, path: string): string {
  if (!isAbsolute(path)) return path
  const inside = relative(directory, path)
  return inside === ".." || inside.startsWith(`..${sep}`) ? path : inside
}

/** Returns the session in which the Task tool has worked; undefined if it does not wait for that session. */
export function childOf(metadata: unknown): string | undefined {
  const isBackground = typeof metadata === "object" && metadata !== null && "background" in metadata
  return isBackground ? undefined : textAt(metadata, "sessionId")
}

/** Returns the answer of a subagent: the text inside the tags in which the Task tool returns it. */
export function answerOf(output: string): string {
  return /<task_result>\s*([\s\S]*?)\s*<\/task_result>\s*(<\/task>\s*)?$/.exec(output)?.[1] ?? output
}

/** Returns the message of an error of any kind. */
export function messageOf(error: unknown): string {
  const data = typeof error === "object" && error !== null && "data" in error ? error.data : undefined
  return textAt(data, "message") ?? textAt(error, "message") ?? textAt(error, "name") ?? String(error)
}

function textAt(object: unknown, key: string): string | undefined {
  if (typeof object !== "object" || object === null) return undefined
  const value = (object as Record<string, unknown>)[key]
  return typeof value === "string" && value !== "" ? value : undefined
}
