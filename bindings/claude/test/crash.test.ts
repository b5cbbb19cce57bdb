// Crashes: the work of an orchestrator that is killed at any moment resumes in a new process and reaches the
// same end.

import assert from "node:assert/strict"
import { join } from "node:path"
import { test } from "node:test"
import { setTimeout as sleep } from "node:timers/promises"
import { type Frame, Stack } from "callstack-core"
import { agent, filesOf, type HostOptions, type HostProcess, startHost, type Work } from "./harness/hosts.js"
import { type Answer, call, frameOf, type ModelRequest, until, type World, within } from "./harness/index.js"

/** Answers instead of the agents, until the next kill. */
type Override = (request: ModelRequest) => Answer | undefined

const NO_PROC = process.platform !== "linux"
const BASH = { options: { claude: { allowedTools: ["Bash"] } } }
const SUMMARY = /^Your work on this frame has ended without a report/m

/** Waits until the model has been asked again. */
function asksAgain({ model }: World, wanted: (request: ModelRequest) => boolean): Promise<ModelRequest> {
  const before = model.requests.length
  return model.waitFor((request) => request.number > before && wanted(request))
}

/** Checks that no session had two requests at the same time, and no frame two sessions. */
function assertOneSessionEach({ model }: World): void {
  const sessions = new Map<string, Set<string>>()
  const newest = new Map<string, ModelRequest>()
  for (const request of model.asked) {
    const frame = frameOf(request) ?? ""
    sessions.set(frame, (sessions.get(frame) ?? new Set()).add(request.session))
    const before = newest.get(request.session)
    assert.ok(
      before === undefined || (before.closedAt ?? Number.POSITIVE_INFINITY) <= request.at,
      `${frame} has two requests`,
    )
    newest.set(request.session, request)
  }
  assert.deepEqual(
    [...sessions].filter(([, ids]) => ids.size !== 1),
    [],
  )
}

/**
 * Kills an orchestrator at a moment, or waits until it kills itself, and checks that all of its processes end
 * with it.
 */
async function killed(
  world: World,
  options: HostOptions,
  moment?: (host: HostProcess) => Promise<unknown>,
): Promise<void> {
  const host = startHost(world, options)
  if (moment !== undefined) {
    await moment(host)
    host.child.kill("SIGKILL")
  }
  assert.equal(await host.end, "SIGKILL", host.errors)
  await world.settled(0, 5000)
  const before = [filesOf(world), world.model.asked.length]
  await sleep(200)
  assert.deepEqual([filesOf(world), world.model.asked.length], before)
  assert.deepEqual(
    host.lines.filter(({ kind }) => kind === "unhandled"),
    [],
  )
}

