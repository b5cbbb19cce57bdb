// The records of the API. Their keys have the same names as in the documented files.

import type { unknownKey } from "./unknown.js"

/** The status of a frame. A frame is open while it is `in_progress` or `blocked`. */
export type FrameStatus = "planned" | "in_progress" | "completed" | "failed" | "blocked" | "invalidated"

/** The status that a pop gives a frame. */
export type PopStatus = "completed" | "failed" | "blocked"

/** The number of a frame in its tree, such as `f3`. It never changes, and no other frame ever gets it. */
export type Handle = string

/**
 * A frame, named by its handle (`f3`), its ID, a beginning of its ID that matches no other frame, or its title, or the beginning of that, if no other
 * frame has it. A text of `f` and digits is always a handle; `id:` before a text means that the rest is a complete ID (`id:f3`).
 */
export type FrameRef = string

/** Options of a stack in a folder. */
export interface StackOptions {
  /**
   * Which failures an acknowledged command survives. `"normal"` (the default): the death of the process; after a loss of
   * power the last commands may be missing. `"full"`: a loss of power too.
   */
  durability?: "normal" | "full"
  /**
   * How long a call waits in all, in milliseconds: for commands of other threads, for other processes, and for the locks
   * of files. Then it throws `busy`. Default 10,000.
   */
  busyTimeout?: number
  /** Whether `state.json` and `frames/` beside the database are kept up to date. Default true. */
  mirror?: boolean
  /**
   * The number of frames above which `state.json` is left to `flush` and to other processes, for programs that make one
   * change and end. Default: it is always written.
   */
  stateFileFrames?: number
  /**
   * How many frames of finished trees stay in memory at most. The others are read from the database when they are asked for.
   * Default 4,096.
   */
  finishedFrames?: number
  counter?: Counter
}

/** What `Stack.compactHistory` has done. */
export type HistoryCompaction = {
  /** Number of trees whose events were removed. */
  trees: number
  /** Number of events that were removed. */
  events: number
  /** Size of the database before, in bytes. */
  bytesBefore: number
  /** Size of the database afterwards, in bytes. */
  bytesAfter: number
}

/** Which logs `Stack.pruneLogs` removes. */
export type LogLimits = {
  /** Those to which nothing was appended since this time, in milliseconds since the Unix epoch. */
  before?: number
  /** The oldest ones, until all logs together have at most this size in bytes. */
  bytes?: number
}

/** What `Stack.pruneLogs` has removed. Sizes are in bytes. */
export type PrunedLogs = { files: number; bytes: number; left: number }

/**
 * How tokens are counted: by an estimate (`"approx"`, the default), one token for four characters (`"chars4"`), or exactly
 * (`"o200k"`). The exact counter needs a library that is built with it (`make native FEATURES=tokenizer`); with
 * another one, opening a stack throws `setting`.
 */
export type Counter = "approx" | "chars4" | "o200k"

/** Options of a stack in memory. */
export interface MemoryOptions {
  counter?: Counter
  /** Whether the stack keeps its events for `Stack.history`, as stacks in folders do. Default false. */
  history?: boolean
}

/** A frame to push or plan. */
export interface NewFrame {
  /** Short name, two to five words. */
  title: string
  /** The conditions that must hold when the frame is done. */
  successCriteria?: string
  /** A short form of the criteria, for contexts. */
  successCriteriaCompacted?: string
  /** The full instruction, at most 100,000 characters. Only the frame's own context shows it. */
  task?: string
  /** How urgent it is. Default: as the frame above it, or 2. */
  priority?: Priority
  /** Words of a team for it, at most 50 of at most 100 characters. Contexts do not show them. */
  labels?: string[]
  /** The person or agent that does the work. Workers of other names leave the frame to them. */
  assignee?: string
  /** What it may do and spend. Default: what the frame above may. */
  limits?: FrameLimits
  /** The ID of the frame: the ID of the host's session. Default: a new ID of the form `plan-…`. */
  sessionID?: string
  /**
   * The parent; null creates a root. Default: the open frame of the session `caller`, or the nearest open one above it; if
   * the session has no frame, the frame is a root. Without `caller` the active frame, if there is one.
   */
  parent?: FrameRef | null
  /** The ID of the session that creates the frame. Only used to find the default parent. */
  caller?: string
  /** The frames whose results this frame needs. */
  dependsOn?: FrameRef[]
}

/** How urgent a frame is: 0, before all others, to 4. */
export type Priority = 0 | 1 | 2 | 3 | 4

/**
 * What a frame may do and spend. What is missing is not limited, or limited by the frames above it. Numbers are at least 1. The limits of
 * tokens and costs are for the frame and all frames below it together.
 */
export interface FrameLimits {
  /** The host's name of the model. */
  model?: string
  /** The tools besides those of the stack, at most those of the frames above. `mcp__shop` stands for all tools of that server. */
  tools?: readonly string[]
  /** Turns of the model in one prompt of the session. */
  maxTurns?: number
  /** Tokens of all requests, of prompts and answers together. */
  maxTokens?: number
  /** What may be spent, in millionths of a US dollar. */
  maxCostMicroUsd?: number
}

/** What a frame may do and spend now, with the limits of all frames above it. What is missing is not limited. */
export interface Allowance {
  frame: Handle
  model?: string
  tools?: string[]
  maxTurns?: number
  /** What may still be spent, in millionths of a US dollar. */
  maxCostMicroUsd?: number
}

/** A frame that has spent what it may, together with all frames below it. */
export interface Overspent {
  frame: Handle
  /** What it has spent, and what lets it go on. */
  reason: string
}

/** How a host goes on with frames: see {@link Stack.resumption}. Each list is in creation order. */
export interface Resumption {
  /** Those that can go on now: they were interrupted, stopped or answered, and nothing below them runs or goes on. */
  now: Handle[]
  /** Those that can go on when the frames below them have ended. */
  later: Handle[]
  /** The frames, at or below one of the given ones, that a host runs. */
  running: Handle[]
  /** The frames, at or below one of the given ones, that wait for a person. */
  asking: Handle[]
  /** Results that the conversation of a frame does not have: its child has ended after the interruption. */
  missed: { frame: Handle; child: Handle }[]
}

/**
 * How a frame stands for its holder: the holder works on it; it was ended under this hold, or put back for later; or somebody has stopped
 * it, has taken it out of the plan, or has begun it anew, so the holder should stop.
 */
export type Standing =
  | { kind: "held" | "putBack" | "stopped" }
  | { kind: "ended"; status: "completed" | "failed" | "blocked" }

