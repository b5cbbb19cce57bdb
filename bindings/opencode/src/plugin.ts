// Connects OpenCode's hooks and tools with the engine. The engine makes all decisions.

import { join } from "node:path"
import type { Config, Hooks, PluginInput, PluginOptions } from "@opencode-ai/plugin"
import type { Event } from "@opencode-ai/sdk"
import type { Tool } from "callstack-core"
import { Commands, isForPeople } from "./commands.js"
import { Context } from "./context.js"
import { answerOf, changesOf, childOf, hostEvent, pathOf, sessionMessage, textOf } from "./events.js"
import { Host } from "./host.js"
import { titleOf, waits } from "./titles.js"

/** Starts the plugin for one directory. If the stack cannot be opened, logs one message and registers no hooks. */
export async function server(input: PluginInput, options: PluginOptions = {}): Promise<Hooks> {
  const { folder, ...settings } = options
  const place = join(input.directory, typeof folder === "string" ? folder : ".opencode/stack")
  let host: Host
  try {
    // A static import would make OpenCode drop this file silently if the native library is missing.
    const callstack = await import("callstack-core")
    host = new Host(callstack, callstack.Stack.open(place), input)
  } catch (error) {
    const message = `[stack] disabled, OpenCode continues without it: ${error instanceof Error ? error.message : String(error)}`
    // Not awaited: OpenCode answers requests only after it has loaded its plugins.
    void input.client.app.log({ body: { service: "callstack", level: "error", message } }).catch(() => undefined)
    return {}
  }
  host.engine.configure(settings)
  return hooks(host, host.engine.stack.offeredTools())
}

function hooks(host: Host, tools: readonly Tool[]): Hooks {
  const { engine } = host
  const context = new Context(host)
  const commands = new Commands(host)
  const report = host.safe("event", async ({ event }: { event: Event }) => {
    // OpenCode does not wait for this hook.
    void context.prepare()
    const reported = await hostEvent(event, host)
    if (reported !== undefined) await engine.report(reported)
    if (reported?.kind === "message" && reported.summary !== true) {
      await host.reportFinished(reported.sessionID, reported.messageID)
    }
  })
  const configure = host.safe("config", (config: Config) => commands.register(config))
  const schemas = new Map(tools.map((tool) => [tool.name, tool.parameters]))
  return {
    tool: Object.fromEntries(tools.map((tool) => [tool.name, definition(host, tool)])),
    // OpenCode would mark all arguments as required.
    "tool.definition": host.safe("tool.definition", ({ toolID }, output) => {
      const schema = schemas.get(toolID)
      if (schema !== undefined) (output as { jsonSchema?: object }).jsonSchema = schema
    }),
    event: (input) => report(input, undefined),
    config: (config) => configure(config, undefined),
    "command.execute.before": host.safe("command", async ({ command, sessionID, arguments: text }, { parts }) => {
      await commands.execute(command, sessionID, text, parts)
    }),
    "chat.message": host.safe("chat.message", async ({ sessionID, agent, model }, { message, parts }) => {
      host.modes.set(sessionID, { agent: agent ?? message.agent, model: model ?? message.model })
      // A command of a person is no task for the agent, and no answer to a question of its frame.
      if (!isForPeople(parts)) {
        await engine.report({ kind: "message", sessionID, messageID: message.id, role: "user", text: textOf(parts) })
      }
      await engine.report({ kind: "messageFinished", sessionID, message: sessionMessage({ info: message, parts }) })
    }),
    "experimental.chat.messages.transform": host.safe("messages.transform", (_, { messages }) => {
      try {
        context.addVolatile(messages)
      } finally {
        host.requests.prepare(messages)
      }
    }),
    "experimental.chat.system.transform": host.safe("system.transform", async ({ sessionID, model }, { system }) => {
      if (sessionID === undefined) return
      host.limits.set(sessionID, model.limit?.context)
      await context.addStable(sessionID, system)
    }),
    "experimental.session.compacting": host.safe("session.compacting", async ({ sessionID }, output) => {
      context.compacting.add(sessionID)
      await engine.report({ kind: "sessionCompacting", sessionID }, (text) => output.context.push(text))
    }),
    "tool.execute.before": host.safe("tool.execute.before", ({ sessionID }) => host.requests.toolCalled(sessionID)),
    "tool.execute.after": host.safe("tool.execute.after", async ({ tool, sessionID, callID, args }, output) => {
      const path = pathOf(host.directory, args, output?.metadata)
      const changes = changesOf(host.directory, output?.metadata)
      const childID = childOf(output?.metadata)
      const answer = childID === undefined ? undefined : answerOf(output.output)
      await engine.report({ kind: "toolExecuted", sessionID, toolCallID: callID, tool, path, changes, childID, answer })
    }),
    dispose: async () => engine.close(),
  }
}

type Definition = NonNullable<Hooks["tool"]>[string]

/** Returns a tool in the form that OpenCode registers. The engine checks the arguments. */
function definition(host: Host, { name, description, parameters }: Tool): Definition {
  return {
    description,
    args: parameters.properties as Definition["args"],
    execute: async (args, context) => {
      const answer = await host.engine.tool(context.sessionID, name, args, context.abort)
      // OpenCode 1.18 ignores a title that a plugin sets earlier, with `context.metadata`.
      const title = titleOf(host.engine.stack, name, args, answer)
      if (!answer.isError && waits(name, args)) host.notify(title)
      return { title, output: answer.text }
    },
  }
}
