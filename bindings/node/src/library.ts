// Finds the native library.

import { existsSync } from "node:fs"
import { createRequire } from "node:module"
import { arch, env, platform, report } from "node:process"
import { fileURLToPath } from "node:url"
import { CallstackError } from "./error.js"

/** The machine that a library is needed for. */
export interface Machine {
  /** As `process.platform` names it. */
  readonly platform: string
  /** As `process.arch` names it. */
  readonly arch: string
  /** Whether the C library of a Linux system is musl instead of glibc. */
  readonly musl: boolean
}

/** A place where the library may be found. */
interface Place {
  /** A description for error messages. */
  readonly what: string
  /** The file; undefined if the place does not exist on this machine. */
  readonly path: string | undefined
}

/** The name of the library by operating system. */
const FILES: Readonly<Record<string, string>> = {
  linux: "libcallstack.so",
  darwin: "libcallstack.dylib",
  win32: "callstack.dll",
}

/** The machines that have a package. A test compares them with the list of the release. */
export const SUPPORTED: readonly string[] = [
  "linux-x64",
  "linux-arm64",
  "linux-x64-musl",
  "linux-arm64-musl",
  "darwin-arm64",
  "darwin-x64",
  "win32-x64",
]

/**
 * Returns the file of the library. Looks at the environment variable `CALLSTACK_LIBRARY`, then in the
 * platform's package, then in the source tree. If `CALLSTACK_LIBRARY` is set, only that file counts.
 *
 * @throws a {@link CallstackError} with code `library` that lists all places, if none has the file.
 */
export function findLibrary(): string {
  const chosen = env["CALLSTACK_LIBRARY"]
  if (chosen !== undefined && chosen !== "") {
    // No fallback: another library than the named one would be a surprise.
    if (existsSync(chosen)) return chosen
    const looked = [`the environment variable CALLSTACK_LIBRARY: ${chosen}`]
    const message = `the native library of callstack-core was not found; looked at ${looked}`
    throw new CallstackError("library", message, { platform, arch, looked })
  }
  const machine = thisMachine()
  const packageName = packageFor(machine)
  const file = FILES[platform]
  const places: Place[] = [
    { what: `the package ${packageName}`, path: file && resolve(`${packageName}/${file}`) },
    { what: "the source tree (`make native` builds it)", path: file && inSource(file) },
  ]
  for (const { path } of places) {
    if (path !== undefined && existsSync(path)) return path
  }
  const looked = places.map(({ what, path }) => `${what}: ${path ?? "not found"}`)
  throw new CallstackError("library", explain(machine, looked), { platform, arch, looked })
}

/** The machine that this program runs on. */
export function thisMachine(): Machine {
  return { platform, arch, musl: platform === "linux" && usesMusl() }
}

/** The package that has the library of a machine. */
export function packageFor({ platform, arch, musl }: Machine): string {
  return `callstack-core-${platform}-${arch}${musl ? "-musl" : ""}`
}

/** Says why a library is missing, and how to get it. */
export function explain(machine: Machine, looked: readonly string[]): string {
  const packageName = packageFor(machine)
  const name = packageName.replace("callstack-core-", "")
  const missing = `the native library of callstack-core was not found for ${name}; looked at ${looked.join("; ")}. `
  const own = "CALLSTACK_LIBRARY can name the file of a library that you have built"
  if (!SUPPORTED.includes(name)) {
    return `${missing}There is no package for ${name}, only for ${SUPPORTED.join(", ")}; ${own}`
  }
  return (
    `${missing}The optional package ${packageName} is not installed. This happens if packages were installed with ` +
    "--omit=optional or --no-optional, or on another kind of machine: from its lock file, or by a copy of its " +
    `node_modules. To get it: npm install --include=optional ${packageName}, in the version of callstack-core; ${own}`
  )
}

/** The report of Node, as far as it is read here. */
interface Report {
  excludeNetwork?: boolean
  getReport(): { header: { glibcVersionRuntime?: string }; sharedObjects?: string[] }
}

/** Whether this process runs on musl: its report names no glibc, and musl's loader among the libraries. */
function usesMusl(): boolean {
  const reporter = report as unknown as Report
  // With the network, a report asks for the names of all machines that the process is connected with.
  const asked = reporter.excludeNetwork
  reporter.excludeNetwork = true
  const { header, sharedObjects } = reporter.getReport()
  reporter.excludeNetwork = asked ?? false
  return header.glibcVersionRuntime === undefined && (sharedObjects ?? []).some((file) => file.includes("ld-musl-"))
}

function resolve(name: string): string | undefined {
  try {
    return createRequire(import.meta.url).resolve(name)
  } catch {
    return undefined
  }
}

function inSource(file: string): string {
  return fileURLToPath(new URL(`../../../target/native/${file}`, import.meta.url))
}