/** What an edit changes in a frame. What is missing stays as it is. */
export interface FrameEdit {
  /** The new title. */
  title?: string
  /** The new criteria. */
  successCriteria?: string
  /** The new short form of the criteria. */
  successCriteriaCompacted?: string
  /** The new full instruction. */
  task?: string
  /** How urgent it is; null: as the frame above it. */
  priority?: Priority | null
  /** All labels, instead of those so far. */
  labels?: string[]
  /** The person or agent that does the work; null: any. */
  assignee?: string | null
  /** All frames whose results it needs, instead of those so far. */
  dependsOn?: FrameRef[]
  /** The new parent; null makes the frame a root. It becomes the last child unless `before` says otherwise. */
  parent?: FrameRef | null
  /** The sibling before which it moves; null makes it the last one. */
  before?: FrameRef | null
}

/** The title and the criteria of a frame. They do not change when it has begun. */
export interface Identity {
  /** Short name, two to five words. */
  title: string
  /** The conditions that must hold when the frame is done. */
  successCriteria?: string
  /** A short form of the criteria, for contexts. */
  successCriteriaCompacted?: string
}

/** What a blocked frame waits for, and the answer. Times are in milliseconds since the Unix epoch. */
export interface Question {
  /** What the frame needs, and from whom. Empty if nobody has said it. */
  question: string
  /** True if nobody has asked: the work was interrupted or stopped, and the text says why. */
  interruption?: true
  /** True: the frame has not begun, and must not before an answer. With the answer it is planned; if it is no work, it is completed. */
  unbegun?: true
  /** Somebody has begun it elsewhere: when its time has come it is in progress again, and no worker gets it. */
  begun?: true
  /** When a frame that has not begun need not wait any more: the time is the answer. */
  until?: number
  /** When the frame was blocked. */
  askedAt: number
  /** The answer. Several answers to one question are lines of one text. */
  answer?: string
  /** When the newest answer was given. */
  answeredAt?: number
}

/**
 * The record of a frame. Times are milliseconds since the Unix epoch. A frame from an imported file may have more keys;
 * {@link unknownKey} reads them.
 */
export interface FrameRecord {
  /** The ID of the frame: the ID of the host's session, or `plan-…` until the frame has a session. */
  sessionID: string
  /** The ID of the parent; absent for a root. */
  parentSessionID?: string
  /** The status. */
  status: FrameStatus
  /** Short name. */
  title: string
  /** The conditions that must hold when the frame is done. */
  successCriteria: string
  /** A short form of the criteria, for contexts. */
  successCriteriaCompacted: string
  /** The full instruction. */
  task?: string
  /** How urgent it is. Absent: as the frame above it. */
  priority?: Priority
  /** Words of a team for it. */
  labels?: string[]
  /** The person or agent that does the work. */
  assignee?: string
  /** When a person has corrected the words of the frame while it was open. */
  correctedAt?: number
  /** The results in full. */
  results?: string
  /** A short form of the results, for the contexts of other frames. */
  resultsCompacted?: string
  /** When the frame was created. */
  createdAt: number
  /** When the frame was begun, if it was planned before. */
  begunAt?: number
  /** When the frame last changed. */
  updatedAt: number
  /** Files and other resources that the frame produced. */
  artifacts: string[]
  /** Decisions that were recorded. */
  decisions: string[]
  /** The IDs of the frames whose results this frame needs. */
  dependsOn?: string[]
  /** The path of the frame's full log. */
  logPath?: string
  /** Why the frame was invalidated. */
  invalidationReason?: string
  /** When the frame was invalidated. */
  invalidatedAt?: number
  /** The IDs of the children that are still planned. */
  plannedChildren?: string[]
  /** The IDs of all children in their order, if that is not the order of their creation. */
  childOrder?: string[]
  /** Whether the frame was created for a session, and its title and criteria are not set for good: `Stack.identify`. */
  placeholder?: boolean
  /** When the conversation of the parent received the results, in milliseconds since the Unix epoch. */
  deliveredAt?: number
  /** When the frame's own conversation was compacted or begun anew, in milliseconds since the Unix epoch. */
  forgottenAt?: number
  /** What the frame has waited for, with the answers, oldest first. The last one is open while the frame is blocked. */
  questions?: Question[]
  /** Who works on the frame, or did last: then `released` says how the frame was let go. */
  holder?: Holder
  /** The summary that was requested of the frame's conversation. */
  summaryRequest?: {
    type: "frame_completion" | "manual_summary" | "overflow"
    note?: string
    blockedBecause?: string
    requestedAt: number
  }
  /** The frame's own requests to models: their sums, an entry for each model. Absent if there are none. */
  usage?: ModelUsage[]
  /** What the frame may do and spend. Absent: what the frame above may. */
  limits?: FrameLimits
  /** What the frame's conversations have cost, as far as their host tells costs of conversations. */
  costs?: ConversationCost[]
  /** The chunks that belong to the frame. */
  heap?: Chunk[]
  /** The registers that are not empty, if the frame uses registers. */
  registers?: Partial<Record<Register, string>>
  /** The ID of the attempt before this frame, if it begins another one anew: `Stack.retry`. */
  retryOf?: string
  /** What the frame is if it is no work, in a word: a record of another tool (`message`), or what holds frames together (`tag`). */
  noWork?: string
  /** What the file said from which the frame was imported: checksums that tell what has changed in the file since. */
  origin?: {
    plan: string
    id: string
    after?: string
    gone?: true
    status: FrameStatus
    checksums: Record<string, number>
  }
}

/** What a conversation of a frame has cost so far. */
export interface ConversationCost {
  /** The ID of the conversation. */
  conversation: string
  /** In millionths of a US dollar. */
  costMicroUsd: number
  /** The weight of the frame's requests at that time. What has come since is estimated. */
  weight: number
}

/** A named text on the heap of a frame. The frame and all frames below it see it until it is freed. */
export interface Chunk {
  /** The name, unique among the chunks that a frame sees. */
  name: string
  /** The text, verbatim. */
  content: string
  /** A short summary for the index. */
  description?: string
  /** When the chunk was allocated, in milliseconds since the Unix epoch. */
  allocatedAt: number
  /** When the chunk was last written, in milliseconds since the Unix epoch. */
  writtenAt: number
  /** The step of the run in which the chunk was allocated; absent outside of runs. */
  allocatedStep?: number
  /** The step of the run in which the chunk was last written; absent outside of runs. */
  writtenStep?: number
}

/**
 * The registers: short notes that an agent works by. Longer values are truncated to these limits, in characters: 240
 * (`R0_GOAL`), 980 (`R1_PLAN`), 200 (`R2_NEXT`), 60 (`R3_PHASE`), 720 (`R4_CONSTRAINTS`), 480 (`R5_ASSUMPTIONS`), 600
 * (`R6_OPEN_QUESTIONS`), 300 (`R7_STATUS`).
 */
