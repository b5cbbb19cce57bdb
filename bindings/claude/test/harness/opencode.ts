// OpenCode in a world: the real program, a configuration whose only provider is the scripted model, and
// nothing to install.

import { mkdirSync, readFileSync, writeFileSync } from "node:fs"
import { createRequire } from "node:module"
import { dirname, join } from "node:path"
import { readJson } from "./json.js"
import type { World } from "./world.js"

/** What a driver for OpenCode needs in a world. */
export interface OpenCodeWorld {
  program: string
  env: Record<string, string>
  config: Record<string, unknown>
}

/** Disables everything that OpenCode would fetch from the network or do in the background. */
const QUIET = [
  "AUTOUPDATE",
  "SHARE",
  "MODELS_FETCH",
  "DEFAULT_PLUGINS",
  "LSP_DOWNLOAD",
  "EXTERNAL_SKILLS",
  "CLAUDE_CODE",
  "EMBEDDED_WEB_UI",
]

/** The price of the scripted model, in US dollars for a million tokens. */
const COST = { input: 1000, output: 2000, cache_read: 100, cache_write: 1250 }

/** Prepares a world for OpenCode. */
export function openCodeIn({ root, model }: World): OpenCodeWorld {
  const manifest = createRequire(import.meta.url).resolve("opencode-ai/package.json")
  const { version } = readJson<{ version: string }>(readFileSync(manifest, "utf8"))
  const places = ["config", "data", "cache", "state"].map((name): [string, string] => [
    `XDG_${name.toUpperCase()}_HOME`,
    join(root, "home", name),
  ])
  // OpenCode installs its package for plugins into a folder of configuration, unless the folder has a lock file with it.
  const folder = join(root, "home", "config", "opencode")
  mkdirSync(join(folder, "node_modules"), { recursive: true })
  const installed = { dependencies: { "@opencode-ai/plugin": version } }
  writeFileSync(join(folder, "package.json"), JSON.stringify(installed))
  const lock = { name: "config", lockfileVersion: 3, requires: true, packages: { "": installed } }
  writeFileSync(join(folder, "package-lock.json"), JSON.stringify(lock))
  const scripted = { name: "Scripted", tool_call: true, limit: { context: 200_000, output: 8192 }, cost: COST }
  return {
    program: join(dirname(manifest), "bin", "opencode.exe"),
    env: Object.fromEntries([...places, ...QUIET.map((name) => [`OPENCODE_DISABLE_${name}`, "1"])]),
    config: {
      autoupdate: false,
      share: "disabled",
      model: "scripted/main",
      small_model: "scripted/main",
      enabled_providers: ["scripted"],
      provider: {
        scripted: {
          npm: "@ai-sdk/anthropic",
          name: "Scripted",
          options: { baseURL: `${model.url}/v1`, apiKey: "scripted" },
          models: { main: scripted, other: scripted },
        },
      },
    },
  }
}
