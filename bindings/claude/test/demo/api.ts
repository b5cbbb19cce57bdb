// The script of `make demo-flame`: a small API in JavaScript. Two parts run at the same time, one has a frame
// below it, one asks a person, and the tests of one fail until an error is fixed. The files are real, and so
// are the tests.

import { join } from "node:path"
import { PromptCache, segmentsOf } from "../bench/count.js"
import { type Answer, call, frameOf, type World, type WorldScript } from "../harness/index.js"

/** The goal of the root. */
export const GOAL = "Build a REST API for notes, with login"
/** The question of a frame, and the answer of a person. */
export const QUESTION = "How many failed logins may a client have in a minute?"
export const ANSWER = "Three, then 429"

const USERS = `import { randomBytes, scryptSync, timingSafeEqual } from "node:crypto"

const users = new Map()
const hash = (password, salt) => scryptSync(password, salt, 32, { N: 1024 })

export function signUp(name, password) {
  if (users.has(name)) return false
  const salt = randomBytes(16)
  users.set(name, { salt, key: hash(password, salt) })
  return true
}

export function isPassword(name, password) {
  const user = users.get(name)
  return user !== undefined && timingSafeEqual(user.key, hash(password, user.salt))
}
`

const TOKENS = `import { createHmac, randomBytes } from "node:crypto"

const secret = randomBytes(32)
const sign = (name) => createHmac("sha256", secret).update(name).digest("base64url")

export const tokenOf = (name) => \`\${Buffer.from(name).toString("base64url")}.\${sign(name)}\`

/** The name in a token; undefined if the secret has not signed it. */
export function nameIn(token = "") {
  const name = Buffer.from(token.split(".")[0] ?? "", "base64url").toString()
  return token === tokenOf(name) ? name : undefined
}
`

const NOTES = `import { problemOf } from "./checks.js"

const notes = new Map()

export const notesOf = (name) => notes.get(name) ?? []

export function addNote(name, text) {
  const problem = problemOf(text)
  if (problem === undefined) notes.set(name, [...notesOf(name), text])
  return problem
}
`

const CHECKS = `/** What is wrong with the text of a note; undefined: nothing. */
export function problemOf(text) {
  if (typeof text !== "string" || text.trim() === "") return "a note needs a text"
  return text.length > 1000 ? "a note has at most 1,000 characters" : undefined
}
`

const LIMIT = `const failures = new Map()

export function loginFailed(client, now = Date.now()) {
  failures.set(client, [...recent(client, now), now])
}

/** Three failures in a minute are enough. */
export const isLockedOut = (client, now = Date.now()) => recent(client, now).length > 3

const recent = (client, now) => (failures.get(client) ?? []).filter((time) => time > now - 60_000)
`

const SERVER = `import { createServer } from "node:http"
import { isLockedOut, loginFailed } from "./limit.js"
import { addNote, notesOf } from "./notes.js"
import { nameIn, tokenOf } from "./tokens.js"
import { isPassword, signUp } from "./users.js"

const routes = {
  "POST /users": ({ name, password }) => (signUp(name, password) ? [201, { name }] : [409, { error: "the name is taken" }]),
  "POST /login": ({ name, password }, client) => {
    if (isLockedOut(client)) return [429, { error: "too many failed logins" }]
    if (isPassword(name, password)) return [200, { token: tokenOf(name) }]
    loginFailed(client)
    return [401, { error: "wrong name or password" }]
  },
  "GET /notes": (_, __, name) => (name ? [200, notesOf(name)] : [401, { error: "log in first" }]),
  "POST /notes": ({ text }, _, name) => {
    if (!name) return [401, { error: "log in first" }]
    const error = addNote(name, text)
    return error ? [400, { error }] : [201, notesOf(name)]
  },
}

export const server = createServer(async (request, response) => {
  const chunks = []
  for await (const chunk of request) chunks.push(chunk)
  const body = chunks.length > 0 ? JSON.parse(Buffer.concat(chunks)) : {}
  const name = nameIn(request.headers.authorization?.replace("Bearer ", ""))
  const route = routes[\`\${request.method} \${request.url}\`] ?? (() => [404, { error: "no such route" }])
  const [status, answer] = route(body, request.socket.remoteAddress, name)
  response.writeHead(status, { "content-type": "application/json" }).end(JSON.stringify(answer))
})
`