export type Register =
  | "R0_GOAL"
  | "R1_PLAN"
  | "R2_NEXT"
  | "R3_PHASE"
  | "R4_CONSTRAINTS"
  | "R5_ASSUMPTIONS"
  | "R6_OPEN_QUESTIONS"
  | "R7_STATUS"

/** A chunk to allocate. */
export interface NewChunk {
  /** The name: 1 to 100 characters on one line. */
  name: string
  /** The text: up to 100,000 characters. */
  content: string
  /** A short summary for the index: up to 300 characters on one line. */
  description?: string
}

/** Settings of a run. */
export interface RunSettings {
  /** `"heap"`: the agent has a stack and a heap (the default). `"registers"`: it has registers too. */
  memory?: "heap" | "registers"
  /** How many ancestors a frame may have. Default 5. */
  maxDepth?: number
  /** The size of the heap, in characters, above which the agent is warned. Default 5000. */
  heapCeiling?: number
  /**
   * Whether the first message of a frame begins with the criteria of the frames above it and the results, artifacts and
   * decisions of the finished frames beside it and them, and the agent can record artifacts and decisions and read the logs of
   * frames. Default true.
   */
  sharedResults?: boolean
  /** The maximum size of what a frame sees of others, in tokens. Default 1500. */
  resultsBudget?: number
  /** True: the system prompt has the rules alone, without examples and common mistakes. Default false. */
  shortPrompt?: boolean
}

/** A run to start. */
export interface NewRun {
  /** The task of the agent. */
  task: string
  /** The settings. */
  settings?: RunSettings
  /** The title of the root frame. Default: the beginning of the task. */
  title?: string
  /** The ID of the root frame. Default: a new ID. */
  sessionID?: string
  /**
   * The description of the agent's other tools, in Markdown: a section of the system prompt, up to 100,000 characters. By default
   * there is none. It is kept with the run.
   */
  tools?: string
}

/** A tool call of a model. */
export interface ToolCall {
  /** The ID of the call. Its answer names it. */
  id: string
  /** The name of the tool. */
  name: string
  /** The arguments as the model wrote them: the text of a JSON object, if the model followed the schema. */
  arguments: string
}

/** One message of a conversation with a model. */
export type RunMessage =
  | { role: "user"; text: string }
  | { role: "assistant"; text: string; calls?: ToolCall[] }
  | { role: "tool"; call: string; name: string; text: string; isError?: boolean }

/** A reply of a model. */
export interface Reply {
  /** The text. Default: empty. */
  text?: string
  /** The tool calls. Default: none. */
  calls?: ToolCall[]
  /** Whether the provider has cut the reply at its maximum length. Its tool calls are not carried out. Default false. */
  cut?: boolean
}

/** The next step of a run; `next` is its kind. */
export type Next =
  | {
      /** Send `system` and `messages` to the model and give its reply to `Stack.runReply`. */
      next: "ask"
      /** The number of the step, counted from 1. */
      step: number
      /** The current frame. */
      frame: Handle
      /** The number of ancestors of the current frame. */
      depth: number
      /** The system prompt. It never changes during a run. */
      system: string
      /**
       * The conversation of the current frame. The newest message ends with the memory: step, registers and heap. With
       * `sharedResults` the first one begins with what the frame sees of others, unless it is the root.
       */
      messages: RunMessage[]
    }
  | ({
      /** Execute this tool call and give its answer to `Stack.runAnswer`. */
      next: "call"
    } & ToolCall)
  | {
      /** Nothing: the root frame is finished. */
      next: "over"
      /** The status of the root frame. */
      status: FrameStatus
      /** The results of the root frame. */
      results: string
    }

/** The settings and the progress of a run. */
export interface RunStatus {
  /** The settings with which the run was started. */
  settings: Required<RunSettings>
  /** How many times the model has replied. */
  steps: number
  /** The current frame. */
  frame: Handle
  /** The number of ancestors of the current frame. */
  depth: number
  /** How many steps in a row, including the last one, made the same calls. */
  repeats: number
}

/** A frame of a stack: the record and the handle. */
export interface Frame extends FrameRecord {
  /** The handle. */
  handle: Handle
}

/** Selects frames. */
export interface FrameQuery {
  /**
   * `"all"` (the default), `"roots"`, `"ready"` (planned frames that can begin, in the order of the plan),
   * `"interrupted"` (frames in_progress whose hosts do not exist any more), or a relation to
   * `frame`: `"ancestors"` (from the parent up), `"children"`, `"siblings"`, `"subtree"` (the frame and all frames below it).
   */
  relation?: "all" | "roots" | "ready" | "interrupted" | "ancestors" | "children" | "siblings" | "subtree"
  /** The frame that `relation` refers to. */
  frame?: FrameRef
  /** Only frames with this status. */
  status?: FrameStatus
}

/** The answer of a pop. */
export interface Popped {
  /** The frame that was popped. */
  handle: Handle
  /** Its parent; null if it was a root, and its tree is finished. */
  parent: Handle | null
  /** The frame that is active now; null if there is none. */
  active: Handle | null
  /** Frames below it that are still in progress or blocked. */
  stillOpen: Handle[]
  /** Frames below it that were planned and never started. */
  stillPlanned: Handle[]
  /** The frame that has begun, after `Stack.popAndBegin` or `Stack.complete`. */
  next?: Handle
}

/** The form in which a conversation is written: {@link fold}. */
export type Wire = "anthropic" | "responses" | "chat" | "gemini" | "opencode" | "pi"

/** What {@link fold} may assume and do. */
export interface FoldSettings {
  /** The host's names of the tools, where they are neither the library's own nor those of the MCP server. */
  tools?: ToolNames
  /** The name under which the host knows the MCP server. Default: `callstack`. */
  server?: string
  /**
   * How an agent reads all of a finished frame; `{frame}` stands for its handle. Default: a call of the tool that shows a frame.
   * An empty text: nothing is said.
   */
  pointer?: string | null
  /** Also fold the turns of a conversation that has no frames. Default: no. */
  turns?: TurnSettings | null
}

/** When the turns of a conversation without frames are folded. */
export interface TurnSettings {
  /**
   * In tokens: when the person writes, and the turns that are finished and not folded have more than this together, they are all
   * folded. 40,000 to 60,000 cost least in windows of 200,000 tokens.
   */
  floor: number
  /** How an agent reads what was folded. Default: nothing is said. */
  pointer?: string
}

/** What was folded in a request. */
export interface FoldReport {
  /** The stretches that are gone, in the order of their beginnings. What was pushed and popped within one is not listed. */
  stretches: FoldedStretch[]
  /** The turns that are folded, those together that were folded at once. */
  turns: FoldedTurns[]
}

