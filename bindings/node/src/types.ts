// The records, with the names that the documented files have.

/** Where a frame is in its life. */
export type FrameStatus = "planned" | "in_progress" | "completed" | "failed" | "blocked" | "invalidated"

/** How a frame may end. */
export type PopStatus = "completed" | "failed" | "blocked"

/** The number of a frame in its tree, such as `f3`: given once, and never again to another frame. */
export type Handle = string

/** A frame named by its handle, its ID, or a beginning of its ID that fits no other frame. */
export type FrameRef = string

/** What a stack in a folder is opened with. */
export interface StackOptions {
  /**
   * What survives what. `"normal"` (the default): what was acknowledged survives the death of the process; a loss of
   * power may take the last moments. `"full"`: that too.
   */
  durability?: "normal" | "full"
  /** How long a command waits for other processes, in milliseconds. Default 10,000. */
  busyTimeout?: number
  /** Whether `state.json` and `frames/` are kept up to date beside the database. Default true. */
  mirror?: boolean
  /** How tokens are counted: estimated (the default), or a token for four characters. */
  tokens?: "approx" | "chars4"
}

/** What a stack in memory is made with. */
export interface MemoryOptions {
  /** How tokens are counted: estimated (the default), or a token for four characters. */
  tokens?: "approx" | "chars4"
  /** Whether it keeps its events, as stacks in folders do. Default false. */
  history?: boolean
}

/** A frame to be pushed or planned. */
export interface NewFrame {
  /** Short name, two to five words. */
  title: string
  /** What must be true when the frame is done. */
  successCriteria?: string
  /** The same, dense, for prompts. */
  successCriteriaCompacted?: string
  /** The frame's ID: the host's session. Without one it gets an ID of the form `plan-…`. */
  sessionID?: string
  /**
   * The frame above; null makes a root. Without this key: the open frame of the session `caller`, else the active
   * frame, else none.
   */
  parent?: FrameRef | null
  /** ID of the session that makes the call. */
  caller?: string
  /** The frames whose results this one needs. */
  dependsOn?: FrameRef[]
}

/** The part of a frame that never changes. */
export interface Identity {
  /** Short name, two to five words. */
  title: string
  /** What must be true when the frame is done. */
  successCriteria?: string
  /** The same, dense, for prompts. */
  successCriteriaCompacted?: string
}

/** Everything there is to know about a frame. Times are milliseconds since the Unix epoch. */
export interface FrameRecord {
  /** The frame's ID: the host's session, or `plan-…` until it is activated. */
  sessionID: string
  /** ID of the parent; absent for a root. */
  parentSessionID?: string
  /** Where the frame is in its life. */
  status: FrameStatus
  /** Short name. */
  title: string
  /** What must be true when the frame is done. */
  successCriteria: string
  /** The same, dense, for prompts. */
  successCriteriaCompacted: string
  /** What was achieved, in full. */
  results?: string
  /** The same, dense, for the prompts of others. */
  resultsCompacted?: string
  /** When the frame was made. */
  createdAt: number
  /** When the frame last changed. */
  updatedAt: number
  /** Files and other resources that the work produced. */
  artifacts: string[]
  /** Decisions taken on the way. */
  decisions: string[]
  /** IDs of the frames whose results this one needs. */
  dependsOn?: string[]
  /** Path of the frame's full log. */
  logPath?: string
  /** Why the frame was invalidated. */
  invalidationReason?: string
  /** When the frame was invalidated. */
  invalidatedAt?: number
  /** IDs of the children that are still planned. */
  plannedChildren?: string[]
  /** Made only because a session appeared: title and criteria may still be given, once. */
  placeholder?: boolean
  /** Its chunks on the heap. */
  heap?: Chunk[]
  /** Its registers that are not empty, if it uses any. */
  registers?: Partial<Record<Register, string>>
  /** Keys of imported files that this version does not know are kept. */
  [key: string]: unknown
}

/** A named text on the heap of a frame, seen by it and all frames below it until it is freed. */
export interface Chunk {
  /** Its name, which no other chunk in sight has. */
  name: string
  /** The text, word for word. */
  content: string
  /** A short summary for the index. */
  description?: string
  /** When it was allocated. */
  allocatedAt: number
  /** When it was last written. */
  writtenAt: number
  /** The step of the run in which it was allocated; absent outside of runs. */
  allocatedStep?: number
  /** The step of the run in which it was last written; absent outside of runs. */
  writtenStep?: number
}

/** The registers: short notes that an agent works by. */
export type Register =
  | "R0_GOAL"
  | "R1_PLAN"
  | "R2_NEXT"
  | "R3_PHASE"
  | "R4_CONSTRAINTS"
  | "R5_ASSUMPTIONS"
  | "R6_OPEN_QUESTIONS"
  | "R7_STATUS"

