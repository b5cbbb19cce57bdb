// Where the native library is.

import { existsSync } from "node:fs"
import { createRequire } from "node:module"
import { arch, env, platform } from "node:process"
import { fileURLToPath } from "node:url"
import { CallstackError } from "./error.js"

/** A place where the library may be. */
interface Place {
  /** What the place is, for people. */
  readonly what: string
  /** The file; undefined if there is no such place here. */
  readonly path: string | undefined
}

/** The file of the library, from the environment, the platform's package, or a checkout of the source. */
export function findLibrary(): string {
  const chosen = env["CALLSTACK_LIBRARY"]
  if (chosen !== undefined && chosen !== "") {
    // Who names a library does not want another one.
    if (existsSync(chosen)) return chosen
    throw notFound([{ what: "the environment variable CALLSTACK_LIBRARY", path: chosen }])
  }
  const platformPackage = `callstack-core-${platform}-${arch}`
  const built = new URL("../../../target/capi/release/libcallstack_core.so", import.meta.url)
  const places: Place[] = [
    { what: `the package ${platformPackage}`, path: resolve(`${platformPackage}/libcallstack.so`) },
    { what: "the source tree (`make native` builds it)", path: fileURLToPath(built) },
  ]
  for (const { path } of places) {
    if (path !== undefined && existsSync(path)) return path
  }
  throw notFound(places)
}

function resolve(name: string): string | undefined {
  try {
    return createRequire(import.meta.url).resolve(name)
  } catch {
    return undefined
  }
}

function notFound(places: readonly Place[]): CallstackError {
  const looked = places.map(({ what, path }) => `${what}: ${path ?? "not installed"}`)
  const message =
    `the native library of callstack-core was not found for ${platform}-${arch}; looked at ${looked.join("; ")}. ` +
    "Install the platform's package, or set CALLSTACK_LIBRARY to the library's file"
  return new CallstackError("library", message, { platform, arch, looked })
}