const TEST = `import assert from "node:assert/strict"
import { after, before, test } from "node:test"
import { server } from "./server.js"

let url
before(() => new Promise((done) => server.listen(0, () => done((url = \`http://127.0.0.1:\${server.address().port}\`)))))
after(() => server.close())

const send = (method, path, body, token) =>
  fetch(url + path, { method, body: body && JSON.stringify(body), headers: { authorization: \`Bearer \${token}\` } })
const ada = { name: "ada", password: "engine" }

test("sign up, log in, and keep notes", async () => {
  assert.equal((await send("POST", "/users", ada)).status, 201)
  const { token } = await (await send("POST", "/login", ada)).json()
  assert.equal((await send("POST", "/notes", { text: "Note G" }, token)).status, 201)
  assert.deepEqual(await (await send("GET", "/notes", undefined, token)).json(), ["Note G"])
})
test("no notes without a login, and none without a text", async () => {
  assert.equal((await send("GET", "/notes")).status, 401)
  const { token } = await (await send("POST", "/login", ada)).json()
  assert.equal((await send("POST", "/notes", { text: " " }, token)).status, 400)
})
test("three failed logins are enough", async () => {
  const wrong = { ...ada, password: "?" }
  for (const status of [401, 401, 401, 429]) assert.equal((await send("POST", "/login", wrong)).status, status)
})
`

type Step = Answer | ((world: World) => Answer)

const push = (title: string, successCriteria: string, dependsOn: string[] = []) =>
  call("mcp__stack__stack_frame_push", { title, successCriteria, successCriteriaCompacted: successCriteria, dependsOn })
const pop = (results: string, more: object = {}) =>
  call("mcp__stack__stack_frame_pop", { status: "completed", results, resultsCompacted: results, ...more })
const decide = (decision: string) => call("mcp__stack__stack_add_decision", { decision })
const write =
  (files: Record<string, string>): Step =>
  ({ folder }) => ({
    calls: Object.entries(files).map(([name, content]) => call("Write", { file_path: join(folder, name), content })),
  })
const look =
  (name: string): Step =>
  ({ folder }) => ({ calls: [call("Read", { file_path: join(folder, name) })] })
const edit =
  (name: string, old_string: string, new_string: string): Step =>
  ({ folder }) => ({ calls: [call("Edit", { file_path: join(folder, name), old_string, new_string })] })
const test: Step = { calls: [call("Bash", { command: "node --test", description: "Run the tests" })] }

/** The answers of the model in each frame, in order. */
const steps: Record<string, Step[]> = {
  f1: [
    { calls: [push("Users and tokens", "Passwords are hashed; tokens are signed")] },
    {
      text: "Notes and the limit do not depend on one another.",
      calls: [
        push("Notes", "Notes of a user are kept and checked"),
        push("Limit of logins", "Guessing passwords is slow"),
      ],
    },
    { calls: [push("Server and tests", "The API answers over HTTP; its tests pass", ["f3", "f4"])] },
    { calls: [pop("The API works: sign up, log in, notes; its tests pass. Start: server.js")] },
  ],
  f2: [
    write({ "users.js": USERS, "tokens.js": TOKENS }),
    { calls: [decide("Passwords are hashed with scrypt; tokens are signed with HMAC")] },
    { calls: [pop("users.js: signUp, isPassword; tokens.js: tokenOf(name), nameIn(token)")] },
  ],
  f3: [
    { calls: [push("Checks of notes", "A wrong note has a reason")] },
    write({ "notes.js": NOTES }),
    { calls: [pop("notes.js: notesOf(name), addNote(name, text) returns what is wrong")] },
  ],
  f4: [
    { calls: [pop("Nothing is written yet", { status: "blocked", question: QUESTION })] },
    write({ "limit.js": LIMIT }),
    { calls: [pop("limit.js: loginFailed(client), isLockedOut(client) after three failures in a minute")] },
  ],
  f5: [write({ "checks.js": CHECKS }), { calls: [pop("checks.js: problemOf(text)")] }],
  f6: [
    write({ "server.js": SERVER, "package.json": '{ "type": "module" }\n', "api.test.js": TEST }),
    test,
    look("limit.js"),
    edit("limit.js", ".length > 3", ".length >= 3"),
    test,
    { calls: [pop("server.js: POST /users, POST /login, GET and POST /notes; 3 tests pass")] },
  ],
}

/** Tokens of a text: four characters each. */
const tokens = (text: string) => Math.ceil(text.length / 4)

/**
 * The model of the demo. It charges what the API would charge with its prompt cache, and takes as long as a
 * fast model. The root continues after a question when `answered` is settled.
 */
export function demoApi(answered: Promise<unknown>): WorldScript {
  const left = new Map(Object.entries(steps).map(([frame, answers]) => [frame, [...answers]]))
  const cache = new PromptCache(tokens)
  return async (request, world) => {
    const frame = frameOf(request) ?? ""
    const step = left.get(frame)?.shift()
    if (step === undefined)
      throw new Error(`the script has nothing more for ${frame}: ${request.lastUser.slice(0, 200)}`)
    if (frame === "f1" && request.results.length === 3) await answered
    const answer = typeof step === "function" ? step(world) : step
    const { uncached, read, written } = cache.add(segmentsOf(request.body))
    const output = tokens(JSON.stringify(answer))
    const usage = { input: uncached, cacheRead: read, cacheWrite: written, output }
    return { ...answer, usage, wait: 150 + output }
  }
}
