// Starts the plugin: opens the stack, and connects the engine with OpenCode's hooks. The engine makes all
// decisions.

import { resolve } from "node:path"
import type { Config, Hooks, PluginInput, PluginOptions } from "@opencode-ai/plugin"
import { hooks } from "./adapter.js"
import { Commands } from "./commands.js"
import { Host } from "./host.js"

/**
 * Starts the plugin for one directory. If the stack cannot be opened, logs one message and registers no
 * hooks.
 */
export async function server(input: PluginInput, options: PluginOptions = {}): Promise<Hooks> {
  // An orchestrator that runs its sessions in this server has an engine of its own.
  if (process.env["CALLSTACK_FLAME_URL"] !== undefined) return {}
  const { folder, ...settings } = options
  // The environment names the stack of a run, and has priority over the settings.
  const named = process.env["CALLSTACK_DIR"] || (typeof folder === "string" ? folder : ".opencode/stack")
  // A stack on a server has a URL.
  const place = named.includes("://") ? named : resolve(input.directory, named)
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
  host.engine.configure(inConversation(settings))
  return { ...hooks(host, host.engine.stack.tools(), (title) => host.notify(title)), ...forPeople(host) }
}

/**
 * Settings with which frames are worked on in one conversation, which this plugin folds, unless the settings
 * say something else.
 */
function inConversation(settings: PluginOptions): PluginOptions {
  const { calls = {} } = settings
  const isSection = typeof calls === "object" && calls !== null && !Array.isArray(calls)
  return isSection ? { ...settings, calls: { in: "conversation", ...calls } } : settings
}

/** Returns the hooks of the slash commands, and the hook for the end of the plugin. */
function forPeople(host: Host): Hooks {
  const commands = new Commands(host)
  const configure = host.safe("config", (config: Config) => commands.register(config))
  return {
    config: (config) => configure(config, undefined),
    "command.execute.before": host.safe("command", async ({ command, sessionID, arguments: text }, { parts }) => {
      await commands.execute(command, sessionID, text, parts)
    }),
    dispose: async () => host.engine.close(),
  }
}