/** Turns of a conversation that were folded at once. */
export interface FoldedTurns {
  /** Number of turns. */
  turns: number
  /** Number of texts, thoughts, calls and outcomes that are gone. */
  items: number
  /** Their length in bytes. */
  bytes: number
  /** Their length in tokens, estimated. */
  tokens: number
}

/** A stretch of a conversation that is gone. */
export interface FoldedStretch {
  frame: Handle
  /** How the frame has ended. A blocked one is folded when another frame has begun. */
  status: "completed" | "failed" | "blocked" | "invalidated"
  /** Number of texts, thoughts, calls and outcomes that are gone. */
  items: number
  /** Their length in bytes. */
  bytes: number
  /** Their length in tokens, estimated. */
  tokens: number
  /** Length of the text that stands for them, in bytes. */
  returned: number
}

/**
 * Kinds of holders: a host runs the frame in a session of its own, a worker holds one frame after the other, a conversation is that of an
 * agent, and a person works by hand.
 */
export type HolderKind = "host" | "worker" | "conversation" | "person"

/** Who works on a frame, or did last. */
export interface Holder {
  kind: HolderKind
  /** The name: of a host an ID that each open stack has for itself. Empty: somebody who works by hand. */
  name: string
  /** Which holder of the frame it is, counted from 1. Only the newest one counts. */
  generation: number
  /** The end of the lease, in milliseconds since the Unix epoch. */
  until?: number
  /** Since when it has the frame, in milliseconds since the Unix epoch. */
  since: number
  /** The session or conversation that has given it the frame. */
  caller?: string
  /** How often workers have begun the frame without an end, since it was planned or last answered. */
  tries?: number
  /** How often workers have put the frame back, since it was planned or last answered. */
  putBacks?: number
  /** True: the frame was planned when somebody held it first, so it is a part of the frame above it. */
  planned?: boolean
  /** True: it was told once that the frame is still in progress. */
  reminded?: boolean
  /** A fingerprint of the changing part of the context that a conversation was told last. */
  told?: string
  /** What it was advised once: `push`, `pop`. */
  advised?: string[]
  /** How it has let the frame go, and when, in milliseconds since the Unix epoch. */
  released?: Release & { at: number }
}

/**
 * How a frame is let go. `ended`: the holder does not go on. `putBack`: it waits until a time, in milliseconds since the Unix epoch.
 * `interrupted`: nobody has heard of the holder until the end of its lease. `stopped`: somebody else has stopped or ended it.
 */
export type Release =
  | { how: "ended" }
  | { how: "putBack"; until: number }
  | { how: "interrupted" }
  | { how: "stopped"; reason: string }

/** A frame that somebody holds. */
export interface Hold {
  handle: Handle
  kind: HolderKind
  name: string
  /** Which holder of the frame it is, counted from 1. */
  generation: number
  /** The end of the lease, in milliseconds since the Unix epoch. */
  until: number
  /** How often workers have begun the frame without an end, this time included, since it was planned or last answered. */
  tries: number
}

/** What a worker wants to hold. */
export interface NewHold {
  /** The name of the worker. It should differ from those of others. */
  name: string
  /** The length of the lease in milliseconds, from 1 to 86,400,000. */
  lease: number
  /** Only frames below this one. */
  below?: FrameRef
  /** Exactly this frame. */
  frame?: FrameRef
}

/** Who gives commands: `Stack.asActor`. */
export type Actor =
  | Hold
  | {
      kind: HolderKind
      name: string
      /** The session or conversation for which it works. */
      caller?: string
      /** True: it may end and begin what a person or a conversation holds. */
      takesOver?: boolean
      /** True: what it begins is the task of a subagent, whose name nobody knows yet. */
      handsOver?: boolean
    }

/** How a holder ends its work: `Stack.finish`. */
export type Finish =
  | { end: "done" | "failed"; results: string; resultsCompacted?: string }
  /** It waits for an answer. */
  | { end: "asks"; question: string; results?: string; resultsCompacted?: string }
  /** It waits for so many milliseconds; without `wait` longer each time, at most a minute. */
  | { end: "later"; wait?: number }

/** How the work on a frame has ended. */
export interface Finished {
  /** `in_progress`: the frame was put back. */
  status: FrameStatus
  /** Until when nobody gets it, in milliseconds since the Unix epoch. */
  until?: number
}

/** What is left to do for workers: numbers of unfinished frames. */
export interface WorkLeft {
  /** Frames that a worker can hold now. */
  free: number
  /** Frames that workers hold. */
  held: number
  /** Frames that workers have put back for later. */
  later: number
  /** Frames that wait for others. */
  waiting: number
  /** Frames in progress that are no worker's. */
  begun: number
  /** Blocked frames. */
  blocked: number
  /** Frames that could be held, but are assigned to others: workers of other names get them only if they name the frame. */
  assigned: number
}

/** The answer of a retry. */
export interface Retried {
  /** The new frame, which is planned. */
  handle: Handle
  /** Which attempt it is, counted from 1. */
  attempt: number
  /** The frames below the earlier attempt that were planned. They are invalidated. */
  invalidated: Handle[]
  /** Frames below the earlier attempt that are in progress or blocked. They were not changed. */
  stillOpen: Handle[]
}

/** The answer of a reopening. */
export interface Reopened {
  /** The frame that goes on. */
  handle: Handle
  /** Planned frames that depend on it. They wait again. */
  waiting: Handle[]
  /** Frames that depend on it and have begun, or ended: they have used results that were wrong. */
  begun: Handle[]
}

/** The command of a person that was taken back. */
export interface Undone {
  /** What it was, such as `pop`. */
  command: string
  /** The frames that are as they were before it. */
  frames: Handle[]
  /** The frames that it had added. They are invalidated. */
  removed: Handle[]
}

/** What a frame was before a command of a person. */
export interface FrameBefore {
  frame: Handle
  /** Keys of its record with their values; null for a key that it did not have. */
  values?: Record<string, unknown>
  /** The edit that takes it back to its place and its dependencies. */
  edit?: FrameEdit
}

/** The answer of an invalidation. */
export interface Invalidated {
  /** The frame itself, then the planned frames below it. */
  invalidated: Handle[]
  /** Frames below it that are in progress or blocked. They were not changed. */
  stillOpen: Handle[]
  /** Unfinished frames that depend on an invalidated frame. */
  dependents: Handle[]
}

/** A part of a frame that the file of its plan can change. */
export type PlanField =
  | "title"
  | "criteria"
  | "task"
  | "priority"
  | "labels"
  | "assignee"
  | "dependsOn"
  | "parent"
  | "results"
  | "status"
  | "order"

