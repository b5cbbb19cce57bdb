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

/** What the library is called in a platform's package, and where cargo builds it. */
const FILES: Readonly<Record<string, { packaged: string; built: string }>> = {
  linux: { packaged: "libcallstack.so", built: "libcallstack_core.so" },
  darwin: { packaged: "libcallstack.dylib", built: "libcallstack_core.dylib" },
  win32: { packaged: "callstack.dll", built: "callstack_core.dll" },
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
  const files = FILES[platform]
  const places: Place[] = [
    { what: `the package ${platformPackage}`, path: files && resolve(`${platformPackage}/${files.packaged}`) },
    { what: "the source tree (`make native` builds it)", path: files && inSource(files.built) },
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

function inSource(file: string): string {
  return fileURLToPath(new URL(`../../../target/capi/release/${file}`, import.meta.url))
}

function notFound(places: readonly Place[]): CallstackError {
  const looked = places.map(({ what, path }) => `${what}: ${path ?? "not there"}`)
  const message =
    `the native library of callstack-core was not found for ${platform}-${arch}; looked at ${looked.join("; ")}. ` +
    "Install the platform's package, or set CALLSTACK_LIBRARY to the library's file"
  return new CallstackError("library", message, { platform, arch, looked })
}
