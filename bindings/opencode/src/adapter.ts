// OpenCode's sessions as the engine sees them: the data about them, and the hooks that report them. For this
// plugin, whose engine is in OpenCode's process, and for orchestrators, whose engine is in another process
// (`opencode-callstack/adapter`).

import type { Hooks, PluginInput } from "@opencode-ai/plugin"
import type { Event } from "@opencode-ai/sdk"
import type { Host, SessionMessage, Tool } from "callstack-core"
import { Context, type ContextSource, type Entry } from "./context.js"
import {
  answerOf,
  answersIn,
  changesOf,
  childOf,
  commandOf,
  hostEvent,
  isCompacted,
  isForPeople,
  messageOf,
  modelRequested,
  pathOf,
  type Sessions,
  sessionMessage,
  textOf,
} from "./events.js"
import { Requests } from "./requests.js"

export { isCompacted, messageOf, modelRequested, sessionMessage, textOf }

/** The methods of the engine that the hooks need. The class `Host` of callstack-core has them. */
export interface Engine extends Pick<Host, "attempt" | "report" | "tool">, ContextSource {}

/** The agent and the model of a session. */
export interface Mode {
  agent?: string | undefined
  model?: { providerID: string; modelID: string } | undefined
}

/** Connects an engine with OpenCode. */
export abstract class Adapter implements Sessions {
  readonly client: PluginInput["client"]
  readonly directory: string
  abstract readonly engine: Engine
  /** The requests to models that have no answer yet. */
  readonly requests = new Requests()
  /** The mode of each session, by session ID. */
  readonly modes = new Map<string, Mode>()
  /** Sessions from which messages were removed: a person has undone the messages. */
  readonly setBack = new Set<string>()
  /** Sessions for which a request has been made. */
  readonly #opened = new Set<string>()
  /** The context window of each session's model, in tokens, by session ID. */
  readonly limits = new Map<string, number | undefined>()

  constructor({ client, directory }: PluginInput) {
    this.client = client
    this.directory = directory
  }

  /** Wraps a hook so that it never throws: a failure is logged, and OpenCode continues without the hook. */
  safe<Input, Output>(
    name: string,
    hook: (input: Input, output: Output) => void | Promise<void>,
  ): (input: Input, output: Output) => Promise<void> {
    return (input, output) => this.engine.attempt(name, () => hook(input, output))
  }

  /** Returns the messages of a session; none if it does not exist. */
  async messages(sessionID: string): Promise<SessionMessage[]> {
    const { data } = await this.client.session.messages({ path: { id: sessionID } })
    return (data ?? []).map(sessionMessage)
  }

  /** Reports a message that is finished, with all its parts. */
  async reportFinished(sessionID: string, messageID: string): Promise<void> {
    const { data } = await this.client.session.message({ path: { id: sessionID, messageID } })
    if (data === undefined) return
    await this.engine.report({ kind: "messageFinished", sessionID, message: sessionMessage(data) })
  }

  /**
   * Reports what the person and the tools have said in a conversation, if the conversation may not be where
   * the engine assumes it to be. This is the case if a person has undone messages, or if the session is a
   * copy of another one.
   */
  async reportSetBack(messages: readonly Entry[]): Promise<void> {
    const sessionID = messages[0]?.info.sessionID
    if (sessionID === undefined) return
    const isOpened = !this.#opened.has(sessionID)
    this.#opened.add(sessionID)
    const isElsewhere = isOpened && messages.some(({ parts }) => answersIn(parts).length > 0)
    if (!(this.setBack.delete(sessionID) || isElsewhere)) return
    // The messages before a compaction count, too.
    const { data = [] } = await this.client.session.messages({ path: { id: sessionID } })
    await this.engine.report({
      kind: "sessionSetBack",
      sessionID,
      answers: data.flatMap(({ parts }) => answersIn(parts)),
      asked: data.flatMap(({ info, parts }) => (info.role === "user" ? [textOf(parts)] : [])),
    })
  }

  /**
   * Takes the stretches of frames that have ended in the same conversation out of the messages of a request.
   */
  fold?(messages: Entry[]): void

  /** Writes a line to OpenCode's log. */
  log(level: "debug" | "info" | "warn" | "error", message: string, extra: Record<string, unknown>): void {
    const body = { service: "callstack", level, message: `[stack] ${message}`, extra }
    void this.client.app.log({ body }).catch(() => undefined)
  }
}