/** The change of a frame that was imported before. */
export interface PlanChange {
  frame: Handle
  /** Its ID in the plan. */
  id: string
  title: string
  /** What becomes of it. `edited`: its status stays. `removed`: the file does not have it any more. */
  becomes: "edited" | "planned" | "waiting" | "begun" | "finished" | "invalidated" | "removed"
  fields: PlanField[]
}

/** A part of a frame of which file and stack say different things. Both stay as they are. */
export interface PlanConflict {
  frame: Handle
  /** Its ID in the plan. */
  id: string
  title: string
  field: PlanField
  /** What the file says. */
  file: string
  /** What the stack says. */
  stack: string
  /** What can be done. */
  advice: string
}

/** The answer of an import. */
export interface Imported {
  /** The new frames. */
  handles: Handle[]
  /** The parts that could not be read or did not fit, each with its place in the text. */
  problems: { place: string; message: string }[]
  /** The frames that were imported before, and have changed. */
  changes: PlanChange[]
  /** The fields on which the stack and the file differ: they keep the values of the stack. */
  conflicts: PlanConflict[]
  /** Number of frames that were imported before, and have not changed. */
  unchanged: number
}

/** Limits on the size of a context, in tokens, and one in bytes. */
export interface Budget {
  /** Limit of the whole context. It is never exceeded. Default 4000. */
  total?: number
  /** Limit of the whole context in bytes (UTF-8). It is never exceeded. Default: six for each token of `total`. */
  bytes?: number
  /** Quota of the ancestors. Default 1500. */
  ancestors?: number
  /** Quota of the finished siblings of the frame and of its ancestors, and of the dependencies. Default 1500. */
  siblings?: number
  /** Quota of the current frame. Default 800. */
  current?: number
  /** Quota of what surrounds the current frame. Default 200. */
  overhead?: number
  /** Quota of the chunks on the heap that are shown verbatim. Default 1500. */
  heap?: number
  /** Quota of the finished children whose results the frame's conversation does not hold. Default 1000. */
  children?: number
}

/**
 * The host's names of the agent's tools that texts mention. `prefix` stands before the default names
 * (`stack_frame_push`, …), a string replaces a name as a whole, null means that the host has no such tool. `"none"`:
 * texts name no tools. Names have 1 to 64 characters, no control characters.
 */
export type ToolNames =
  | "none"
  | {
      /** Before every default name, such as `mcp__callstack__`. Default: empty. */
      prefix?: string
      /** Begins a child frame. Default `stack_frame_push`. */
      push?: string | null
      /** Finishes a frame. Default `stack_frame_pop`. */
      pop?: string | null
      /** Begins a planned frame, or resumes one. Default `stack_frame_activate`. */
      activate?: string | null
      /** Plans several frames. Default `stack_frame_plan_children`. */
      planChildren?: string | null
      /** Takes a frame out of the plan. Default `stack_frame_invalidate`. */
      invalidate?: string | null
      /** Shows everything about a frame. Default `stack_frame_details`. */
      details?: string | null
      /** Draws the tree. Default `stack_tree`. */
      tree?: string | null
      /** Reads a chunk of the heap. Default `stack_heap_read`. */
      heapRead?: string | null
      /** Removes a chunk from the heap. Default `stack_heap_free`. */
      heapFree?: string | null
      /** Writes registers, or shows them. Default `stack_registers_update`. */
      updateRegisters?: string | null
      /** Edits a planned frame. Default `stack_frame_edit`. */
      edit?: string | null
    }

/** Settings of contexts. */
export interface Settings {
  /** Limits on the size. */
  budget?: Budget
  /** Siblings with a lower relevance score are shown as stubs, while their quota has room; 0 to 100. Default 30. */
  minimumRelevance?: number
  /**
   * Which finished children are shown. `"forgotten"`, the default: those whose results the frame's conversation does not
   * hold (`Stack.deliver`, `Stack.forget`).
   */
  finishedChildren?: "all" | "forgotten" | "none"
  /** How much general advice the context contains. Default `"full"`. */
  guidance?: "full" | "brief" | "none"
  /**
   * The form of the text. `"cached"`, the default: nothing before what is added changes, for prompt caches. `"document"`: the form
   * of the specification, with the ID of the frame and the numbers of siblings in the opening tags.
   */
  form?: "cached" | "document"
  /** The size of the heap, in characters, above which the agent is warned. Default 5000. */
  heapCeiling?: number
  /** The host's names of the agent's tools. Default: those of `Stack.tools()`. */
  tools?: ToolNames
}

/** Which frames and chunks were considered for a context, and how much of each is shown. */
export interface Report {
  /** An upper bound of the tokens of the whole context. Never more than the total budget. */
  tokens: number
  /** The frame of the context. */
  handle: Handle
  /** An upper bound of the tokens of the stable part. */
  stableTokens: number
  /** An upper bound of the tokens of the volatile part. */
  volatileTokens: number
  /** Every frame that was considered. */
  entries: ReportEntry[]
  /** Every chunk that the frame sees; absent if there are none. */
  chunks?: ReportChunk[]
}

/** How much of a chunk is shown in a context. */
export interface ReportChunk {
  /** The name of the chunk. */
  name: string
  /** The frame that the chunk belongs to. */
  handle: Handle
  /** `"omitted"`: nothing. `"index"`: its line in the index. `"whole"`: the whole text. */
  shown: "omitted" | "index" | "whole"
  /** The cost of what is shown, in tokens. */
  tokens: number
}

/** How much of a frame is shown in a context. */
export interface ReportEntry {
  /** The frame. */
  handle: Handle
  /** The section that shows it, or would show it. */
  section:
    | "current-frame"
    | "ancestors"
    | "dependencies"
    | "inherited-dependencies"
    | "earlier-attempts"
    | "ancestor-siblings"
    | "completed-siblings"
    | "finished-children"
    | "planned-children"
  /** How much of it is shown, from nothing (`"omitted"`) to everything (`"whole"`: of a dependency, its results at length). */
  detailLevel: "omitted" | "stub" | "compact" | "standard" | "full" | "whole"
  /** The relevance to the current frame, 0 to 100. */
  score: number
  /** The cost of what is shown, in tokens. */
  tokens: number
  /** The path of the frame's log, if the context names it. */
  log?: string
  /** Why the frame is omitted; absent if it is not. */
  omission?: "irrelevant" | "budget" | "rank"
}