test("an orchestrator that is killed again and again comes to the end of its tree", (context) => {
  const tree: Work = {
    title: "Shop",
    files: ["shop.txt"],
    children: [
      { title: "Cart", files: ["cart.txt", "price.txt"] },
      {
        title: "Accounts",
        isParallel: true,
        children: [
          { title: "Login", files: ["login.txt"] },
          { title: "Mail", files: ["mail.txt"] },
        ],
      },
    ],
  }
  let override: Override = () => undefined
  const script = (request: ModelRequest, world: World) => override(request) ?? agent(tree, request, world)
  return within(script, async (world) => {
    const hanging =
      (frame: string): Override =>
      (request) =>
        frameOf(request) === frame ? { hang: "headers" } : undefined
    const stage = (name: string, replace: Override = () => undefined) => {
      context.diagnostic(name)
      override = replace
    }

    stage("before the root has a process")
    await killed(world, { goal: "Shop", dieAt: { moment: "send", count: 1 } })

    stage("while the root waits for the model", hanging("f1"))
    await killed(world, {}, () => asksAgain(world, (request) => frameOf(request) === "f1"))

    stage("while a tool of the root runs", () => ({
      calls: [call("Bash", { command: "sleep 1; echo late > late.txt" })],
    }))
    await killed(world, BASH, async (host) => {
      await host.line(({ kind }) => kind === "tool", "a tool")
      await sleep(300)
    })

    stage("between the session of a child and its process")
    await killed(world, { dieAt: { moment: "send", count: 2 } })

    stage("while the child streams", (request) =>
      frameOf(request) === "f2" ? { text: "I think of a cart.", hang: "stream" } : undefined,
    )
    await killed(world, {}, (host) => host.line(({ kind }) => kind === "text", "words"))

    stage("while the child writes a file")
    await killed(world, {}, (host) => host.line(({ kind }) => kind === "tool", "a tool"))

    stage("after its pop, before its parent has the answer")
    await killed(world, { dieAt: { moment: "ended", count: 1 } })

    stage("between the plan of a child and its session")
    await killed(world, { dieAt: { moment: "start", count: 1 } })

    stage("while two children run in parallel", (request) => hanging("f4")(request) ?? hanging("f5")(request))
    await killed(world, {}, () =>
      Promise.all(["f4", "f5"].map((frame) => asksAgain(world, (request) => frameOf(request) === frame))),
    )

    stage("during a summary", (request) => {
      if (SUMMARY.test(request.lastUser)) return { hang: "headers" }
      return frameOf(request) === "f3" ? { text: "I stop here." } : undefined
    })
    await killed(world, {}, () => asksAgain(world, ({ lastUser }) => SUMMARY.test(lastUser)))

    stage("during a compaction", (request) => {
      if (request.isCompaction) return { hang: "headers" }
      return frameOf(request) === "f3"
        ? { status: 400, text: "prompt is too long: 300000 tokens > 200000 maximum" }
        : undefined
    })
    await killed(world, {}, () => asksAgain(world, ({ isCompaction }) => isCompaction))

    stage("to the end")
    const host = startHost(world)
    const [outcome] = await host.outcomes()
    assert.equal(await host.end, 0)
    await world.settled()
    assert.equal(outcome?.frame.results, "Results of Shop.")
    assertOneSessionEach(world)
    assert.deepEqual(treeOf(world), [
      "Shop: completed",
      "  Cart: completed",
      "  Accounts: completed",
      "    Login: completed",
      "    Mail: completed",
    ])
    assert.deepEqual(filesOf(world), {
      "cart.txt": "// Cart\n",
      "login.txt": "// Login\n",
      "mail.txt": "// Mail\n",
      "price.txt": "// Cart\n",
      "shop.txt": "// Shop\n",
    })
  })
})

test("where nothing ends an orphaned session, its tools are refused, and a resume kills it", { skip: NO_PROC }, () => {
  const tree: Work = { title: "Root", files: ["root.txt"] }
  let release: () => void = () => undefined
  const isDead = new Promise<void>((resolve) => {
    release = resolve
  })
  const script = async (request: ModelRequest, world: World): Promise<Answer | undefined> => {
    if (request.number === 1) await isDead
    return request.number === 2 ? { hang: "headers" } : agent(tree, request, world)
  }
  return within(script, async (world) => {
    // Without setpriv, and without a shell for the watchdog.
    const env = { PATH: join(world.root, "empty") }
    const host = startHost(world, { goal: "Root", env })
    await asksAgain(world, ({ number }) => number === 1)
    host.child.kill("SIGKILL")
    await host.end
    const orphans = world.processes()
    assert.equal(orphans.length, 1)
    release()
    const second = await world.model.waitFor(({ number }) => number === 2)
    assert.deepEqual(
      second.news.map(({ name, isError }) => [name, isError]),
      [["Write", true]],
    )
    assert.deepEqual(filesOf(world), {})

    const again = startHost(world, { env })
    const [outcome] = await again.outcomes()
    assert.equal(outcome?.frame.status, "completed")
    assert.deepEqual(
      world.processes().filter((id) => orphans.includes(id)),
      [],
    )
    assert.equal(await again.end, 0)
    assert.deepEqual(filesOf(world), { "root.txt": "// Root\n" })
    assertOneSessionEach(world)
    await world.settled()
  })
})

