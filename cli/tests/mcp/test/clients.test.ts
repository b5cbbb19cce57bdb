// The TypeScript SDK, in its old and its new version, over pipes and HTTP, with each way to begin a
// connection.

import assert from "node:assert/strict"
import { describe, test } from "node:test"
import { Client as NewClient, StreamableHTTPClientTransport as NewHttp } from "@modelcontextprotocol/client"
import { StdioClientTransport as NewStdio } from "@modelcontextprotocol/client/stdio"
import { Client as OldClient } from "@modelcontextprotocol/sdk/client/index.js"
import { StdioClientTransport as OldStdio } from "@modelcontextprotocol/sdk/client/stdio.js"
import { StreamableHTTPClientTransport as OldHttp } from "@modelcontextprotocol/sdk/client/streamableHttp.js"
import { ElicitRequestSchema } from "@modelcontextprotocol/sdk/types.js"
import { ENVIRONMENT, HttpServer, PROGRAM, Project, TOOLS } from "./common.js"

const ME = { name: "test", version: "1" }

/** The functions that both clients have. */
interface Client {
  getServerVersion(): { name: string; version: string } | undefined
  getInstructions(): string | undefined
  listTools(): Promise<{ tools: { name: string; annotations?: { readOnlyHint?: boolean | undefined } | undefined }[] }>
  callTool(params: {
    name: string
    arguments: Record<string, unknown>
    _meta?: Record<string, unknown>
  }): Promise<unknown>
  listResources(): Promise<{ resources: { uri: string }[] }>
  readResource(params: { uri: string }): Promise<{ contents: { text?: string }[] }>
  getPrompt(params: { name: string; arguments: Record<string, string> }): Promise<{ messages: unknown[] }>
  close(): Promise<void>
}

const pipe = (project: Project) => ({
  command: PROGRAM,
  args: ["mcp", "--resources"],
  cwd: project.folder,
  env: ENVIRONMENT,
})

type Connect = (project: Project, http: () => Promise<HttpServer>) => Promise<Client>

/** The capability that a client announces: it can show forms to a person. */
const capabilities = { elicitation: { form: {} } }

/** The person, who gives the same answer to each question. */
const person = async (request: { params: { message: string } }) => ({
  action: "accept" as const,
  content: { answer: `20 % for ${request.params.message.split("\n").at(-1)}` },
})

const newClient = (mode: "legacy" | "auto" | { pin: string }) => {
  const client = new NewClient(ME, { capabilities, versionNegotiation: { mode } })
  client.setRequestHandler("elicitation/create", person)
  return client
}

const oldClient = () => {
  const client = new OldClient(ME, { capabilities })
  client.setRequestHandler(ElicitRequestSchema, person)
  return client
}

const overNewPipe =
  (mode: "legacy" | "auto" | { pin: string }): Connect =>
  async (project) => {
    const client = newClient(mode)
    await client.connect(new NewStdio(pipe(project)))
    return client as unknown as Client
  }

const overNewHttp =
  (mode: "legacy" | "auto" | { pin: string }): Connect =>
  async (_, http) => {
    const { url, headers } = await http()
    const client = newClient(mode)
    await client.connect(new NewHttp(url, { requestInit: { headers } }))
    return client as unknown as Client
  }

const CLIENTS: Record<string, Connect> = {
  "SDK 1 over a pipe": async (project) => {
    const client = oldClient()
    await client.connect(new OldStdio(pipe(project)))
    return client as unknown as Client
  },
  "SDK 1 over HTTP": async (_, http) => {
    const { url, headers } = await http()
    const client = oldClient()
    await client.connect(
      new OldHttp(url, { requestInit: { headers } }) as unknown as Parameters<typeof client.connect>[0],
    )
    return client as unknown as Client
  },
  "SDK 2 over a pipe, of the era with initialize": overNewPipe("legacy"),
  "SDK 2 over a pipe, of the newest era it finds": overNewPipe("auto"),
  "SDK 2 over a pipe, of 2026-07-28": overNewPipe({ pin: "2026-07-28" }),
  "SDK 2 over HTTP, of the era with initialize": overNewHttp("legacy"),
  "SDK 2 over HTTP, of the newest era it finds": overNewHttp("auto"),
  "SDK 2 over HTTP, of 2026-07-28": overNewHttp({ pin: "2026-07-28" }),
}

/** The clients that do not receive questions. */
const ONLY_TOLD = ["SDK 1 over HTTP", "SDK 2 over HTTP, of the era with initialize"]

interface Answer {
  content: { type: string; text: string }[]
  isError?: boolean
}

describe("clients", () => {
  for (const [name, connect] of Object.entries(CLIENTS)) {
    test(name, async (context) => {
      const project = new Project()
      context.after(() => project[Symbol.dispose]())
      const client = await connect(project, async () => {
        const server = await HttpServer.start(project)
        context.after(() => server.stop())
        return server
      })
      context.after(() => client.close())
      const call = async (tool: string, given: Record<string, unknown>, conversation = "one"): Promise<Answer> =>
        (await client.callTool({ name: tool, arguments: given, _meta: { threadId: conversation } })) as Answer
      const text = (answer: Answer): string => answer.content[0]?.text ?? ""

      assert.equal(client.getServerVersion()?.name, "callstack")
      assert.match(client.getInstructions() ?? "", /push/)
      const { tools } = await client.listTools()
      assert.deepEqual(
        tools.map((tool) => tool.name),
        TOOLS,
      )
      assert.ok(tools.every((tool) => tool.annotations?.readOnlyHint !== undefined))

      const pushed = await call("push", { title: "Shop", successCriteria: "All pay" })
      assert.match(text(pushed), /You are in f1 \(Shop\)\.$/)
      const frames = [{ title: "Cart", successCriteria: "Totals are right" }]
      assert.match(text(await call("plan", { frames })), /f2 \(Cart\) is planned/)
      assert.match(text(await call("activate", { frame: "f2" })), /<title>Cart<\/title>/)
      assert.match(
        text(await call("push", { title: "Blog", successCriteria: "Posts" }, "two")),
        /You are in f3 \(Blog\)\.$/,
      )
      const refused = await call("activate", { frame: "f9" })
      assert.ok(refused.isError && text(refused).includes("f2 (Cart)"), text(refused))
      const popped = await call("pop", { status: "completed", results: "src/cart.rs" })
      assert.match(text(popped), /You are in f1 \(Shop\)\.$/)

      const question = { status: "blocked", results: "The rest", question: "Which rate?", frame: "f3" }
      const asked = text(await call("pop", question, "two"))
      // Without `initialize`, the server does not know what older clients over HTTP can do.
      const isAsked = !ONLY_TOLD.includes(name)
      assert.match(
        asked,
        isAsked ? /f3 \(Blog\) is in progress again[\s\S]*20 % for Which rate\?/ : /Ask for the answer/,
      )

      const { resources } = await client.listResources()
      assert.deepEqual(
        resources.map((resource) => resource.uri),
        ["stack://tree", "stack://frame/f3", "stack://frame/f1"],
      )
      const tree = await client.readResource({ uri: "stack://tree" })
      assert.match(tree.contents[0]?.text ?? "", /f2 Cart/)
      await assert.rejects(client.readResource({ uri: "stack://frame/f9" }))
      const prompt = await client.getPrompt({ name: "resume", arguments: { frame: "f1" } })
      assert.match(JSON.stringify(prompt.messages), /src\/cart\.rs/)
    })
  }
})