/** Options of `Stack.outline`. */
export interface OutlineOptions {
  /** `"marked"`: with branches and status marks (the default). `"indented"`: with indentation only. */
  style?: "marked" | "indented"
  /** Show only this frame and the frames below it. Default: all frames. */
  root?: FrameRef
  /** The frame of the reader. It is marked instead of the active frame, if it is open. Default: the active frame. */
  own?: FrameRef
  /** Mark the active frame, or that of the reader, and name it below the frames. Default true. */
  active?: boolean
  /** Whether criteria, results, artifacts and decisions are shown. Default false. */
  details?: boolean
  /** The number of levels below the first. Default: all. */
  depth?: number
  /** The maximum length of a line, in characters; 0 means no limit. Default 120. */
  width?: number
}

/** The state and the statistics of a stack. */
export interface StackInfo {
  /** The number of events so far. */
  revision: number
  /** The number of frames. */
  frames: number
  /** The active frame; null if there is none. */
  active: Handle | null
  /** Statistics of the cache of contexts. */
  cache: { hits: number; misses: number; entries: number }
  /**
   * The files beside the database: the revision in `state.json`, the number of frames whose files are out of date, and why
   * they could not be written (null if they could). Null if the stack has no such files.
   */
  mirror: { revision: number; staleFrames: number; error: string | null } | null
  /** The problems of the files or the state that the stack was opened with, and how each was repaired. */
  repairs: { frame: string | null; message: string }[]
}

/** The whole tree in the layout of `state.json`. An imported state may have more keys; {@link unknownKey} reads them. */
export interface StackState {
  /** The version of the layout: 1. */
  version: number
  /** The number of events so far. */
  revision?: number
  /** All frames, by ID. */
  frames: Record<string, FrameRecord>
  /** The ID of the active frame. */
  activeFrameID?: string
  /** The IDs of the roots. */
  rootFrameIDs: string[]
  /** When the tree last changed, in milliseconds since the Unix epoch. */
  updatedAt: number
}

/** The changes that an event can record. `kind` says which, and the other keys depend on it. */
export type Change =
  /** The frame was created: pushed, planned, made for a session, or imported. */
  | { kind: "added"; frame: FrameRecord }
  /** This frame and the following ones were imported together. `extra`: keys of the imported state that are unknown. */
  | { kind: "imported"; extra?: Record<string, unknown> }
  /** The frame depends on frames that were added later in the same command. */
  | { kind: "dependenciesAdded"; dependsOn: string[] }
  /** A placeholder got its title and criteria, for good unless they are provisional. */
  | { kind: "identified"; identity: Required<Identity>; provisional?: boolean }
  /** The frame was activated, blocked, resumed or popped. */
  | { kind: "statusChanged"; status: FrameStatus; results?: string; resultsCompacted?: string }
  /** The frame continues, with these results so far. */
  | { kind: "summarized"; results: string; resultsCompacted: string }
  /** The frame was invalidated. */
  | { kind: "invalidated"; reason: string }
  /** The frame got another ID. */
  | { kind: "idReplaced"; sessionID: string }
  /** The log of the frame is another file: an absolute path, or one relative to the stack's folder. */
  | { kind: "logPathSet"; logPath: string }
  /** The log of the frame was renamed with its ID: a path relative to the stack's folder. */
  | { kind: "logMoved"; logPath: string }
  /** The conversation of the parent received the results of the frame. */
  | { kind: "delivered" }
  /** The conversation of the frame was compacted or begun anew. */
  | { kind: "forgotten" }
  /** The frame, which was blocked in the same command, waits for this. */
  | { kind: "asked"; question: string; interruption?: true }
  /** The blocked frame was answered. It can be resumed. */
  | { kind: "answered"; answer: string; becomes?: FrameStatus }
  /** Somebody holds the frame from now on, or has another end of the lease: then the generation is that of before. */
  | { kind: "held"; holder: Holder }
  /** The holder of the frame has let it go, or has lost it. */
  | { kind: "released"; release: Release }
  /** A summary of the frame's conversation was requested; without `request` the request has ended. */
  | { kind: "summaryRequested"; request?: NonNullable<Frame["summaryRequest"]> }
  /** Somebody has stopped the frames that run at or below the frame. */
  | { kind: "stopped"; reason: string }
  /**
   * The planned frame was edited, or a person has corrected an open one; `was`: the values before, if it had begun. Frames are named by handle.
   * Others get only another place.
   */
  | { kind: "edited"; edit: FrameEdit; was?: FrameEdit }
  /** What the frame may do and spend is this from now on. */
  | { kind: "limitsSet"; limits: FrameLimits }
  /** The host has told what a conversation of the frame has cost so far. */
  | { kind: "costRecorded"; conversation: string; costMicroUsd: number }
  /** The transcript of a conversation was read up to here. */
  | {
      kind: "transcriptRead"
      conversation: string
      position: {
        offset: number
        path: Handle[]
        hasFrames: boolean
        last: string
        answer: string
        model: string
        time: number
      }
    }
  /** The completed frame is in_progress again. */
  | { kind: "reopened"; reason: string }
  /** A person has given a command; `before`: what the tree was, if the command can be taken back. */
  | {
      kind: "commanded"
      command: string
      by?: string
      before?: { frames?: FrameBefore[]; added?: [Handle, Handle]; active?: Handle }
    }
  /** A command of a person was taken back; `commanded`: the revision of its event. */
  | { kind: "undone"; commanded: number; command: string }
  /** The frame is again what it was before a command that was taken back. */
  | { kind: "restored"; values: Record<string, unknown>; edit?: FrameEdit }
  /** The file from which the frame was imported has changed, and the frame with it; or only what is known of the file. */
  | { kind: "reimported"; values: Record<string, unknown>; edit?: FrameEdit }
  /** A model was asked in the frame's session. Contexts do not show it. */
  | {
      kind: "usageRecorded"
      modelRequest: Required<Omit<ModelRequest, "costMicroUsd">> & Pick<ModelRequest, "costMicroUsd">
    }
  /** An artifact was recorded. */
  | { kind: "artifactAdded"; artifact: string }
  /** A decision was recorded. */
  | { kind: "decisionAdded"; decision: string }
  /** True: the frame became the active one. False: it was active, and now no frame is. */
  | { kind: "activeChanged"; active: boolean }
  /** A chunk was allocated on the heap of the frame. */
  | { kind: "chunkAllocated"; chunk: Chunk }
  /** A chunk of the frame was written. `step`: the step of the run; 0 outside of runs. */
  | { kind: "chunkWritten"; name: string; content: string; step: number }
  /** A chunk of the frame was freed. */
  | { kind: "chunkFreed"; name: string }
  /** Registers of the frame were set. The others keep their values. */
  | { kind: "registersChanged"; registers: Partial<Record<Register, string>> }
  /** A run was started with the frame as its root. */
  | { kind: "runStarted"; run: RunSettings }
  /** The frame was pushed by a tool call of a model, which waits for its results. `call`: the ID of the call. */
  | { kind: "called"; call: string }
  /** Messages were added to the conversation of the frame. */
  | { kind: "messagesAdded"; messages: RunMessage[] }

