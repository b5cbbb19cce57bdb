// The options of the driver for OpenCode.

/** Options of an {@link OpenCodeDriver}. */
export interface OpenCodeOptions {
  /** The model, as OpenCode names it: `provider/model`. Default: that of OpenCode's configuration. */
  model?: string
  /** OpenCode's agent. Default: that of the configuration. */
  agent?: string
  /** The program that is started as a server. Default: `opencode`. */
  program?: string
  /** Further keys of the server's configuration, as in `opencode.json`: providers, permissions, servers of tools. */
  config?: Readonly<Record<string, unknown>>
  /** Environment variables of the server, besides those of this process. */
  env?: Readonly<Record<string, string | undefined>>
  /**
   * The address of a server that runs already; it may contain a user and a password. Its configuration must have the plugin
   * `callstack-flame/bridge`, and its environment CALLSTACK_FLAME_URL and CALLSTACK_FLAME_TOKEN, the address
   * `http://127.0.0.1:PORT` and the token of `bridge`. Default: the driver starts a server, and ends it.
   */
  url?: string
  /** Where the plugin in a server that runs already reaches the driver. */
  bridge?: { port: number; token: string }
}
