// Finds the native library.

import { existsSync } from "node:fs"
import { createRequire } from "node:module"
import { arch, env, platform } from "node:process"
import { fileURLToPath } from "node:url"
import { CallstackError } from "./error.js"

/** A place where the library may be found. */
interface Place {
  /** A description for error messages. */
  readonly what: string
  /** The file; undefined if the place does not exist on this machine. */
  readonly path: string | undefined
}

/** The name of the library by operating system: in the platform's package, and as cargo builds it. */
const FILES: Readonly<Record<string, { packaged: string; built: string }>> = {
  linux: { packaged: "libcallstack.so", built: "libcallstack_core.so" },
  darwin: { packaged: "libcallstack.dylib", built: "libcallstack_core.dylib" },
  win32: { packaged: "callstack.dll", built: "callstack_core.dll" },
}

/**
 * Returns the file of the library. Looks at the environment variable `CALLSTACK_LIBRARY`, then in the platform's package,
 * then in the source tree. If `CALLSTACK_LIBRARY` is set, only that file counts.
 *
 * @throws a {@link CallstackError} with code `library` that lists all places, if none has the file.
 */
export function findLibrary(): string {
  const chosen = env["CALLSTACK_LIBRARY"]
  if (chosen !== undefined && chosen !== "") {
    // No fallback: another library than the named one would be a surprise.
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
  const looked = places.map(({ what, path }) => `${what}: ${path ?? "not found"}`)
  const message =
    `the native library of callstack-core was not found for ${platform}-${arch}; looked at ${looked.join("; ")}. ` +
    "Install the platform's package, or set CALLSTACK_LIBRARY to the library's file"
  return new CallstackError("library", message, { platform, arch, looked })
}