/** Kills an orchestrator, and waits until another one has asked the model for the child. */
async function asksOnceKilled(world: World, host: HostProcess): Promise<void> {
  const asked = asksAgain(world, (request) => frameOf(request) === "f2")
  host.child.kill("SIGKILL")
  await host.end
  await asked
}

test("of several orchestrators that resume one tree, one runs each session, and all see the end", () => {
  const tree: Work = { title: "Root", children: [{ title: "Child", files: ["child.txt"] }] }
  let release: () => void = () => undefined
  let held: Promise<void> | undefined
  const script = async (request: ModelRequest, world: World): Promise<Answer | undefined> => {
    if (frameOf(request) === "f2" && held === undefined) return { hang: "headers" }
    await held
    return agent(tree, request, world)
  }
  return within(script, async (world) => {
    await killed(world, { goal: "Root" }, () => asksAgain(world, (request) => frameOf(request) === "f2"))
    held = new Promise((resolve) => {
      release = resolve
    })
    // Both wait for the lease of the orchestrator that was killed. Then one of them begins.
    const runs = ({ lines }: HostProcess) => lines.some((line) => line.kind === "begun" && line.frame === "f2")
    const pair = [startHost(world), startHost(world)]
    await until(() => pair.some(runs), "one goes on with the child")
    const [first, second] = runs(pair[0] as HostProcess) ? pair : pair.toReversed()
    // The orchestrator that waits takes over, and another one waits for it.
    await asksOnceKilled(world, first as HostProcess)
    const third = startHost(world)
    const waits = (line: HostProcess["lines"][number]) =>
      line.kind === "log" && /runs f2; this one waits for its end/.test(line.message)
    await until(() => third.lines.some(waits), "a third one waits")
    release()
    const hosts = [second as HostProcess, third]
    for (const host of hosts) {
      const [outcome] = await host.outcomes()
      assert.equal(outcome?.frame.results, "Results of Root.")
    }
    assert.deepEqual(await Promise.all(hosts.map(({ end }) => end)), [0, 0])
    assert.deepEqual(treeOf(world), ["Root: completed", "  Child: completed"])
    assertOneSessionEach(world)
    await world.settled()
  })
})

test("two orchestrators work side by side in one folder", () => {
  const trees: Work[] = ["One", "Two"].map((title) => ({ title, files: [`${title}.txt`] }))
  const script = (request: ModelRequest, world: World) =>
    trees.map((tree) => agent(tree, request, world)).find((answer) => answer !== undefined)
  return within(script, async (world) => {
    const hosts = trees.map(({ title }) => startHost(world, { goal: title }))
    for (const host of hosts) {
      const [outcome] = await host.outcomes()
      assert.equal(outcome?.frame.status, "completed")
    }
    assert.deepEqual(await Promise.all(hosts.map(({ end }) => end)), [0, 0])
    assert.deepEqual(filesOf(world), { "One.txt": "// One\n", "Two.txt": "// Two\n" })
    assertOneSessionEach(world)
    await world.settled()
  })
})

/** Returns the titles and statuses of all frames, indented by their depth. */
function treeOf({ folder }: World): string[] {
  const stack = Stack.open(join(folder, ".callstack"))
  try {
    const linesOf = (frame: Frame, indent: string): string[] => [
      `${indent}${frame.title}: ${frame.status}`,
      ...stack.frames({ relation: "children", frame: frame.handle }).flatMap((child) => linesOf(child, `${indent}  `)),
    ]
    return stack.frames({ relation: "roots" }).flatMap((root) => linesOf(root, ""))
  } finally {
    stack.close()
  }
}