/** A chunk to be allocated. */
export interface NewChunk {
  /** Its name: 1 to 100 characters on one line. */
  name: string
  /** The text: up to 100,000 characters. */
  content: string
  /** A short summary for the index: up to 300 characters on one line. */
  description?: string
}

/** What a run is started with. */
export interface RunSettings {
  /** Stack and heap (the default), or these and registers. */
  memory?: "heap" | "registers"
  /** The most frames that may be above another one. Default 5. */
  maxDepth?: number
  /** Characters on the heap past which the agent is warned. Default 5000. */
  heapCeiling?: number
}

/** A run to be started. */
export interface NewRun {
  /** What the agent is to do. */
  task: string
  /** Which memory it has, and how much. */
  settings?: RunSettings
  /** The title of its frame; by default the beginning of the task. */
  title?: string
  /** The ID of its frame; by default one is made. */
  sessionID?: string
  /**
   * What the agent's other tools do, in Markdown: a section of the system prompt, up to 100,000 characters. By default
   * there is none. It is kept with the run.
   */
  tools?: string
}

/** A tool that a model calls. */
export interface ToolCall {
  /** The call's ID, by which its answer is found. */
  id: string
  /** The tool's name. */
  name: string
  /** The arguments as the model wrote them: a JSON object, if it kept to the schema. */
  arguments: string
}

/** One message of a conversation with a model. */
export type RunMessage =
  | { role: "user"; text: string }
  | { role: "assistant"; text: string; calls?: ToolCall[] }
  | { role: "tool"; call: string; name: string; text: string; isError?: boolean }

/** What a model has said. */
export interface Reply {
  text?: string
  calls?: ToolCall[]
}

/** What a run needs next. */
export type Next =
  | {
      /** Ask a model this, and bring what it says. */
      next: "ask"
      /** The number of the step, from 1 on. */
      step: number
      /** The present frame. */
      frame: Handle
      /** How many frames are above it. */
      depth: number
      /** What the model is told before everything else. */
      system: string
      /** The conversation of the present frame; the newest message ends with the memory. */
      messages: RunMessage[]
    }
  | ({
      /** Do what this call asks for, and bring the answer. */
      next: "call"
    } & ToolCall)
  | {
      /** Nothing: the root frame is finished. */
      next: "over"
      /** How it ended. */
      status: FrameStatus
      /** Its results. */
      results: string
    }

/** Where a run is. */
export interface RunStatus {
  /** What it was started with. */
  settings: Required<RunSettings>
  /** How many times a model has answered. */
  steps: number
  /** The present frame. */
  frame: Handle
  /** How many frames are above it. */
  depth: number
  /** How many steps in a row, the last one included, have made the same calls. */
  repeats: number
}

/** A frame of a stack: its record and its handle. */
export interface Frame extends FrameRecord {
  /** The frame's number. */
  handle: Handle
}

/** Which frames are meant. */
export interface FrameQuery {
  /**
   * `"all"` (the default), `"roots"`, `"ready"` (planned, and all that they depend on is completed), or how they stand to
   * `frame`: `"ancestors"` (from the parent up), `"children"`, `"siblings"`, `"subtree"` (the frame and all below it).
   */
  relation?: "all" | "roots" | "ready" | "ancestors" | "children" | "siblings" | "subtree"
  /** The frame that the relation is to. */
  frame?: FrameRef
  /** Only frames with this status. */
  status?: FrameStatus
}

/** What a pop left behind. */
export interface Popped {
  /** The frame that was popped. */
  handle: Handle
  /** Its parent; null: it was a root, and its tree is done. */
  parent: Handle | null
  /** The frame that is active now. */
  active: Handle | null
  /** Frames below it that are still in progress or blocked. */
  stillOpen: Handle[]
  /** Frames below it that were planned and never begun. */
  stillPlanned: Handle[]
}

/** What an invalidation touched, and what it did not. */
export interface Invalidated {
  /** The frame itself, then the planned frames below it. */
  invalidated: Handle[]
  /** Frames below it that are in progress or blocked, which were not touched. */
  stillOpen: Handle[]
  /** Frames that depend on an invalidated one and are not finished. */
  dependents: Handle[]
}

/** What came of an import. */
export interface Imported {
  /** The new frames. */
  handles: Handle[]
  /** What could not be read or did not fit, with its place in the text. */
  problems: { place: string; message: string }[]
}

/** Tokens to spend on a context. */
export interface Budget {
  /** The most tokens a context may have. Default 4000. */
  total?: number
  /** Quota of the ancestors. Default 1500. */
  ancestors?: number
  /** Quota of finished siblings and dependencies. Default 1500. */
  siblings?: number
  /** Quota of the current frame. Default 800. */
  current?: number
  /** Quota of what surrounds the current frame. Default 200. */
  overhead?: number
  /** Quota of the chunks on the heap that are shown word for word. Default 1500. */
  heap?: number
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
    }

