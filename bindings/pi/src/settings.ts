// The settings of a person: a JSON file for all projects, and one of the project, which has priority.

import { existsSync, readFileSync } from "node:fs"
import { join } from "node:path"
import { getAgentDir } from "@mariozechner/pi-coding-agent"
import type { HostSettings } from "callstack-core"

/** The name of both files. */
const FILE = "callstack.json"

/** What the files say. */
export interface Settings {
  /** The folder of the stack, or its URL. */
  place: string
  /** The settings of the engine, in the order in which they are applied. */
  engine: HostSettings[]
  /** What is wrong with the files. */
  problems: string[]
}

/** Reads the settings for a project's folder. A file that cannot be read counts as empty. */
export function readSettings(directory: string): Settings {
  const problems: string[] = []
  let folder = ".pi/stack"
  const engine: HostSettings[] = []
  for (const file of [join(getAgentDir(), FILE), join(directory, ".pi", FILE)]) {
    try {
      if (!existsSync(file)) continue
      const { folder: named, ...settings } = JSON.parse(readFileSync(file, "utf8"))
      if (typeof named === "string") folder = named
      engine.push(settings)
    } catch (error) {
      problems.push(`${file} is ignored: ${error instanceof Error ? error.message : String(error)}`)
    }
  }
  // A frame of pi has no session of its own.
  engine.push({ calls: { in: "conversation" } as object })
  // A stack on a server has a URL.
  return { place: folder.includes("://") ? folder : join(directory, folder), engine, problems }
}
