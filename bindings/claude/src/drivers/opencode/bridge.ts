// The bridge: a plugin that the driver loads into OpenCode's server. It offers the tools of the stack there,
// and connects the sessions with the orchestrator, which is the host of the engine. OpenCode requires that
// this file exports nothing else.

import type { Hooks, PluginInput, PluginModule, PluginOptions } from "@opencode-ai/plugin"
import { Adapter, hooks } from "opencode-callstack/adapter"
import { RemoteEngine } from "./engine.js"
import { type Address, VARIABLES } from "./protocol.js"

/** Connects OpenCode with the engine behind the driver. */
class Bridge extends Adapter {
  readonly engine: RemoteEngine

  constructor(input: PluginInput, address: Address) {
    super(input)
    this.engine = new RemoteEngine(address, (message) => this.log("error", message, {}))
  }

  /**
   * Aborts the sessions of the orchestrator, because the orchestrator has ended. Also ends the server, if the
   * server belongs to the orchestrator.
   */
  async end(): Promise<void> {
    const aborted = [...this.engine.sessions].map((id) => this.client.session.abort({ path: { id } }))
    await Promise.allSettled(aborted)
    if (process.env[VARIABLES.isOwned] !== undefined) process.exit(0)
    this.log("info", "the orchestrator has ended, and its sessions are aborted", {})
  }
}

async function server(input: PluginInput, options: PluginOptions = {}): Promise<Hooks> {
  const url = options["url"] ?? process.env[VARIABLES.url]
  const token = options["token"] ?? process.env[VARIABLES.token]
  if (typeof url !== "string" || typeof token !== "string") {
    const message = `[stack] the bridge needs the variables ${VARIABLES.url} and ${VARIABLES.token}, or the options url and token`
    // Not awaited: OpenCode answers requests only after it has loaded its plugins.
    void input.client.app.log({ body: { service: "callstack", level: "error", message } }).catch(() => undefined)
    return {}
  }
  const bridge = new Bridge(input, { url, token })
  try {
    const tools = await bridge.engine.hello(input.directory)
    const unwatch = bridge.engine.watch(() => void bridge.end())
    return {
      ...hooks(bridge, tools),
      // A program that an agent runs in a shell must not be able to call the orchestrator in the agent's
      // name.
      "shell.env": (_, { env }) => {
        for (const name of [VARIABLES.url, VARIABLES.token, "OPENCODE_SERVER_PASSWORD"]) env[name] = ""
        return Promise.resolve()
      },
      dispose: () => Promise.resolve(unwatch()),
    }
  } catch (error) {
    bridge.log("warn", `the bridge is idle: ${error instanceof Error ? error.message : String(error)}`, {})
    return {}
  }
}

const plugin: PluginModule = { id: "callstack-flame", server }

export default plugin