/** The name of a change. */
export type EventKind = Change["kind"]

/** The keys that every event has. */
export interface EventHead {
  /** The position in the history: 1 for the first event of a tree, then one more for each. */
  revision: number
  /** When it happened, in milliseconds since the Unix epoch. */
  time: number
  /** The frame that changed. */
  handle: Handle
}

/**
 * A change to one frame.
 *
 * ```js
 * for (const event of stack.history()) if (event.kind === "decisionAdded") console.log(event.handle, event.decision)
 * ```
 */
export type StackEvent = EventHead & Change

/** Selects events of a history. */
export interface EventQuery<Kind extends EventKind = EventKind> {
  /** Only events after this revision. */
  since?: number
  /** Only events up to this revision. */
  until?: number
  /** Only events of this frame. */
  frame?: FrameRef
  /** Only events of this kind. */
  kind?: Kind
  /** At most this many events, the oldest ones. */
  limit?: number
}

/** Selects lines of a log. */
export interface LogQuery {
  /** The first line, counted from 1. Default 1. */
  from?: number
  /** The last line, inclusive. Default: the last line of the log. */
  to?: number
  /** Only lines that contain this text, in upper or lower case. */
  search?: string
  /** Only the last this many of the selected lines. */
  tail?: number
}

/** Lines of a log. */
export interface LogPage {
  /** The selected lines, in order. */
  lines: { number: number; entry: unknown }[]
  /** The number of lines in the whole log. */
  total: number
  /** The selected lines that could not be read. */
  damaged: { number: number; message: string }[]
}

/** Settings of a host. They override the environment variables, which override the defaults. */
export interface HostSettings {
  /**
   * The tools that the host offers to its agents, which `offeredTools` returns. `"standard"`: those that an agent needs to
   * work (the default). `"all"`. Or a list of names; `"standard"` in a list stands for the standard tools. Texts for agents
   * mention no others.
   */
  tools?: "standard" | "all" | string[]
  /** Settings of the contexts. */
  context?: Settings
  /** Which child sessions get frames, and when these are finished. */
  subagents?: {
    /** Whether child sessions get frames. Default true. */
    enabled?: boolean
    /** How long a session without a matching title must exist, in milliseconds. Default 60,000. */
    minDuration?: number
    /** How many messages a session without a matching title must have. Default 3. */
    minMessageCount?: number
    /** Whether the frame of an idle subagent is finished. Default true. */
    autoCompleteOnIdle?: boolean
    /** After how many idle milliseconds it is finished. Default 5000. */
    idleCompletionDelay?: number
    /** Whether requests of subagents get a context. Default true. */
    injectParentContext?: boolean
    /** Whether the last message of a subagent becomes the results of its frame. Default true. */
    propagateSummaries?: boolean
    /**
     * Regular expressions, at most 20 with at most 200 characters each, without large repetitions. A session whose title
     * matches one in its first 300 characters is a subagent.
     */
    patterns?: string[]
  }
  /** Suggestions to the agent, and automatic actions. */
  autonomy?: {
    /** `"manual"`: nothing. `"suggest"`: suggestions (the default). `"auto"`: actions, if the confidence is high enough. */
    level?: "manual" | "suggest" | "auto"
    /** The least confidence for a push, 0 to 100. Default 70. */
    pushThreshold?: number
    /** The least confidence for a pop, 0 to 100. Default 80. */
    popThreshold?: number
    /** Whether contexts show suggestions. Default true. */
    suggestInContext?: boolean
    /** The names of the heuristics in use. Default: all seven. */
    enabledHeuristics?: string[]
  }
  /** The work on pushed and activated frames. */
  calls?: {
    /**
     * Where it is done. `"session"` (the default): in a session of its own, while the caller waits. `"conversation"`: in the
     * conversation of the caller, for hosts that {@link fold} requests; frames in the background, and those that one message of
     * the model begins beside another one, have sessions of their own nevertheless.
     */
    in?: "session" | "conversation"
    /** How many ancestors the frame of a call may have. Default 5. */
    maxDepth?: number
    /** After how many milliseconds a call is stopped; 0 (the default) means never. */
    timeLimit?: number
    /** How many called sessions work at the same time; others are queued. 0 means no limit. Default 4. */
    maxConcurrent?: number
    /** What each root that the host begins may do and spend, where the root has no limits of its own. */
    limits?: FrameLimits
    /** How long a host holds the frames of its calls after it was last heard of, in milliseconds. Default 20,000. */
    lease?: number
  }
}

/** A message of a session. */
export interface SessionMessage {
  /** The ID of the message. */
  id: string
  /** The role of its author, such as `user`. */
  role: string
  /** All its text parts, joined. */
  text: string
  /** Whether the host marks it as the summary of a compaction. Default false. */
  summary?: boolean
  /** Whether it still changes, for example because the model writes it. Default false. */
  unfinished?: boolean
  /** When it began, in milliseconds since the epoch. If absent, the log has the time at which it was logged. */
  time?: number
  /** All its parts as the host stores them, for the log. */
  parts?: readonly unknown[]
}

/**
 * One request to a model. The numbers of tokens are those of the provider, and do not overlap: the prompt has
 * `uncachedInput` + `cacheRead` + `cacheWrite` tokens, the answer `output` + `reasoning`. Numbers are 0 by default.
 */
export interface ModelRequest {
  /** The host's name of the model. Default: not known. */
  model?: string
  /** Prompt tokens that were neither read from a cache nor written to it. */
  uncachedInput?: number
  /** Prompt tokens that were read from the provider's cache. */
  cacheRead?: number
  /** Prompt tokens that were written to the provider's cache. */
  cacheWrite?: number
  /** Those of them that the cache keeps for an hour, which some providers sell for a price of its own. */
  cacheWriteHour?: number
  /** Tokens of the answer, without those of reasoning. */
  output?: number
  /** Tokens of reasoning. */
  reasoning?: number
  /** Time from the request to the end of its answer, in milliseconds. */
  duration?: number
  /** Number of messages in the prompt. */
  messages?: number
  /** What the request has cost, in millionths of a US dollar. A record with nothing but a cost is no request. */
  costMicroUsd?: number
  /** True if the request had no answer that could be used. Its tokens count all the same. */
  failed?: boolean
}