/** What shapes a context, beside the tree. */
export interface Settings {
  /** Tokens to spend. */
  budget?: Budget
  /** Siblings that score less are left out, 0 to 100. Default 30. */
  minimumRelevance?: number
  /** How much standing advice. Default `"full"`. */
  guidance?: "full" | "brief" | "none"
  /** Characters on the heap past which the agent is warned. Default 5000. */
  heapCeiling?: number
  /** The host's names of the agent's tools. By default those that `Stack.tools()` lists. */
  tools?: ToolNames
}

/** What was considered for a context, and what became of it. */
export interface Report {
  /** Upper bound of the tokens of the whole. Never more than the total budget. */
  tokens: number
  /** The frame whose context it is. */
  handle: Handle
  /** Upper bound of the stable part's tokens. */
  stableTokens: number
  /** Upper bound of the volatile part's tokens. */
  volatileTokens: number
  /** Every frame considered. */
  entries: ReportEntry[]
  /** Every chunk on the heap that the frame sees; absent if there are none. */
  chunks?: ReportChunk[]
}

/** What became of a chunk that the frame of a context sees. */
export interface ReportChunk {
  /** The chunk's name. */
  name: string
  /** The frame that it belongs to. */
  handle: Handle
  /** How much of it is shown: nothing, its line in the index, or all of it. */
  shown: "omitted" | "index" | "whole"
  /** What showing it costs, in tokens. */
  tokens: number
}

/** What became of one frame that was considered for a context. */
export interface ReportEntry {
  /** The frame. */
  handle: Handle
  /** Where it is or would be shown. */
  section: "current-frame" | "ancestors" | "dependencies" | "completed-siblings" | "planned-children"
  /** How much of it is shown. */
  rung: "omitted" | "stub" | "compact" | "standard" | "full"
  /** How much it matters to the current frame, 0 to 100. */
  score: number
  /** What showing it costs, in tokens. */
  tokens: number
  /** Path of the frame's log, if the context names it. */
  log?: string
  /** Why it is left out, if it is. */
  omission?: "irrelevant" | "budget" | "rank"
}

/** How a tree is drawn. */
export interface OutlineOptions {
  /** With branches and marks (the default), or plainly indented. */
  style?: "marked" | "indented"
  /** Only this frame and what is below it. */
  root?: FrameRef
  /** Criteria, results, artifacts and decisions too. Default false. */
  details?: boolean
  /** Levels below the first; all by default. */
  depth?: number
  /** The longest line, in characters; 0: no limit. Default 120. */
  width?: number
}

/** How a stack is doing. */
export interface StackInfo {
  /** How many events the tree has seen. */
  revision: number
  /** How many frames there are. */
  frames: number
  /** The frame being worked on. */
  active: Handle | null
  /** How the cache of contexts has done. */
  cache: { hits: number; misses: number; entries: number }
  /** How the files beside the database are doing; null if the stack keeps none. */
  mirror: { revision: number; staleFrames: number; error: string | null } | null
  /** What was wrong with the files or the state that the stack began with, and what was made of it. */
  repairs: { frame: string | null; message: string }[]
}

/** The whole tree, as `state.json` holds it. */
export interface StackState {
  /** Version of the layout: 1. */
  version: number
  /** How many events the tree has seen. */
  revision?: number
  /** All frames, by ID. */
  frames: Record<string, FrameRecord>
  /** ID of the active frame. */
  activeFrameID?: string
  /** IDs of the frames without a parent. */
  rootFrameIDs: string[]
  /** When anything last changed, in milliseconds since the Unix epoch. */
  updatedAt: number
  /** Keys that this version does not know are kept. */
  [key: string]: unknown
}

/** The name of what an event changes. */
export type EventKind =
  | "added"
  | "imported"
  | "dependenciesAdded"
  | "identified"
  | "statusChanged"
  | "invalidated"
  | "idReplaced"
  | "logPathSet"
  | "artifactAdded"
  | "decisionAdded"
  | "activeChanged"
  | "summarized"
  | "chunkAllocated"
  | "chunkWritten"
  | "chunkFreed"
  | "registersChanged"
  | "runStarted"
  | "called"
  | "messagesAdded"

/** One change to one frame. Further keys depend on the kind. */
export interface StackEvent {
  /** Place in the history: 1 for the first event of a tree, then one more each. */
  revision: number
  /** When it happened, in milliseconds since the Unix epoch. */
  time: number
  /** The frame that changed. */
  handle: Handle
  /** What changed. */
  kind: EventKind
  [key: string]: unknown
}

