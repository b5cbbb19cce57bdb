// A project in a temporary folder, and servers that the program starts there.

import { spawn } from "node:child_process"
import { once } from "node:events"
import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join, resolve } from "node:path"
import { createInterface } from "node:readline"

/** The program under test. */
export const PROGRAM = resolve(
  process.env["CALLSTACK_PROGRAM"] ?? join(import.meta.dirname, "../../../../../target/native/callstack"),
)

/** The names of the tools that are offered by default. */
export const TOOLS = ["push", "pop", "plan", "activate", "invalidate", "status", "context", "record"]

/** The environment of servers, without the variables that name a conversation. */
export const ENVIRONMENT: Record<string, string> = { PATH: process.env["PATH"] ?? "", HOME: tmpdir() }

/** A temporary folder that is removed at the end of a block. */
export class Project {
  readonly folder = mkdtempSync(join(tmpdir(), "callstack-mcp-"));

  [Symbol.dispose](): void {
    rmSync(this.folder, { recursive: true, force: true })
  }
}

/** A server over HTTP. */
export class HttpServer {
  private constructor(
    private readonly child: ReturnType<typeof spawn>,
    readonly url: URL,
    readonly token: string,
  ) {}

  static async start(project: Project): Promise<HttpServer> {
    const child = spawn(PROGRAM, ["--json", "mcp", "--resources", "--http", "127.0.0.1:0"], {
      cwd: project.folder,
      env: ENVIRONMENT,
      stdio: ["ignore", "pipe", "inherit"],
    })
    const [line] = (await once(createInterface(child.stdout), "line")) as [string]
    const { data } = JSON.parse(line) as { data: { url: string; token: string } }
    return new HttpServer(child, new URL(data.url), data.token)
  }

  get headers(): Record<string, string> {
    return { Authorization: `Bearer ${this.token}` }
  }

  async stop(): Promise<void> {
    const ended = once(this.child, "exit")
    this.child.kill("SIGTERM")
    await ended
  }
}
