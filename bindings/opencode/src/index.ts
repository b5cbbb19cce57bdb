// The entry point of the plugin. OpenCode requires that this file exports nothing else.

import type { PluginModule } from "@opencode-ai/plugin"
import { server } from "./plugin.js"

const plugin: PluginModule = { id: "opencode-callstack", server }

export default plugin