/**
 * Returns the hooks that report sessions to the engine, offer its tools, and add its contexts to requests.
 *
 * @param notify - Shows people how a frame has ended, when a call reports its end.
 */
export function hooks(
  adapter: Adapter,
  tools: readonly Tool[],
  notify: (title: string) => void = () => undefined,
): Hooks {
  const { engine } = adapter
  const context = new Context(engine, adapter.client)
  const report = adapter.safe("event", async ({ event }: { event: Event }) => {
    // OpenCode does not wait for this hook.
    void context.prepare()
    const reported = await hostEvent(event, adapter)
    if (reported !== undefined) await engine.report(reported)
    if (reported?.kind === "message") {
      await adapter.reportFinished(reported.sessionID, reported.messageID)
    }
  })
  const schemas = new Map(tools.map((tool) => [tool.name, tool.parameters]))
  return {
    tool: Object.fromEntries(tools.map((tool) => [tool.name, definition(engine, tool, notify)])),
    // OpenCode would mark all arguments as required.
    "tool.definition": adapter.safe("tool.definition", ({ toolID }, output) => {
      const schema = schemas.get(toolID)
      if (schema !== undefined) (output as { jsonSchema?: object }).jsonSchema = schema
    }),
    event: (input) => report(input, undefined),
    "chat.message": adapter.safe("chat.message", async ({ sessionID, agent, model }, { message, parts }) => {
      adapter.modes.set(sessionID, { agent: agent ?? message.agent, model: model ?? message.model })
      // A command of a person is not a task for the agent, and not an answer to a question of its frame.
      if (!isForPeople(parts)) {
        const { id: messageID, time } = message
        const text = textOf(parts)
        await engine.report({ kind: "message", sessionID, messageID, role: "user", text, time: time.created })
      }
      await engine.report({ kind: "messageFinished", sessionID, message: sessionMessage({ info: message, parts }) })
    }),
    "experimental.chat.messages.transform": adapter.safe("messages.transform", async (_, { messages }) => {
      try {
        await adapter.reportSetBack(messages)
        adapter.fold?.(messages)
        await context.addVolatile(messages)
      } finally {
        adapter.requests.prepare(messages)
      }
    }),
    "experimental.chat.system.transform": adapter.safe("system.transform", async ({ sessionID, model }, { system }) => {
      if (sessionID === undefined) return
      adapter.limits.set(sessionID, model.limit?.context)
      await context.addStable(sessionID, system)
    }),
    "experimental.session.compacting": adapter.safe("session.compacting", async ({ sessionID }, output) => {
      context.compacting.add(sessionID)
      await engine.report({ kind: "sessionCompacting", sessionID }, (text) => output.context.push(text))
    }),
    "tool.execute.before": adapter.safe("tool.execute.before", ({ sessionID }) =>
      adapter.requests.toolCalled(sessionID),
    ),
    "tool.execute.after": adapter.safe("tool.execute.after", async ({ tool, sessionID, callID, args }, output) => {
      const path = pathOf(adapter.directory, args, output?.metadata)
      const changes = changesOf(adapter.directory, output?.metadata)
      const childID = childOf(output?.metadata)
      const answer = childID === undefined ? undefined : answerOf(output.output)
      const command = commandOf(tool, args)
      await engine.report({
        kind: "toolExecuted",
        sessionID,
        toolCallID: callID,
        tool,
        path,
        command,
        changes,
        childID,
        answer,
      })
    }),
  }
}

type Definition = NonNullable<Hooks["tool"]>[string]

/** Returns a tool in the form that OpenCode registers. The engine checks the arguments. */
function definition(
  engine: Engine,
  { name, description, parameters }: Tool,
  notify: (title: string) => void,
): Definition {
  return {
    description,
    args: parameters["properties"] as Definition["args"],
    execute: async (args, context) => {
      const answer = await engine.tool(context.sessionID, name, args, context.abort)
      // OpenCode 1.18 ignores a title that a plugin sets earlier, with `context.metadata`.
      if (answer.ended.length > 0) notify(answer.title)
      return { title: answer.title, output: answer.text }
    },
  }
}
