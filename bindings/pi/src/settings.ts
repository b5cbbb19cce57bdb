// The settings of a person: a JSON file for all projects, and a file of the project, whose values have
// priority.

import { existsSync, readFileSync } from "node:fs"
import { join, resolve } from "node:path"
import { getAgentDir } from "@mariozechner/pi-coding-agent"
import type { HostSettings } from "callstack-core"

/** The name of both files. */
const FILE = "callstack.json"

/** An object of JSON. */
type Fields = Record<string, unknown>

/** The content of the files. */
export interface Settings {
  /** The folder of the stack, or its URL. */
  place: string
  /** The settings of the engine, which checks them. */
  engine: HostSettings
  /** The problems with the files. */
  problems: string[]
}

/** Reads the settings for a project's folder. A file that cannot be read counts as empty. */
export function readSettings(directory: string): Settings {
  const problems: string[] = []
  let found: Fields = {}
  for (const file of [join(getAgentDir(), FILE), join(directory, ".pi", FILE)]) {
    try {
      if (existsSync(file)) found = merged(found, fieldsOf(JSON.parse(readFileSync(file, "utf8"))))
    } catch (error) {
      problems.push(`${file} is ignored: ${error instanceof Error ? error.message : String(error)}`)
    }
  }
  const { folder, ...settings } = found
  // The environment names the stack of a run, and has priority over the settings.
  const named = process.env["CALLSTACK_DIR"] || (typeof folder === "string" ? folder : ".pi/stack")
  // A frame of pi has no session of its own.
  const engine: HostSettings = merged(settings, { calls: { in: "conversation" } })
  // A stack on a server has a URL.
  return { place: named.includes("://") ? named : resolve(directory, named), engine, problems }
}

/**
 * Returns an object with the values of two objects. The values of the second one have priority. The same
 * applies to objects within them.
 */
function merged(first: Fields, second: Fields): Fields {
  const both = (key: string, value: unknown) => {
    const before = first[key]
    return isFields(before) && isFields(value) ? merged(before, value) : value
  }
  return { ...first, ...Object.fromEntries(Object.entries(second).map(([key, value]) => [key, both(key, value)])) }
}

function fieldsOf(value: unknown): Fields {
  if (!isFields(value)) throw new Error("it must be a JSON object")
  return value
}

function isFields(value: unknown): value is Fields {
  return typeof value === "object" && value !== null && !Array.isArray(value)
}
