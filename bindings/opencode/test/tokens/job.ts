// The job of the bench in OpenCode: in one session, or on the stack.

import { finished, frame, goal, JOB, parts, paths, results, resultsCompacted, STEPS } from "callstack-job"
import { byTask, call, inOrder, type ProjectOptions, type Script, type Turn } from "../harness/index.js"

/** Size of the file that a step reads. With line numbers and tags the answer of OpenCode's `read` tool has about 3,000 bytes. */
export const FILE_BYTES = 2_600

/** A way to do the job. */
export interface Way {
  name: string
  /** The settings of its project, without the files. */
  options: ProjectOptions
  /** The messages of the person, one after the other in the same session. */
  prompts(subtasks: number): string[]
  /** The replies of the model. */
  script(subtasks: number): Script
  /** Number of requests that the script makes. */
  requests(subtasks: number): number
}

/** One conversation: the person asks for one part after the other. Each turn ends with the part's results. */
export const oneSession: Way & { isReport(request: number): boolean } = {
  name: "one session",
  options: { plugin: null },
  prompts: (subtasks) => {
    const ask = (part: string, index: number) =>
      index === 0 ? `${goal(subtasks)} Begin with part ${part}.` : `Now part ${part}.`
    return [...parts(subtasks).map(ask), "Finish."]
  },
  script: (subtasks) => {
    const turns = parts(subtasks).flatMap((part) => [...reads(part), { text: results(part) }])
    return byTask({ [JOB]: [...turns, { text: finished(subtasks) }] })
  },
  requests: (subtasks) => (STEPS + 1) * subtasks + 1,
  // A request (counted from 0) whose answer is only the results. A model that states the results together
  // with its next tool call does not need this request: the next request has the same prompt and the results.
  isReport: (request) => request % (STEPS + 1) === STEPS,
}

/** The plugin: the session plans the parts, and works on them in its own conversation, which is folded. */
export const onStack: Way = {
  name: "stack",
  options: { frames: "conversation" },
  prompts: (subtasks) => [goal(subtasks)],
  script: (subtasks) => {
    const children = parts(subtasks)
    const last = finished(subtasks)
    return inOrder([
      call("stack_frame_plan_children", { children: children.map(briefly), begin: true }),
      ...children.flatMap((part, index) => [...reads(part), popHere(part, index + 1 < subtasks)]),
      call("stack_frame_pop", { status: "completed", results: last }),
      { text: last },
    ])
  },
  requests: (subtasks) => (STEPS + 1) * subtasks + 3,
}

/** The plugin with a session for each frame: the root session plans the parts and activates them one after the other. */
export const inSessions: Way = {
  name: "stack, a session for each frame",
  options: { frames: "sessions" },
  prompts: (subtasks) => [goal(subtasks)],
  script: (subtasks) => {
    const children = parts(subtasks)
    const last = finished(subtasks)
    const root = [
      call("stack_frame_plan_children", { children: children.map(frame) }),
      ...children.map((_, index) => call("stack_frame_activate", { sessionID: handle(index) })),
      call("stack_frame_pop", { status: "completed", results: last, resultsCompacted: last }),
      { text: last },
    ]
    const tasks = children.map((part, index): [string, Turn[]] => {
      return [`frame ${handle(index)}:`, [...reads(part), pop(part), { text: `Part ${part} is reviewed.` }]]
    })
    return byTask({ [JOB]: root, ...Object.fromEntries(tasks) })
  },
  requests: (subtasks) => (STEPS + 3) * subtasks + 3,
}

/** The handle of a sub-task: the root is f1. */
function handle(index: number): string {
  return `f${index + 2}`
}

function reads(part: string) {
  return paths(part).map((filePath) => call("read", { filePath }))
}

/** A part, with texts that are short enough as they are. */
function briefly(part: string) {
  const { title, successCriteria } = frame(part)
  return { title, successCriteria }
}

/**
 * Finishes a part in the conversation, where its results stay as they are. `goesOn`: also begins the next
 * part.
 */
function popHere(part: string, goesOn: boolean) {
  return call("stack_frame_pop", { status: "completed", results: results(part), ...(goesOn && { next: true }) })
}

/** Finishes a part, with short results for the other sessions that read them. */
function pop(part: string) {
  return call("stack_frame_pop", {
    status: "completed",
    results: results(part),
    resultsCompacted: resultsCompacted(part),
  })
}
