#!/usr/bin/env node
// The program `flame`: an orchestrator for people and scripts.

import { readFileSync } from "node:fs"
import { runCommandLine } from "./command-line.js"
import { Exit } from "./exit.js"
import { failureOf } from "./failure.js"
import type { RunOptions } from "./options.js"
import { demandStack, sameCommand, stackFolder } from "./options.js"
import { JsonReporter, LineReporter, type Reporter } from "./reporters.js"

const { stdin: input, stdout: output, stderr: error, env } = process
const streams = { output, error, env }

function reporterOf(options: RunOptions): Reporter {
  if (options.json === true) return new JsonReporter(streams)
  return new LineReporter(streams, options.quiet === true ? "results" : "events", sameCommand(options))
}

/** The commands load the modules that they need: help must not wait for the library. */
const run = () => import("./run.js")
const work = (options: RunOptions) => ({ options, input, streams, reporter: reporterOf(options) })

async function main(words: readonly string[]): Promise<number> {
  try {
    return await runCommandLine(
      words,
      {
        run: async (goal, options) => (await run()).run(work(options), goal, options),
        resume: async (options) => {
          demandStack(options, env)
          return (await run()).resume(work(options))
        },
        repl: async (options) => (await run()).converse(work(options)),
        push: async (goal, options) => {
          demandStack(options, env)
          return (await run()).push(work(options), goal, options)
        },
        activate: async (frame, answer, options) => {
          demandStack(options, env)
          return (await run()).activate(work(options), frame, answer)
        },
        callstack: async (command, options, more) => {
          const isHelp = more.some((word) => word === "--help" || word === "-h")
          // A plan can be the first thing in a project, but not in a folder whose name is mistyped.
          const begins = ["plan", "add"].includes(command) && options.folder === undefined
          if (!(isHelp || begins)) demandStack(options, env)
          const isNew = begins && !isHelp && !more.includes("--edit") && !more.includes("--new")
          // The options come before the words: after `--` they would be titles.
          const all = [...(isNew ? ["--new"] : []), ...(options.json === true ? ["--json"] : []), ...more]
          return (await import("./callstack.js")).runCallstack(stackFolder(options, env), command, all)
        },
      },
      { isInteractive: input.isTTY === true && output.isTTY === true, version: versionOf() },
    )
  } catch (problem) {
    const failure = failureOf(problem)
    reporterOf({ json: words.includes("--json") }).complain(failure)
    return failure.exit
  }
}

function versionOf(): string {
  const manifest = readFileSync(new URL("../../package.json", import.meta.url), "utf8")
  const { version }: { version: string } = JSON.parse(manifest)
  return version
}

// A reader that stops reading is not a failure. Commands that run frames stop them first.
output.on("error", () => {
  if (output.listenerCount("error") === 1) process.exit(Exit.done)
})
error.on("error", () => undefined)
for (const kind of ["uncaughtException", "unhandledRejection"] as const) {
  process.on(kind, (problem: unknown) => {
    reporterOf({}).complain(failureOf(problem))
    process.exit(Exit.failed)
  })
}

process.exit(await main(process.argv.slice(2)))
