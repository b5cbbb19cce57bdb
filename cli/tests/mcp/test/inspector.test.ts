// The command line of the MCP Inspector.

import assert from "node:assert/strict"
import { spawnSync } from "node:child_process"
import { join } from "node:path"
import { test } from "node:test"
import { ENVIRONMENT, HttpServer, PROGRAM, Project, TOOLS } from "./common.js"

const INSPECTOR = join(import.meta.dirname, "../../node_modules/.bin/mcp-inspector")

interface Inspected {
  status: number | null
  output: string
  errors: string
}

const inspect = (project: Project, ...options: string[]) =>
  inspectAt(project, [PROGRAM, "mcp", "--resources"], ...options)

function inspectAt(project: Project, server: string[], ...options: string[]): Inspected {
  const given = ["--cli", ...server, ...options]
  const { status, stdout, stderr } = spawnSync(INSPECTOR, given, {
    cwd: project.folder,
    env: { ...ENVIRONMENT, HOME: project.folder },
    encoding: "utf8",
  })
  return { status, output: stdout, errors: stderr }
}

test("the schemas of the tools are portable", () => {
  using project = new Project()
  const { status, output, errors } = inspect(project, "--method", "tools/list", "--strict")
  assert.equal(status, 0, errors)
  const { tools } = JSON.parse(output) as { tools: { name: string }[] }
  assert.deepEqual(
    tools.map((tool) => tool.name),
    TOOLS,
  )
})

test("a frame is pushed and read", () => {
  using project = new Project()
  const push = ["--method", "tools/call", "--tool-name", "push", "--tool-arg", "title=Shop", "successCriteria=All pay"]
  const pushed = inspect(project, ...push)
  assert.equal(pushed.status, 0, pushed.errors)
  assert.match(pushed.output, /f1 \(Shop\) has begun/)
  const read = inspect(project, "--method", "resources/read", "--uri", "stack://frame/f1")
  assert.match(read.output, /All pay/, read.errors)
  const prompts = inspect(project, "--method", "prompts/list")
  assert.match(prompts.output, /handoff/, prompts.errors)
})

test("a server over HTTP is inspected with its token, and only with it", async () => {
  using project = new Project()
  const http = await HttpServer.start(project)
  try {
    const at = [http.url.href, "--transport", "http"]
    const header = ["--header", `Authorization: Bearer ${http.token}`]
    const push = ["--tool-name", "push", "--tool-arg", "title=Shop", "successCriteria=All pay", "frame=new"]
    const pushed = inspectAt(project, at, ...header, "--method", "tools/call", ...push)
    assert.equal(pushed.status, 0, pushed.errors)
    assert.match(pushed.output, /f1 \(Shop\) has begun/)
    const read = inspectAt(project, at, ...header, "--method", "resources/read", "--uri", "stack://frame/f1")
    assert.match(read.output, /All pay/, read.errors)
    const refused = inspectAt(project, at, "--header", "Authorization: Bearer wrong", "--method", "tools/list")
    assert.notEqual(refused.status, 0, refused.output)
  } finally {
    await http.stop()
  }
})
