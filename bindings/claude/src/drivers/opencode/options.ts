// The options of the driver for OpenCode.

import { VARIABLES } from "./protocol.js"

/** Options of an {@link OpenCodeDriver}. */
export interface OpenCodeOptions {
  /** The model, as OpenCode names it: `provider/model`. Default: the model in OpenCode's configuration. */
  model?: string
  /** OpenCode's agent. Default: the agent in the configuration. */
  agent?: string
  /** The program that is started as a server, of the npm package `opencode-ai`. Default: `opencode`. */
  program?: string
  /**
   * Further keys of the server's configuration, as in `opencode.json`: providers, permissions, servers of
   * tools. The keys of the project and of the user come after these. The tools that a frame does not have are
   * refused, even if `permission` allows them. The tools that it has are allowed as OpenCode allows them. If
   * OpenCode would ask a person, the use is refused.
   */
  config?: Readonly<Record<string, unknown>>
  /** Environment variables of the server, in addition to those of this process. */
  env?: Readonly<Record<string, string | undefined>>
  /**
   * The address of a server that already runs; it may contain a user and a password. Its configuration must
   * have the plugin `callstack-flame/bridge`, and its environment CALLSTACK_FLAME_URL
   * (`http://127.0.0.1:PORT`, where the plugin reaches the driver) and CALLSTACK_FLAME_TOKEN (a secret that
   * both share). The server loads its configuration and plugins for the project's folder again when the
   * driver opens. Default: the driver starts a server, and ends it.
   */
  url?: string
  /** The same port and token for the driver. Default: those in the same variables of this process. */
  bridge?: BridgeOptions
}

/** Where the plugin reaches the driver, in a server that already runs. */
export interface BridgeOptions {
  port: number
  token: string
}

/**
 * Returns where the bridge of a server that already runs reaches the driver; undefined if the driver starts a
 * server of its own.
 */
export function bridgeOf({ url, bridge }: OpenCodeOptions): BridgeOptions | undefined {
  if (url === undefined || bridge !== undefined) return bridge
  const { [VARIABLES.url]: address, [VARIABLES.token]: token } = process.env
  const port = Number(address === undefined ? "" : new URL(address).port)
  if (token !== undefined && port > 0) return { port, token }
  throw new Error(
    `the option \`url\` needs the option \`bridge\`, or the variables ${VARIABLES.url} and ${VARIABLES.token} that the server has`,
  )
}