/** The sums of requests to one model. Tokens are as in {@link ModelRequest}. */
export interface ModelUsage {
  /** The host's name of the model; empty if it is not known. */
  model: string
  /** Number of requests, failed ones among them. */
  requests: number
  /** Number of failed requests. */
  failed: number
  uncachedInput: number
  cacheRead: number
  cacheWrite: number
  /** Of `cacheWrite`, what the cache keeps for an hour; absent if that is nothing. */
  cacheWriteHour?: number
  output: number
  reasoning: number
  /** Time of all requests, in milliseconds. Of requests that ran at the same time each counts. */
  duration: number
  /** What the requests have cost, in millionths of a US dollar, as far as the host has told it with them. */
  costMicroUsd?: number
}

/** The requests of a frame, and of the frame with everything below it; an entry for each model. */
export interface FrameUsage {
  own: ModelUsage[]
  total: ModelUsage[]
  /** What the frame itself has cost, in millionths of a US dollar: what hosts have told, and an estimate of what came since. */
  ownCostMicroUsd: number
  /** What the frame and all frames below it have cost. */
  totalCostMicroUsd: number
}

/** An event of a host. Events may be reported twice and in any order. */
export type HostEvent =
  | { kind: "sessionCreated"; sessionID: string; parentID?: string | undefined; title?: string }
  | { kind: "sessionUpdated"; sessionID: string; title: string }
  | { kind: "sessionIdle" | "sessionDeleted" | "sessionCompacting"; sessionID: string }
  | { kind: "sessionError"; sessionID: string; message: string }
  | { kind: "sessionCompacted" | "sessionMessages"; sessionID: string; messages: readonly SessionMessage[] }
  | {
      kind: "message"
      sessionID: string
      messageID: string
      role: "user" | "assistant"
      text: string
      /**
       * When the message was begun, in milliseconds since the epoch: it says to which frame the message belongs if the
       * conversation goes through several. Default: to the one in which it is now.
       */
      time?: number | undefined
      /** The tokens in the session's context, as its model counted them. */
      tokens?: number | undefined
      /** The size of the model's context window, in tokens. */
      contextLimit?: number | undefined
      /** The request to the model that the message answers. It is recorded in the session's frame. */
      request?: ModelRequest | undefined
    }
  | {
      /**
       * A request to the model that no message of the conversation answers: one that has failed and is repeated, or that for the
       * summary of a compaction.
       */
      kind: "modelRequested"
      sessionID: string
      /** No message has it. */
      requestID: string
      time?: number | undefined
      request: ModelRequest
    }
  /**
   * A person may have set the conversation back to an earlier point, or has opened it again. `answers` is what the stack's tools
   * have answered in it, also before it was compacted, oldest first. It is in the frame in which it was then, or in the nearest
   * open one above; open frames that it has begun since are blocked; contexts show the results that it has lost. `asked` is what
   * the person has written in it, oldest first: what is gone is no part of the task any more.
   */
  | { kind: "sessionSetBack"; sessionID: string; answers: readonly string[]; asked?: readonly string[] }
  /** A message will not change any more. It is appended to the log of the session's frame. */
  | { kind: "messageFinished"; sessionID: string; message: SessionMessage }
  | {
      kind: "toolExecuted"
      sessionID: string
      /** ID of the tool call. A repeated ID is ignored. */
      toolCallID?: string | undefined
      tool: string
      /** The file with which the tool was called. It counts as written if the tool is known to write files. */
      path?: string | undefined
      /** The command line that the tool has run in a shell: its redirections, `mv`, `rm` and the like count as changes of files. */
      command?: string | undefined
      /** What the tool did to files, whatever its name is. */
      changes?: readonly FileChange[] | undefined
      failed?: boolean
      /** The child session in which the tool has worked, if it has waited for its end. Its frame ends. */
      childID?: string | undefined
      /** The answer of that session; if the tool has failed, the error message. */
      answer?: string | undefined
    }
  | { kind: "callStarted"; call: number; sessionID: string }
  | { kind: "callEnded"; call: number; error?: string | undefined }
  | { kind: "callAborted"; call: number }

/** A change of a file by a tool. */
export type FileChange = { kind: "written" | "deleted"; path: string } | { kind: "renamed"; from: string; to: string }

/** Something that the host must do. */
export type Effect =
  /** Write a line to the log of the host. `data` is for the log only; its keys depend on the message. */
  | { kind: "log"; level: "debug" | "info" | "warn"; message: string; data: Record<string, unknown> }
  /** Report `sessionCreated`, or `sessionDeleted` if the session does not exist. */
  | { kind: "describeSession"; sessionID: string }
  /** Report `sessionMessages`, without messages if the session does not exist. */
  | { kind: "readMessages"; sessionID: string }
  /** Create a session. Report `callStarted`, or `callEnded` with an error. */
  | { kind: "createSession"; call: number; parentID: string; title: string }
  /** Prompt the session with the model of the session `callerID`, wait for the end, and report `callEnded`. */
  | { kind: "prompt"; call: number; sessionID: string; callerID: string; text: string }
  /** Answer the tool call that waits for `call`. */
  | { kind: "answer"; call: number; text: string; title: string; ended: Handle[] }
  /** Abort the session. */
  | { kind: "abortSession"; sessionID: string }
  /** Compact the session. Report `sessionCompacted`, without messages if it failed. */
  | { kind: "compactSession"; sessionID: string }
  /** Add the text to the prompt that asks for the summary. */
  | { kind: "compactionPrompt"; sessionID: string; text: string }

/** A tool, as hosts register it. */
export interface Tool {
  /** The name that `Stack.tool` takes. */
  name: string
  /** The group that the tool belongs to, for documentation. */
  group: "frames" | "planning" | "context" | "compaction" | "subagents" | "autonomy"
  /** The description for the model. */
  description: string
  /** The parameters: JSON Schema of an object. */
  parameters: { type: "object"; properties: Record<string, object>; required?: string[] }
  /** An example of valid arguments. */
  example: object
}

/** The answer to a tool call of an agent. */
export interface ToolAnswer {
  /** The text of the answer. If it is absent, an effect `answer` brings it later. */
  text?: string
  /** One line for people: what the call was about, and what became of that. Empty if its arguments say it, or if the answer comes later. */
  title: string
  /** The frames that the call has popped, or for whose ends it has waited. */
  ended: Handle[]
  /** The number of a call that is answered later. Report `callAborted` if nobody waits for it any more. */
  call?: number
  /** Whether the text explains why nothing was done. */
  isError: boolean
  /** The effects that the host must carry out, in order. */
  effects: Effect[]
}

/** The context of a session, in two parts. */
export interface SessionContext {
  /** For the system prompt. It keeps its bytes until a frame is pushed, popped or invalidated. */
  stable: string
  /** For this request only: put it after the newest message. */
  volatile: string
}