/** Which events of a history are meant. */
export interface EventQuery {
  /** Only events after this revision. */
  since?: number
  /** Only events of this frame. */
  frame?: FrameRef
  /** Only events of this kind. */
  kind?: EventKind
  /** At most so many, the oldest. */
  limit?: number
}

/** Which lines of a log are meant. */
export interface LogQuery {
  /** The first line, counted from 1. */
  from?: number
  /** The last line, included. */
  to?: number
  /** Only lines with this text, whatever its case. */
  search?: string
  /** Of all these only the last so many. */
  tail?: number
}

/** Lines of a log. */
export interface LogPage {
  /** The lines that were meant, in order. */
  lines: { number: number; entry: unknown }[]
  /** How many lines the log has in all. */
  total: number
  /** The lines among those meant that could not be read. */
  damaged: { number: number; message: string }[]
}

/** Settings of a host. What is not given stays as the environment or the defaults say. */
export interface HostSettings {
  /** What contexts are made with. */
  context?: Settings
  /** Which child sessions get frames, and when they are done. Times in milliseconds. */
  subagents?: {
    enabled?: boolean
    minDuration?: number
    minMessageCount?: number
    autoCompleteOnIdle?: boolean
    idleCompletionDelay?: number
    injectParentContext?: boolean
    propagateSummaries?: boolean
    /** Regular expressions that the titles of subagents fit. */
    patterns?: string[]
  }
  /** Suggestions, and what is done without being asked. */
  autonomy?: {
    level?: "manual" | "suggest" | "auto"
    /** From which confidence on a push is recommended, 0 to 100. */
    pushThreshold?: number
    /** From which confidence on a pop is recommended, 0 to 100. */
    popThreshold?: number
    suggestInContext?: boolean
    enabledHeuristics?: string[]
  }
  /** Frames that run in sessions of their own. */
  calls?: {
    /** The frames that may be above the one that is called. Default 5. */
    maxDepth?: number
    /** After how many milliseconds a call is stopped; 0, the default: never. */
    timeLimit?: number
  }
}

/** A message of a session. */
export interface SessionMessage {
  id: string
  role: string
  /** Its text parts together. */
  text: string
  /** The host marks it as the summary of a compaction. */
  summary?: boolean
  /** All its parts as the host keeps them, for the log. */
  parts?: readonly unknown[]
}

/** Something that has happened in a host. Events may come twice, and in any order. */
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
      /** Tokens in the session's context, as its model has counted them. */
      tokens?: number | undefined
      /** How many it can hold. */
      contextLimit?: number | undefined
    }
  | { kind: "toolExecuted"; sessionID: string; tool: string; path?: string | undefined; failed?: boolean }
  | { kind: "callStarted"; call: number; sessionID: string }
  | { kind: "callEnded"; call: number; error?: string | undefined }
  | { kind: "callAborted"; call: number }

/** Something that a host is to do. */
export type Effect =
  | { kind: "log"; level: "debug" | "info" | "warn"; message: string; data: Record<string, unknown> }
  /** Answer with `sessionCreated`, or `sessionDeleted` if it is not there. */
  | { kind: "describeSession"; sessionID: string }
  /** Answer with `sessionMessages`, without messages if it is not there. */
  | { kind: "readMessages"; sessionID: string }
  /** Answer with `callStarted`, or `callEnded` with an error. */
  | { kind: "createSession"; call: number; parentID: string; title: string }
  /** Prompt the session with the caller's model, wait, and answer with `callEnded`. */
  | { kind: "prompt"; call: number; sessionID: string; callerID: string; text: string }
  /** Give the tool call that waits for this its answer. */
  | { kind: "answer"; call: number; text: string }
  | { kind: "abortSession"; sessionID: string }
  /** Answer with `sessionCompacted`, without messages if it cannot be done. */
  | { kind: "compactSession"; sessionID: string }
  /** Add the text to what the summary is asked for. */
  | { kind: "compactionPrompt"; sessionID: string; text: string }

/** A tool as hosts register it. */
export interface Tool {
  name: string
  group: "frames" | "planning" | "context" | "compaction" | "subagents" | "autonomy"
  description: string
  /** JSON Schema of an object. */
  parameters: { type: "object"; properties: Record<string, object>; required?: string[] }
  /** Arguments that are valid. */
  example: object
}

/** What a tool answers. */
export interface ToolAnswer {
  /** The answer; without it, it comes with an effect `answer`. */
  text?: string
  /** The call that is answered later. If nobody waits any more, report `callAborted`. */
  call?: number
  /** The text says why nothing was done. */
  isError: boolean
  /** What the host is to do. */
  effects: Effect[]
}

/** The two parts of a session's context. */
export interface SessionContext {
  /** For the system prompt: it keeps its bytes until a frame is pushed, popped or invalidated. */
  stable: string
  /** For the place behind the newest message of this one request. */
  volatile: string
}
