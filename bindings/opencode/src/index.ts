// The OpenCode plugin. Its default export is all that OpenCode may find in this file.

import type { PluginModule } from "@opencode-ai/plugin"
import { server } from "./plugin.js"

const plugin: PluginModule = { id: "opencode-callstack", server }

export default plugin
