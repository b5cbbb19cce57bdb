// The records of the API, with the keys of the documented files.
//
// Generated from api.json: `make api` renews it. Do not edit it.

/** Who gives commands: a hold, or the kind and the name of an actor. */
export interface Actor {
  /** The kind. */
  kind: HolderKind
  /** The name. */
  name: string
  /** The session or conversation for which the actor works. */
  caller?: string | undefined
  /** Of a hold: its generation. */
  generation?: number | undefined
  /** Of a hold: its frame. */
  handle?: Handle | undefined
  /** True: what the actor begins is the task of a subagent whose name is not known yet. */
  handsOver?: boolean | undefined
  /** True: the actor may end and begin what a person or a conversation holds. */
  takesOver?: boolean | undefined
  /** Of a hold: its tries. Ignored. */
  tries?: number | undefined
  /** Of a hold: the end of its lease. Ignored. */
  until?: number | undefined
}

/** What a frame may do and spend now, with the limits of all frames above it. */
export interface Allowance {
  /** The frame. */
  frame: Handle
  /** What may still be spent, in millionths of a US dollar. */
  maxCostMicroUsd?: number
  /** Tokens that may still be used. */
  maxTokens?: number
  /** Turns of the model in one prompt. */
  maxTurns?: number
  /** The model. */
  model?: string
  /** The tools besides those of the stack. */
  tools?: string[]
}

/**
 * The level of autonomy.
 *
 * `"manual"`: Assessments only answer the tools. No suggestions are made.
 *
 * `"suggest"`: Recommendations are suggested to the agent.
 *
 * `"auto"`: Recommendations are suggested and partly carried out: a recommended pop when the session is next
 * idle, and a recommended push when the tool `stack_should_push` got a `potentialGoal`. These observations of
 * the host suggest that a frame can end: the files that its criteria name are among its artifacts, its parts
 * are done, its tools have succeeded.
 */
export type AutonomyLevel = "manual" | "suggest" | "auto"

/** The settings of autonomy (specification, "Agent Autonomy"). */
export interface AutonomySettings {
  /** The enabled heuristics. Their order does not matter. Default all. */
  enabledHeuristics?: readonly Heuristic[] | undefined
  /** The level. Default `suggest`. */
  level?: AutonomyLevel | undefined
  /** Minimum confidence for the recommendation of a pop, from 0 to 100. Default 80. */
  popThreshold?: number | undefined
  /** Minimum confidence for the recommendation of a push, from 0 to 100. Default 70. */
  pushThreshold?: number | undefined
  /** Whether contexts show the pending suggestions to the agent. Default true. */
  suggestInContext?: boolean | undefined
}

/**
 * The change of a frame when its plan is brought up to date.
 *
 * `"added"`: It is new.
 *
 * `"edited"`: Its status stays; its words, its links or its place change.
 *
 * `"planned"`: It is planned: it waits no longer, or is open again.
 *
 * `"waiting"`: It waits for a person, or for a time.
 *
 * `"begun"`: It was begun elsewhere.
 *
 * `"finished"`: It is completed, or has failed, with what the file says.
 *
 * `"invalidated"`: The file takes it out of the plan.
 *
 * `"removed"`: The file does not have it any more; it leaves the plan.
 */
export type Becomes = "added" | "edited" | "planned" | "waiting" | "begun" | "finished" | "invalidated" | "removed"

/** What a blocked frame waits for. */
export interface Block {
  /** What the frame needs, and who can give it. Empty: the results say it. */
  question: string
  /** The results so far, in full. Default: the frame keeps the results that it has. */
  results?: string | undefined
  /** A short form of the results. Default: the full results are used. */
  resultsCompacted?: string | undefined
}

/**
 * Budgets in tokens and bytes (specification, "Token Budget Configuration").
 *
 * A context never exceeds `total` tokens and `bytes` bytes. The other budgets are quotas that divide it:
 * `ancestors`, `siblings`, `heap` and `children` limit the space of these sections until the rest of the
 * total is distributed; `current` + `overhead` are reserved for the volatile part, so that it can change
 * without changing the stable part.
 */
export interface Budget {
  /** Quota of the ancestors, in tokens. Default 1500. */
  ancestors?: number | undefined
  /**
   * Maximum number of bytes of a context, of `xml` and of `stable` plus `volatile`. Absent, the default: six
   * bytes for each token of `total`, which leaves all prose room.
   *
   * No model that reads bytes makes more tokens than bytes, so this cap holds for every tokenizer, while
   * `total` is as exact as the token counter. With `o200k`, texts in Greek, Cyrillic or Indic letters have up
   * to ten bytes a token, so a larger cap in bytes shows more of them.
   */
  bytes?: number | undefined
  /**
   * Quota of the finished children whose results the frame's conversation does not hold, in tokens. Default
   * 1000.
   */
  children?: number | undefined
  /** Quota of the current frame, in tokens. Default 800. */
  current?: number | undefined
  /**
   * Quota of the chunks on the heap that are shown verbatim, in tokens. More chunks are shown verbatim if the
   * total has room left after everything else. Default 1500.
   */
  heap?: number | undefined
  /**
   * Quota of the elements around the current frame, in tokens: position, next action, planned children.
   * Default 200.
   */
  overhead?: number | undefined
  /**
   * Quota of the finished siblings of the frame and of its ancestors, and of the dependencies, in tokens. The
   * quota of the earlier attempts is half as much. Default 1500.
   */
  siblings?: number | undefined
  /** Maximum number of tokens of a context. Default 4000. */
  total?: number | undefined
}

/**
 * The unit of a budget.
 *
 * `"tokens"`: Tokens, as `total` of `Budget`.
 *
 * `"bytes"`: Bytes, as `bytes` of `Budget`.
 */
export type BudgetUnit = "tokens" | "bytes"

/** Statistics of the context cache since the stack was opened. */
export interface CacheStatistics {
  /** Number of contexts in the cache now, including expired ones that are not replaced yet. */
  entries: number
  /**
   * Number of requests for which the cache had a current context. A request also counts as a hit if the
   * context is then assembled again because a log that it names no longer exists.
   */
  hits: number
  /** Number of requests for which the cache had no current context. */
  misses: number
}

/**
 * Where the work of a call is done.
 *
 * `"session"`: In a session of its own: the child begins with an empty conversation and a context, and its
 * caller waits.
 *
 * `"conversation"`: In the conversation of the caller, which continues in the frame until it pops it. For
 * hosts that fold conversations. Frames in the background still have sessions of their own. So do the frames
 * that one message of the model begins in addition to another frame.
 */
export type CallPlace = "session" | "conversation"

/** The settings of calls. */
export interface CallSettings {
  /** Where the work of a call is done. Default: in a session of its own. */
  in?: CallPlace | undefined
  /**
   * How long a host holds the frames of its calls after its last sign of activity, in milliseconds, at most a
   * day. After that time the frames count as interrupted, and other hosts can resume them. At an event, a
   * tool call or a poll, the host renews the lease when half of it is over. Default 20,000.
   */
  lease?: number | undefined
  /**
   * What each root that the host begins may do and spend, if the root has no limits of its own. Default: no
   * limits.
   */
  limits?: FrameLimits | undefined
  /**
   * Maximum number of called sessions that work at the same time. A session that waits for other calls does
   * not work. Further calls are queued, and begin in their order. 0: no limit. Default 4.
   */
  maxConcurrent?: number | undefined
  /** Maximum number of ancestors of a called frame. Default 5. */
  maxDepth?: number | undefined
  /**
   * Default time limit of a call, in milliseconds, from the beginning of its work. At the limit the call is
   * aborted and salvaged. 0: no limit. Default 0.
   */
  timeLimit?: number | undefined
}

/**
 * Checksums of what the file of a plan said of a frame. Each is less than 2^53. It is 0, and absent in JSON,
 * for a value that the file does not have.
 */
export interface Checksums {
  /** Of the name of the assignee. */
  assignee?: number
  /** Of the success criteria. */
  criteria?: number
  /** Of the IDs of the frames that it depends on. */
  dependsOn?: number
  /** Of the labels. */
  labels?: number
  /** Of the ID of its parent; 0 at the top of the plan. */
  parent?: number
  /** Of the priority. */
  priority?: number
  /** Of the results. */
  results?: number
  /** Of the full instruction. */
  task?: number
  /** Of the title. */
  title?: number
  /** Of what it waits for. */
  wait?: number
}

/**
 * A named text on the heap of a frame. It is visible in the frame and in all frames below it until it is
 * freed.
 */
export interface Chunk {
  /** Time of the allocation, in milliseconds since the Unix epoch. */
  allocatedAt: number
  /** The text, verbatim. */
  content: string
  /** The name, unique among the chunks that a frame sees. */
  name: string
  /** Time of the last write, in milliseconds since the Unix epoch. */
  writtenAt: number
  /** The step of the run in which the chunk was allocated; 0 outside runs. */
  allocatedStep?: number
  /** A short summary for the index of the heap. Empty: no summary. */
  description?: string
  /** The step of the run in which the chunk was last written; 0 outside runs. */
  writtenStep?: number
}

/** The new content of a chunk. */
export interface ChunkContent {
  /** The new text, up to 100,000 characters. */
  content: string
  /** The name of the chunk. */
  name: string
}

/** The result for one chunk that the frame sees. */
export interface ChunkEntry {
  /** The frame that owns the chunk. */
  handle: Handle
  /** The chunk's name. */
  name: string
  /** How much of the chunk is shown. */
  shown: Shown
  /** The cost of showing the chunk, in tokens; 0 if it is omitted. */
  tokens: number
}

/** Which finished trees lose their events. */
export interface CompactionLimits {
  /**
   * Trees in which nothing is unfinished and whose last event is older than this time, in milliseconds since
   * the Unix epoch.
   */
  before: number
}

/**
 * The reason for a compaction.
 *
 * `"overflow"`: The host compacts because the model's context is full. The frame remains open.
 *
 * `"frame_completion"`: The frame is being ended. The summary becomes its results.
 *
 * `"manual_summary"`: A checkpoint was requested. The frame remains open.
 */
export type CompactionType = "overflow" | "frame_completion" | "manual_summary"

/** How a frame is completed. */
export interface Completion {
  /** The results in full. */
  results: string
  /** The planned frame that begins in the same command. Default: none. */
  next?: FrameRef | undefined
  /** A short form for the contexts of other frames. Default: the full results are used. */
  resultsCompacted?: string | undefined
}

/** The report of a context, with its tokens. */
export interface ContextReport {
  /**
   * All considered frames: the current frame, its first 256 planned children, its ancestors from the parent
   * to the root, its finished dependencies, and its finished siblings in the order of the XML. Of the
   * siblings that had finished when the frame began, all are considered up to 256; of more, the best 96 of
   * those that look relevant. Of the siblings that finish later, the first 128 are considered, so that the
   * stable part keeps its bytes. The context counts the others.
   */
  entries: Entry[]
  /** The current frame, that is, the frame whose context this is. */
  handle: Handle
  /** Upper bound of the number of tokens of the stable part. */
  stableTokens: number
  /** An upper bound of the number of tokens of `xml`, and of `stable` and `changing` together. */
  tokens: number
  /** Upper bound of the number of tokens of the volatile part. */
  volatileTokens: number
  /** All chunks that the frame sees, in the order of the XML. */
  chunks?: ChunkEntry[]
}

/** The cost of a conversation of a frame so far. */
export interface ConversationCost {
  /**
   * The ID of the conversation: the conversation of the frame's session, or another one in which the host has
   * requested a summary.
   */
  conversation: string
  /** The cost of all its requests so far, in millionths of a US dollar. */
  costMicroUsd: number
  /**
   * The weight of the frame's requests at that time: `weight` of `ModelUsage` of all models. The cost of
   * later requests is estimated.
   */
  weight: number
}

/**
 * How much of a frame is shown. Each level contains the one before it.
 *
 * `"omitted"`: The frame is not shown. The element `truncation` (for ancestors: also `omitted`) or the
 * attribute `omitted` of the planned children counts it.
 *
 * `"stub"`: Handle, status and title. Planned children are shown without their status.
 *
 * `"compact"`: Also the compacted results; for an open ancestor, the compacted criteria and the results so
 * far; for the current frame, the compacted criteria. If there is no compacted text, the full one.
 *
 * `"standard"`: Also the artifacts. For the current frame, the full criteria replace the compacted ones,
 * unless its conversation has them.
 *
 * `"full"`: Also the decisions. For the current frame, also its results, and the path of its log, unless its
 * conversation has them.
 *
 * `"whole"`: Of a dependency, also up to 2,000 tokens of its results instead of 300.
 */
export type DetailLevel = "omitted" | "stub" | "compact" | "standard" | "full" | "whole"

/**
 * The failures that an acknowledged commit survives.
 *
 * `"normal"`: Acknowledged commits survive the death of the process. A power loss may remove the latest
 * commits, newest first, but does not damage the database.
 *
 * `"full"`: Acknowledged commits also survive a power loss. Each commit waits for the disk, so it is slower.
 */
export type Durability = "normal" | "full"

/** An operation for the host to perform. */
export type Effect =
  /** Write a line to the host's log. */
  | {
    kind: "log"
    /** Details: a JSON object with the session, the frame and other data of the event. */
    data: Record<string, unknown>
    /** The severity. */
    level: LogLevel
    /** A short description of the event, such as `Subagent completed`. */
    message: string
  }
  /**
   * Describe an unknown session: report `sessionCreated`, or `sessionDeleted` if the session does not exist.
   */
  | {
    kind: "describeSession"
    /** ID of the session. */
    sessionID: string
  }
  /** Create a session for a call. Report `callStarted`, or `callEnded` with an error if this fails. */
  | {
    kind: "createSession"
    /** The call. */
    call: number
    /** ID of the calling session, which is the parent of the new one. */
    parentID: string
    /** Title of the new session. */
    title: string
  }
  /** Send a prompt to a session and wait for its answer. Then report `callEnded`. */
  | {
    kind: "prompt"
    /** The call. */
    call: number
    /** ID of the calling session. Use its model and agent. */
    callerID: string
    /** ID of the session. */
    sessionID: string
    /** The prompt. */
    text: string
  }
  /** Abort the current work of a session. */
  | {
    kind: "abortSession"
    /** ID of the session. */
    sessionID: string
  }
  /** Compact a session. Then report `sessionCompacted`, without messages if the compaction failed. */
  | {
    kind: "compactSession"
    /** ID of the session. */
    sessionID: string
  }
  /** Add this text to the prompt for the summary of a session that is being compacted. */
  | {
    kind: "compactionPrompt"
    /** ID of the session. */
    sessionID: string
    /** The text to add. */
    text: string
  }
  /** Return the answer of a tool call that was waiting for a call. */
  | {
    kind: "answer"
    /** The call, as the tool returned it. */
    call: number
    /**
     * The frames that the call has popped, or for whose ends it has waited. The answer says how they have
     * ended, or what they wait for.
     */
    ended: Handle[]
    /** The answer. */
    text: string
    /** One line for people that says what the call was about and how it ended. */
    title: string
  }
  /**
   * Read the messages of a session and report `sessionMessages`, with an empty list if the session does not
   * exist.
   */
  | {
    kind: "readMessages"
    /** ID of the session. */
    sessionID: string
  }

/** The result for one frame that was considered for a context. */
export interface Entry {
  /** How much of the frame is shown. */
  detailLevel: DetailLevel
  /** The frame. */
  handle: Handle
  /** The relevance of the frame to the current frame, from 0 to 100. */
  score: number
  /** The section in which the frame is shown, or would be shown if it were not omitted. */
  section: Section
  /** The cost of showing the frame, in tokens; 0 if it is omitted. */
  tokens: number
  /** The path of the current frame's log, if the context names it. */
  log?: string
  /** The reason why the frame is omitted. Absent if it is shown. */
  omission?: Omission
}

/** The kind of an event: what has changed. */
export type EventKind = "added" | "imported" | "dependenciesAdded" | "identified" | "statusChanged" | "invalidated" | "idReplaced" | "logPathSet" | "artifactAdded" | "decisionAdded" | "activeChanged" | "summarized" | "chunkAllocated" | "chunkWritten" | "chunkFreed" | "registersChanged" | "runStarted" | "called" | "messagesAdded" | "logMoved" | "delivered" | "forgotten" | "asked" | "answered" | "held" | "released" | "summaryRequested" | "edited" | "stopped" | "usageRecorded" | "limitsSet" | "costRecorded" | "transcriptRead" | "reopened" | "commanded" | "undone" | "restored" | "reimported"

/** Selects events of a history. */
export interface EventQuery {
  /** Only events of this frame. */
  frame?: FrameRef | undefined
  /** Only events of this kind, such as `decisionAdded`. */
  kind?: EventKind | undefined
  /** At most this number of events, the oldest ones. */
  limit?: number | undefined
  /** Only events after this revision. Default 0. */
  since?: number | undefined
  /** Only events up to this revision. Default: all. */
  until?: number | undefined
}

/** A change of a file by a tool. */
export type FileChange =
  /** The file was created or changed. */
  | {
    kind: "written"
    /** Path of the file. */
    path: string
  }
  /** The file was deleted. */
  | {
    kind: "deleted"
    /** Path of the file. */
    path: string
  }
  /** The file has another path, and perhaps another content. */
  | {
    kind: "renamed"
    /** The path before. */
    from: string
    /** The path now. */
    to: string
  }

/** How the work on a frame ends for its holder. */
export type Finish =
  /** The frame is completed. If frames were planned below it, it is put back until they are done. */
  | {
    end: "done"
    /** The results in full. */
    results: string
    /** A short form for the contexts of other frames. Default: the full results are used. */
    resultsCompacted?: string | undefined
  }
  /** The frame has failed. */
  | {
    end: "failed"
    /** The results in full: why it has failed. */
    results: string
    /** A short form for the contexts of other frames. Default: the full results are used. */
    resultsCompacted?: string | undefined
  }
  /** The frame is blocked: it waits for an answer. */
  | {
    end: "asks"
    /** What the frame needs, and who can give it. */
    question: string
    /** The results so far, in full. Default: the frame keeps its results. */
    results?: string | undefined
    /** A short form of the results so far. Default: the full ones are used. */
    resultsCompacted?: string | undefined
  }
  /** The frame is put back. */
  | {
    end: "later"
    /**
     * How long it waits, in milliseconds, at most 86400000. Default: a second after its first time, twice as
     * long after each further one, at most a minute.
     */
    wait?: number | undefined
  }

/** How the work on a frame has ended. */
export interface Finished {
  /** The status of the frame: in_progress if it was put back. */
  status: FrameStatus
  /**
   * The time before which no worker gets the frame, if it was put back, in milliseconds since the Unix epoch.
   */
  until?: number
}

/**
 * Which finished children of a frame its context shows.
 *
 * `"all"`: All, for hosts that show the agent no conversation.
 *
 * `"forgotten"`: Those whose results the frame's conversation does not hold: they were never delivered there,
 * or the conversation was compacted or started again since. A stack with a host notes both; other hosts call
 * `deliver` and `forget`.
 *
 * `"none"`: None, for hosts whose conversations hold all results.
 */
export type FinishedChildren = "all" | "forgotten" | "none"

/**
 * How many finished trees a `state.json` leaves out. Their frames are in the folder `frames`, a file each.
 */
export interface FinishedTrees {
  /** Number of their frames. */
  frames: number
  /** Number of the trees. */
  roots: number
}

/** What was folded in a request. */
export interface FoldReport {
  /**
   * The stretches that are gone, in the order of their beginnings. What was pushed and popped within a
   * stretch is not listed.
   */
  stretches: FoldedStretch[]
  /** The turns that are folded. Turns that were folded at once are one element. */
  turns: FoldedTurns[]
}

/** What `fold` may assume and do. */
export interface FoldSettings {
  /**
   * How an agent reads all of a finished frame; `{frame}` stands for its handle. Default (`null`): a call of
   * the tool that shows a frame. With an empty text, nothing is said.
   */
  pointer?: string | null | undefined
  /**
   * The name under which the host knows the MCP server. Default: `callstack`. Hosts write it into the names
   * of tools, as in `mcp__callstack__push`.
   */
  server?: string | undefined
  /**
   * The host's names of the tools, if they are neither the library's own names nor those of the MCP server.
   */
  tools?: ToolNames | undefined
  /** Also fold the turns of a conversation before its first frame. Default (`null`): no. */
  turns?: TurnSettings | null | undefined
}

/**
 * How a frame ended whose stretch is folded.
 *
 * `"completed"`: With results.
 *
 * `"failed"`: Without the results that it was to reach.
 *
 * `"blocked"`: It waits for an answer, and another frame has begun since.
 *
 * `"invalidated"`: It was taken out of the plan.
 */
export type FoldedStatus = "completed" | "failed" | "blocked" | "invalidated"

/** A stretch of a conversation that is gone. */
export interface FoldedStretch {
  /** Their length, in bytes. */
  bytes: number
  /** The frame. */
  frame: Handle
  /** Number of items that are gone: texts, thoughts, calls and outcomes. */
  items: number
  /** Length of the text that stands for them, in bytes. */
  returned: number
  /** How the frame has ended. */
  status: FoldedStatus
  /** Their length in tokens, estimated by `approx` from samples. */
  tokens: number
}

/** Turns of a conversation that were folded at once. */
export interface FoldedTurns {
  /** Their length, in bytes. */
  bytes: number
  /** Number of items that are gone: texts, thoughts, calls and outcomes. */
  items: number
  /** Their length in tokens, estimated by `approx` from samples. */
  tokens: number
  /** Number of turns. */
  turns: number
}

/**
 * The form of a context.
 *
 * `"cached"`: The form for prompt caches: what is added comes behind what is there, and nothing before it
 * changes. The text names neither the session nor the number of siblings, because they would change the bytes
 * before all siblings. Failed siblings are in `<failed-siblings>` elements between the completed ones, in the
 * order in which they ended.
 *
 * `"document"`: The form of the specification ("Context XML Format"): `<stack-context session="…">` with the
 * ID of the frame, `<completed-siblings count="…">` with the number of those shown, and after them
 * `<failed-siblings count="…">`.
 */
export type Form = "cached" | "document"

/** A frame with its handle. */
export interface Frame extends FrameRecord {
  /** The handle. */
  handle: Handle
}

/** What a frame was before a command: the part that the command has changed. */
export interface FrameBefore {
  /** The frame. */
  frame: Handle
  /** The edit that gives the frame its former place and dependencies back. */
  edit?: FrameEdit
  /**
   * Keys of the frame's record with the values that they had before the command; null for a key that it did
   * not have. Entries are only added to `artifacts` and `decisions`, so these keys have the number of their
   * entries as value.
   */
  values?: Record<string, unknown>
}

/**
 * The changes of a frame. A field that is absent (in JSON a missing key) keeps its value. In a frame that has
 * begun, only a person can change something, and only its words (title, criteria, task) and its priority,
 * labels and assignee.
 *
 * `"priority": null` gives the frame the priority of the frame above it. `"assignee": null` leaves the frame
 * to any person or agent. `"parent": null` makes the frame a root. `"before": null` makes it the last one of
 * its siblings.
 */
export interface FrameEdit {
  /** The person or agent that does the work from now on; null: any person or agent. */
  assignee?: string | null | undefined
  /** The sibling before which the frame moves; null makes it the last one. */
  before?: FrameRef | null | undefined
  /** All frames whose results the frame needs. They replace the present ones. */
  dependsOn?: readonly FrameRef[] | undefined
  /** The new labels. They replace the present ones (`labels` of `Frame`). */
  labels?: readonly string[] | undefined
  /**
   * The new parent; null makes the frame a root. The frames below the frame move with it. The frame becomes
   * the last child unless `before` of `FrameEdit` says otherwise.
   */
  parent?: FrameRef | null | undefined
  /** The new priority; null: the priority of the frame above. */
  priority?: Priority | null | undefined
  /** The new success criteria. */
  successCriteria?: string | undefined
  /** The new compacted success criteria. */
  successCriteriaCompacted?: string | undefined
  /** The new full instruction (`task` of `Frame`). */
  task?: string | undefined
  /** The new title. It must not be blank. */
  title?: string | undefined
}

/**
 * Limits of a frame. If a frame has no limit of its own for its model, its tools or its turns, the limit of
 * the nearest frame above applies. The limits of tokens and costs apply to the frame and all frames below it
 * together.
 */
export interface FrameLimits {
  /** The cost that is allowed, in millionths of a US dollar. */
  maxCostMicroUsd?: number | undefined
  /** Tokens of all requests, of prompts and answers together. */
  maxTokens?: number | undefined
  /** Turns of the model in one prompt of the session. */
  maxTurns?: number | undefined
  /** The host's name of the model of the frame. */
  model?: string | undefined
  /**
   * The host's names of the tools in addition to those of the stack: at most the tools of the frames above.
   * The name of a server, `mcp__shop`, stands for all tools of this server, `mcp__shop__…`.
   */
  tools?: readonly string[] | undefined
}

/** Selects frames. */
export interface FrameQuery {
  /** The frame of the relation, for `ancestors`, `children`, `siblings` and `subtree`. */
  frame?: FrameRef | undefined
  /** How the frames are selected. Default: `"all"`. */
  relation?: Relation | undefined
  /** Only frames with this status. */
  status?: FrameStatus | undefined
}

/**
 * The complete record of a frame, with the JSON names of the specification (`FrameMetadata` in its
 * implementation document).
 *
 * Times are in milliseconds since the Unix epoch. Keys that the specification does not have (`task`,
 * `priority`, `labels`, `assignee`, `correctedAt`, `begunAt`, `dependsOn`, `placeholder`, `deliveredAt`,
 * `forgottenAt`, `questions`, `holder`, `summaryRequest`, `usage`, `limits`, `costs`, `heap`, `registers`,
 * `retryOf`, `childOrder`, `noWork`, `origin`) are omitted when empty; keys that this version does not know
 * are kept in `extra` of `Frame` and written back.
 */
export interface FrameRecord {
  /** Files and other resources that the work produced, without duplicates. */
  artifacts: string[]
  /** Time of creation, in milliseconds since the Unix epoch. */
  createdAt: number
  /** Decisions made during the work, oldest first. */
  decisions: string[]
  /** The frame's ID: the ID of the host's session, or `plan-…` until a planned frame gets a session. */
  sessionID: string
  /** The status. Default `planned`. */
  status: FrameStatus
  /** Success criteria: checkable conditions for the completion of the frame. */
  successCriteria: string
  /** Compacted success criteria, for prompts. Empty: prompts use the full criteria. */
  successCriteriaCompacted: string
  /** Short name, two to five words. */
  title: string
  /** Time of the last change, in milliseconds since the Unix epoch. */
  updatedAt: number
  /**
   * The person or agent that does the work. Workers of other names leave the frame to them. Contexts do not
   * show it.
   */
  assignee?: string
  /**
   * Time at which the frame was begun, in milliseconds since the Unix epoch, if it was planned before. Other
   * frames were begun when they were created.
   */
  begunAt?: number
  /**
   * IDs of all children in their order, if that is not the order of their creation. Derived from the tree.
   */
  childOrder?: string[]
  /**
   * Time at which a person has corrected the words of the frame while it was open, in milliseconds since the
   * Unix epoch. Conversations may still hold the earlier words.
   */
  correctedAt?: number
  /**
   * The costs of the frame's conversations, if their host tells costs of conversations. Costs of requests are
   * in `usage`.
   */
  costs?: ConversationCost[]
  /**
   * Time at which the conversation of the parent received the results of this frame, in milliseconds since
   * the Unix epoch. Absent if that is not known: then the context of the parent shows the results.
   */
  deliveredAt?: number
  /** IDs of the frames whose results this frame needs. */
  dependsOn?: string[]
  /**
   * Time at which the frame's own conversation was compacted or started again, in milliseconds since the Unix
   * epoch. The conversation holds only those results of children that were delivered after this time.
   */
  forgottenAt?: number
  /** The frame's own chunks on the heap, in order of allocation. */
  heap?: Chunk[]
  /**
   * Who works on the frame, or worked on it last: then it says how the frame was let go. Absent if the frame
   * never had a holder: it was begun by hand, or not at all.
   */
  holder?: Holder
  /** Time of the invalidation, in milliseconds since the Unix epoch. */
  invalidatedAt?: number
  /** Reason for the invalidation, if the frame was invalidated. */
  invalidationReason?: string
  /**
   * Words of a team for the frame, such as `backend`, by which lists are filtered. At most 50, each at most
   * 100 characters. Contexts do not show them.
   */
  labels?: string[]
  /** What the frame may do and spend. Absent: what the frame above it may do and spend. */
  limits?: FrameLimits
  /** Path of the frame's full log, if there is one: relative to the stack's folder or absolute. */
  logPath?: string
  /**
   * What the frame is if it is not work, in a word: a record of another tool that is kept for what it says
   * (`message`), or a frame that only holds other frames together (`tag`). No actor begins such a frame. If
   * it has parts, or depends on other frames, it is completed when these are completed.
   */
  noWork?: string
  /** What the file said of the frame when it was imported. Absent for frames that were made here. */
  origin?: Origin
  /** ID of the parent; absent for a root. */
  parentSessionID?: string
  /**
   * True if the frame was created only because its session appeared, and no call has set its title and
   * criteria for good. Until then they follow the session's title and what the person writes.
   */
  placeholder?: boolean
  /**
   * IDs of the children that are still planned. Derived from the tree. As in the files of the original
   * plugin, a planned frame has the key even if the list is empty; other frames omit an empty list.
   */
  plannedChildren?: string[]
  /** How urgent the frame is. Absent: as urgent as the frame above it. */
  priority?: Priority
  /**
   * What the frame has waited for, with the answers, oldest first. The last one is open while the frame is
   * blocked. A blocked frame without questions waits for what its results say.
   */
  questions?: Question[]
  /** The frame's registers, if it uses any. */
  registers?: Registers
  /** Full results: a description of the achieved work. */
  results?: string
  /** Compacted results, for the prompts of parents and siblings. */
  resultsCompacted?: string
  /**
   * ID of the attempt before this one, if this frame is a retry: that attempt is a sibling that has failed.
   */
  retryOf?: string
  /** The summary that was requested of the frame's conversation. */
  summaryRequest?: SummaryRequest
  /**
   * The full instruction: what is to be done, what is known, what is to be returned. At most 100000
   * characters. The frame's own context shows it, and the prompt for its session; contexts of other frames do
   * not.
   */
  task?: string
  /** The frame's own requests to models: their sums, an entry for each model. */
  usage?: ModelUsage[]
}

/** A frame: its handle, `id:` and its ID, or its title. */
export type FrameRef = string

/**
 * The status of a frame (specification, section 8).
 *
 * `"planned"`: Planned, not started.
 *
 * `"in_progress"`: Work is in progress.
 *
 * `"completed"`: Finished: the success criteria are met.
 *
 * `"failed"`: Finished without meeting the criteria. The results describe the attempt.
 *
 * `"blocked"`: Started, but waiting for something from outside.
 *
 * `"invalidated"`: Removed from the plan.
 */
export type FrameStatus = "planned" | "in_progress" | "completed" | "failed" | "blocked" | "invalidated"

/**
 * The requests of a frame, and the requests of the frame and everything below it, with an entry for each
 * model. The costs of these requests too, as far as hosts have told them.
 */
export interface FrameUsage {
  /** The requests of the frame itself. */
  own: ModelUsage[]
  /**
   * The cost of the frame itself, in millionths of a US dollar: the cost that was told, and an estimate for
   * the requests since then.
   */
  ownCostMicroUsd: number
  /** The requests of the frame and of all frames below it. */
  total: ModelUsage[]
  /** The cost of the frame and all frames below it. */
  totalCostMicroUsd: number
}

/**
 * How much guidance on working with frames a context contains.
 *
 * `"full"`: Philosophy, rules, and when to create child frames: at most 350 tokens, including the planning
 * advice for a root without children. A root gets the advice when to create child frames only together with
 * the planning advice.
 *
 * `"brief"`: Philosophy and rules: at most 120 tokens, not including the planning advice for a root without
 * children.
 *
 * `"none"`: No philosophy and no rules, for agents that get them in another way. The planning advice for a
 * root without children is still included.
 */
export type Guidance = "full" | "brief" | "none"

/** The permanent number of a frame, such as f12. */
export type Handle = string

/**
 * A rule that estimates from observations whether a frame should be started (push) or finished (pop).
 *
 * Each variant lists the points of its score table. Scores between two points are interpolated linearly; the
 * maximum is 100. In JSON a heuristic is a name such as `"failure_boundary"`.
 *
 * `"failure_boundary"`: Push: errors accumulate, so the next attempt should run in a separate frame, which
 * can fail alone.
 *
 * 1 error scores 20, 2 errors (a retry failed) 55, 3 errors 75, 5 errors 90. Add 10 if the current goal is
 * distinct, that is, if at least 70 % of its words are missing from the frame's title and criteria.
 *
 * `"context_switch"`: Push: the work has moved to another topic.
 *
 * The share of the goal's words that are missing from the frame's title and criteria: 25 % scores 0, 50 % 30,
 * 75 % 65, 100 % 80. Add 10 for changed files in 3 or 4 folders, and 20 for 5 or more folders (also without a
 * goal).
 *
 * Only the agent knows its next goal: the observations of a host score at most 20 here. The score reaches a
 * usual threshold in the answer to `stack_should_push` with a `potentialGoal` (`potential_goal` of
 * `PushSignals`).
 *
 * `"complexity"`: Push: the frame has grown to more than one task.
 *
 * 10 messages score 20, 30 messages 60, 50 messages 80, 80 messages 90. Add 5 for 3 to 7 changed files, and
 * 10 for 8 or more.
 *
 * `"duration"`: Push: the frame has been running for long, measured in tokens.
 *
 * 25,000 tokens score 20, 50,000 tokens 55, 80,000 tokens 80, 120,000 tokens 90.
 *
 * `"goal_completion"`: Pop: the success criteria are probably met.
 *
 * 1 success signal scores 50, 2 signals 70, 3 signals 80. Add 10 if the frame has artifacts, and up to 15 in
 * proportion to the share of the criteria's words that occur in the signals, and in the newest 100 artifacts
 * and decisions.
 *
 * Only the agent knows what has succeeded: the observations of a host score at most 25 here. The score
 * reaches a usual threshold in the answer to `stack_should_pop` with `successSignals` (`success_signals` of
 * `PopSignals`).
 *
 * `"stagnation"`: Pop: the last turns made no progress.
 *
 * 3 turns without progress score 40, 5 turns 65, 10 turns 100. Add 15 for each failure signal.
 *
 * `"context_overflow"`: Pop: the model's context is nearly full.
 *
 * 40 % of the limit scores 0, 60 % 20, 80 % 65, 90 % 90, 95 % 100.
 */
export type Heuristic = "failure_boundary" | "context_switch" | "complexity" | "duration" | "goal_completion" | "stagnation" | "context_overflow"

/** What {@link Stack.compactHistory} has done. */
export interface HistoryCompaction {
  /** Size of the database with its write-ahead log afterwards, in bytes. */
  bytesAfter: number
  /** Size of the database with its write-ahead log before, in bytes. */
  bytesBefore: number
  /** Number of events that were removed. */
  events: number
  /** Number of trees whose events were removed. */
  trees: number
}

/** A frame with its holder. The holder proves with it that the frame is still its own. */
export interface Hold {
  /** The generation: see `generation` of `Holder`. */
  generation: number
  /** The frame. */
  handle: Handle
  /** The kind of the holder. */
  kind: HolderKind
  /** The name of the holder. */
  name: string
  /** How often the frame was begun without an end: see `tries` of `Holder`. */
  tries: number
  /** The end of the lease, in milliseconds since the Unix epoch. */
  until: number
}

/** Who works on a frame, or worked on it last. */
export interface Holder {
  /**
   * The number of this holder among the holders of the frame, counted from 1. An actor with an older
   * generation has lost the frame.
   */
  generation: number
  /** The kind. */
  kind: HolderKind
  /**
   * The name: for a worker the name that it gave, for a host an ID that each open stack has for itself, for a
   * conversation its ID. Empty for a person or program that has taken the frame in hand and has given no
   * name.
   */
  name: string
  /** The time since which the holder has the frame, in milliseconds since the Unix epoch. */
  since: number
  /** The advice that the holder was given once: `push`, `pop`. It is not given the same advice again. */
  advised?: string[]
  /**
   * The session or conversation that has given the frame to the holder; for a call, the calling session.
   * Empty: none.
   */
  caller?: string
  /** How often workers have put the frame back, since it was planned or last answered. */
  putBacks?: number
  /** How the holder has let the frame go. Absent: the holder still has it. */
  released?: Released
  /** True: the holder was told once that the frame is still in progress. */
  reminded?: boolean
  /**
   * A fingerprint of the volatile part of the context that a conversation was told last. The conversation is
   * not told the same text again. Empty: none.
   */
  told?: string
  /**
   * How often workers have begun the frame and have not ended it, this time included, since it was planned or
   * last answered. A time after which the frame was put back or let go does not count.
   */
  tries?: number
  /**
   * The end of the lease, in milliseconds since the Unix epoch, unless it is renewed before. Absent: there is
   * no lease.
   */
  until?: number
}

/**
 * The kind of a holder.
 *
 * `"host"`: A host runs the frame in a session of its own: a call.
 *
 * `"worker"`: A worker without sessions: a program that holds one frame after the other.
 *
 * `"conversation"`: The conversation of an agent.
 *
 * `"person"`: A person, or a program that works by hand.
 */
export type HolderKind = "host" | "worker" | "conversation" | "person"

/**
 * An event in a host. In JSON the key `kind` names the variant; unknown keys are rejected:
 *
 * Events may arrive more than once and in any order.
 */
export type HostEvent =
  /** A session was created, or the host describes it because `describeSession` asked for it. */
  | {
    kind: "sessionCreated"
    /** ID of the session. */
    sessionID: string
    /** ID of the session that started it; absent for a root session. */
    parentID?: string | undefined
    /** The title. Default titles of the host, such as `New session - 2026-…`, count as no title. */
    title?: string | undefined
  }
  /** The title of a session changed. */
  | {
    kind: "sessionUpdated"
    /** ID of the session. */
    sessionID: string
    /** The new title. */
    title: string
  }
  /** A session became idle: it waits for its next message. */
  | {
    kind: "sessionIdle"
    /** ID of the session. */
    sessionID: string
  }
  /** An error occurred in a session, for example because its model is not reachable. */
  | {
    kind: "sessionError"
    /** The host's error message. */
    message: string
    /** ID of the session. */
    sessionID: string
  }
  /** A session was deleted, or was not found when `describeSession` asked for it. */
  | {
    kind: "sessionDeleted"
    /** ID of the session. */
    sessionID: string
  }
  /**
   * The host is about to replace a session's conversation by a summary. The effect `compactionPrompt` returns
   * the prompt for it.
   */
  | {
    kind: "sessionCompacting"
    /** ID of the session. */
    sessionID: string
  }
  /**
   * A session's conversation was replaced by a summary. An empty list of messages means that this failed.
   */
  | {
    kind: "sessionCompacted"
    /** The messages after the compaction, oldest first. */
    messages: readonly SessionMessage[]
    /** ID of the session. */
    sessionID: string
  }
  /** The messages of a session, because `readMessages` asked for them. */
  | {
    kind: "sessionMessages"
    /** The messages, oldest first. */
    messages: readonly SessionMessage[]
    /** ID of the session. */
    sessionID: string
  }
  /**
   * A person may have set a session's conversation back to an earlier point, or opened it again. The contents
   * of the conversation show where it is: in the frame in which it was at that point, if that frame is still
   * open, and otherwise in the nearest open frame above it. Open frames that it has begun since then are
   * blocked, and continue when they are activated. Contexts show the results that it has lost. Frames are not
   * set back: finished work stays finished.
   */
  | {
    kind: "sessionSetBack"
    /**
     * The answers of the library's tools in the conversation, also those from before a compaction, oldest
     * first.
     */
    answers: readonly string[]
    /** ID of the session. */
    sessionID: string
    /**
     * What the person has written in it, also before a compaction, oldest first. Messages that are gone are
     * not a part of the task any more. Absent: the host does not know.
     */
    asked?: readonly string[] | undefined
  }
  /** A message was added to a session. */
  | {
    kind: "message"
    /** ID of the message. A repeated ID is ignored. */
    messageID: string
    /** The author: `user` or `assistant`. */
    role: string
    /** ID of the session. */
    sessionID: string
    /** All text parts of the message, joined. */
    text: string
    /** Maximum size of the session's context in tokens, if it is known. */
    contextLimit?: number | undefined
    /**
     * The request to the model that the message answers, if the host reports requests. It is recorded in the
     * session's frame, even if the frame is made later.
     */
    request?: ModelRequest | undefined
    /**
     * The time at which the message was begun, in milliseconds since the Unix epoch. If a conversation goes
     * through several frames, the time shows to which frame the message belongs. Default: to the frame in
     * which the conversation is.
     */
    time?: number | undefined
    /** Size of the session's context in tokens, if the model reported it. */
    tokens?: number | undefined
  }
  /**
   * A request to a model ended that no message of the conversation answers: a request that failed and is
   * repeated, or the request for the summary of a compaction. It is recorded in the session's frame, even if
   * the frame is made later.
   */
  | {
    kind: "modelRequested"
    /** The request. */
    request: ModelRequest
    /** ID of the request. No message has this ID. A repeated ID is ignored. */
    requestID: string
    /** ID of the session. */
    sessionID: string
    /**
     * The time at which the request was begun, in milliseconds since the Unix epoch, like the time of a
     * message.
     */
    time?: number | undefined
  }
  /**
   * A message of a session is finished: it will not change any more. It is appended to the log of the
   * session's frame. A host that does not report this has logs that grow only when frames end and
   * conversations are compacted.
   */
  | {
    kind: "messageFinished"
    /** The message. */
    message: SessionMessage
    /** ID of the session. */
    sessionID: string
  }
  /** A tool call finished in a session. */
  | {
    kind: "toolExecuted"
    /** ID of the session. */
    sessionID: string
    /** The tool's name. */
    tool: string
    /** The answer of the child session; if the tool call failed, the error message. Default empty. */
    answer?: string | undefined
    /** The changes of files by the tool call. They are recorded for a tool of any name. Default empty. */
    changes?: readonly FileChange[] | undefined
    /**
     * ID of the child session in which the tool has worked, if the tool has waited for the end of the
     * session. The frame of that session is then finished, with `answer` as results. If the tool call failed,
     * the frame is salvaged: it is blocked with the session's last message as results. If the child session
     * may work again already, so that this event is an old one, its frame stays open until `sessionIdle`.
     */
    childID?: string | undefined
    /**
     * The command line that the tool has run in a shell, if there is one. The files that it names as changed
     * count as changed: see `changes_of_command`.
     */
    command?: string | undefined
    /** True if the tool call failed. Default false. */
    failed?: boolean | undefined
    /**
     * Path of the file that the tool was called with, if there is one. The file counts as written if the tool
     * is known to write files: `write`, `edit`, `multiedit`, `patch`, `apply_patch`, `Write`, `Edit`,
     * `MultiEdit`, `NotebookEdit`.
     */
    path?: string | undefined
    /** ID of the tool call, if the host has one. An event with a repeated ID is ignored. */
    toolCallID?: string | undefined
  }
  /** The session that `createSession` asked for was created. */
  | {
    kind: "callStarted"
    /** The call in that effect. */
    call: number
    /** ID of the new session. */
    sessionID: string
  }
  /** A call ended: its session answered the prompt, or could not be created or prompted. */
  | {
    kind: "callEnded"
    /** The call. */
    call: number
    /** The error message, if the call failed. */
    error?: string | undefined
  }
  /** The caller of a call was aborted and no longer waits for the answer. */
  | {
    kind: "callAborted"
    /** The call. */
    call: number
  }

/** All settings of a stack with a host. */
export interface HostSettings {
  /** Suggestions, and pops without a request. */
  autonomy?: AutonomySettings | undefined
  /** Maximum depth and time limit of calls. */
  calls?: CallSettings | undefined
  /**
   * Settings of the contexts of sessions. Its `tools` are the names of all tools; texts mention those of the
   * offered ones.
   */
  context?: Settings | undefined
  /** Subagents: which child sessions get frames, and when these frames are completed. */
  subagents?: SubagentSettings | undefined
  /** The tools that the host offers to its agents. Default: those that an agent needs to work. */
  tools?: ToolSet | undefined
}

/** The title and the criteria of a frame. */
export interface Identity {
  /** Short name, two to five words. */
  title: string
  /** The conditions that hold when the frame is done. */
  successCriteria?: string | undefined
  /** A short form of the criteria, for contexts. Default: the full criteria are used. */
  successCriteriaCompacted?: string | undefined
}

/** The answer of an import. */
export interface Imported {
  /** The frames that were imported before and have changed. */
  changes: PlanChange[]
  /** The fields on which the stack and the file differ. They keep the values of the stack. */
  conflicts: PlanConflict[]
  /** The new frames. */
  handles: Handle[]
  /** The parts of the plan that could not be read or did not fit. They were left out or changed. */
  problems: Problem[]
  /** Number of frames that were imported before and have not changed. */
  unchanged: number
}

/** The result of `invalidate`. */
export interface Invalidated {
  /** Unfinished frames that depend on one of the invalidated frames. */
  dependents: Handle[]
  /** The invalidated frames: the frame itself, then the planned frames below it. */
  invalidated: Handle[]
  /** Frames below it that are still in_progress or blocked. The command did not change them. */
  stillOpen: Handle[]
}

/** A line of a log that is not a complete JSON value. */
export interface LogDamage {
  /** Description of the damage. */
  message: string
  /** Number of the line in the file, counted from 1. */
  number: number
}

/**
 * The severity of a line in the host's log.
 *
 * `"debug"`: Details for debugging.
 *
 * `"info"`: A normal event.
 *
 * `"warn"`: A problem after which the work continues.
 */
export type LogLevel = "debug" | "info" | "warn"

/** Which logs `prune_logs` removes. */
export interface LogLimits {
  /**
   * The logs to which nothing was appended since this time, in milliseconds since the Unix epoch. Default:
   * their age does not count.
   */
  before?: number | undefined
  /**
   * The oldest logs, until all logs together have at most this size in bytes. Default: their size does not
   * count.
   */
  bytes?: number | undefined
}

/** One line of a log. */
export interface LogLine {
  /** The JSON value of the line. */
  entry: unknown
  /** Number of the line in the file, counted from 1. */
  number: number
}

/** The lines of a log that a `LogQuery` selects. */
export interface LogPage {
  /** The lines of the selected range that are not readable, with the reason; at most 1000. */
  damaged: LogDamage[]
  /** The selected lines, in the order of the file. */
  lines: LogLine[]
  /** Number of lines in the log, including damaged ones and those that are not selected. */
  total: number
}

/** A filter for the lines of a log. The default selects all lines. */
export interface LogQuery {
  /** The first line of the range, counted from 1. Default 0, which means the same as 1. */
  from?: number | undefined
  /** Selects only lines that contain this text in a key or a value, ignoring case. Default absent. */
  search?: string | undefined
  /** Maximum number of lines: the last ones of those that match the other filters. Default: no limit. */
  tail?: number | undefined
  /** The last line of the range, inclusive. Default: up to the end of the log. */
  to?: number | undefined
}

/**
 * The memory that an agent manages.
 *
 * `"heap"`: Stack and heap.
 *
 * `"registers"`: Stack, heap and registers.
 */
export type MemoryModel = "heap" | "registers"

/** Options of a stack in memory. */
export interface MemoryOptions {
  /** How tokens are counted: as in `StackOptions`. */
  counter?: "approx" | "chars4" | "o200k" | undefined
  /** Whether the stack keeps its events for `history`, as stacks in folders do. Default false. */
  history?: boolean | undefined
}

/** The status of the mirror, that is, of the files next to the store. */
export interface MirrorStatus {
  /**
   * The error of the last write, or null if it succeeded. The write is repeated, at the latest by `flush`.
   */
  error: string | null
  /** The revision of the last `state.json` that this process knows. */
  revision: number
  /** Number of frames whose files are out of date, as far as this process knows. */
  staleFrames: number
}

/**
 * When the documented files beside the database, `state.json` and `frames/`, are written. They never say more
 * than the database: a command is safe when it returns, no matter when its files are written.
 *
 * `"off"`: There are no such files. Files that an earlier process has written stay as they are.
 *
 * `"later"`: Calls that are made for it write them: `stack.upkeep().poll()` and `stack.host().poll()` in
 * small portions, `flush` and `close` all of them, the end of the stack too. Neither a command nor an open
 * writes them. The default.
 *
 * `"withCommands"`: Each command also writes the files of the frames that it has changed, and an open begins
 * to write what is missing. For hosts that do not poll, and whose readers must see a change at once.
 */
export type Mirroring = "off" | "later" | "withCommands"

/**
 * A result that the conversation of a frame does not have: its child has ended after the work on the frame
 * was interrupted.
 */
export interface Missed {
  /** Its child, which is completed or failed. */
  child: Handle
  /** The frame. */
  frame: Handle
}

/**
 * One request to a model, as the host reports it. Numbers of tokens are those that the model's provider
 * counts.
 *
 * The three numbers of the prompt do not overlap, and `output` does not contain `reasoning`: the prompt has
 * `uncachedInput + cacheRead + cacheWrite` tokens, the answer `output + reasoning`.
 */
export interface ModelRequest {
  /** Prompt tokens that were read from the provider's cache. */
  cacheRead?: number | undefined
  /** Prompt tokens that were written to the provider's cache. */
  cacheWrite?: number | undefined
  /**
   * Prompt tokens that were written to the provider's cache and that it keeps for an hour. They are also
   * counted in `cacheWrite`. Some providers have a separate price for these tokens.
   */
  cacheWriteHour?: number | undefined
  /**
   * The cost of the request, in millionths of a US dollar. 0: the host does not know it. A record that has
   * nothing but a cost is not a request: it adds to the costs.
   */
  costMicroUsd?: number | undefined
  /** Time from the request to the end of its answer, in milliseconds. */
  duration?: number | undefined
  /** True if the request had no answer that could be used. Its tokens are counted nevertheless. */
  failed?: boolean | undefined
  /** Number of messages in the prompt. */
  messages?: number | undefined
  /** The host's name of the model. Empty: it is not known. */
  model?: string | undefined
  /** Tokens of the answer, without those of reasoning. */
  output?: number | undefined
  /** Tokens of reasoning. */
  reasoning?: number | undefined
  /** Prompt tokens that were neither read from a cache nor written to it. */
  uncachedInput?: number | undefined
}

/** The sums of requests to one model. */
export interface ModelUsage {
  /** Prompt tokens that were read from the provider's cache. */
  cacheRead: number
  /** Prompt tokens that were written to the provider's cache. */
  cacheWrite: number
  /**
   * Time of all requests, in milliseconds. If requests ran at the same time, the time of each of them counts.
   */
  duration: number
  /** Number of failed requests. */
  failed: number
  /** The host's name of the model. Empty: it is not known. */
  model: string
  /** Tokens of the answers, without those of reasoning. */
  output: number
  /** Tokens of reasoning. */
  reasoning: number
  /** Number of requests, failed ones among them. */
  requests: number
  /** Prompt tokens that were neither read from a cache nor written to it. */
  uncachedInput: number
  /**
   * Prompt tokens that were written to the provider's cache and that it keeps for an hour. They are also
   * counted in `cacheWrite`. Some providers have a separate price for these tokens.
   */
  cacheWriteHour?: number
  /** The cost of the requests, in millionths of a US dollar, as far as the host has told it. */
  costMicroUsd?: number
}

/** The parameters of a chunk to allocate: see {@link Stack.allocateChunk}. */
export interface NewChunk {
  /** The text: up to 100,000 characters. */
  content: string
  /** The name: 1 to 100 characters on one line. */
  name: string
  /** A short summary for the index of the heap: up to 300 characters on one line. Default: empty. */
  description?: string | undefined
}

/** What a conversation of a frame has cost so far. */
export interface NewCost {
  /** The ID of the conversation. */
  conversation: string
  /** The cost of all its requests so far, in millionths of a US dollar. */
  costMicroUsd: number
}

/** The parameters of a frame to push or plan. */
export interface NewFrame {
  /** Short name, two to five words. */
  title: string
  /** The person or agent that does the work (`assignee` of `Frame`). Default: any person or agent. */
  assignee?: string | undefined
  /** ID of the calling session, in whose tree the parent is found if `parent` is absent. */
  caller?: string | undefined
  /** The frames whose results the new frame needs. */
  dependsOn?: readonly FrameRef[] | undefined
  /** Words of a team for the frame (`labels` of `Frame`). Default: none. */
  labels?: readonly string[] | undefined
  /** What the frame may do and spend. Default: what the frame above it may do and spend. */
  limits?: FrameLimits | undefined
  /**
   * The frame above the new one; null makes it a root. Default: the open frame of the session `caller`, or
   * the nearest open frame above it; without `caller` the active frame, if there is one.
   */
  parent?: FrameRef | null | undefined
  /** How urgent the frame is. Absent: as urgent as the frame above it. */
  priority?: Priority | undefined
  /**
   * The frame's ID: the ID of the host's session, at most 1,000 characters. Absent: an ID of the form
   * `plan-…` is generated.
   */
  sessionID?: string | undefined
  /** Success criteria: checkable conditions for the completion of the frame. Default: empty. */
  successCriteria?: string | undefined
  /** Compacted success criteria, for prompts. Default: empty; prompts then use the full criteria. */
  successCriteriaCompacted?: string | undefined
  /** The full instruction (`task` of `Frame`). Default: empty. */
  task?: string | undefined
}

/** A frame for a worker to hold: `hold`. */
export interface NewHold {
  /** The length of the lease in milliseconds: from 1 to 86400000. */
  lease: number
  /** The name of the worker. It should differ from the names of other workers, and must not be blank. */
  name: string
  /** Only frames below this one. Absent: all frames. */
  below?: FrameRef | undefined
  /** Exactly this frame. Absent: the first one that is free. */
  frame?: FrameRef | undefined
}

/** The parameters of a run to start: see `start_run`. */
export interface NewRun {
  /**
   * The agent's task. Must not be blank. It becomes the success criteria of the root frame and the first
   * message of its conversation.
   */
  task: string
  /** The ID of the root frame. Default: a generated ID. */
  sessionID?: string | undefined
  /** The kind of memory and its limits. Default: stack and heap. */
  settings?: RunSettings | undefined
  /** The title of the root frame. Default: the first line of the task, cut to 60 characters. */
  title?: string | undefined
  /**
   * A description of the agent's other tools in Markdown, up to 100,000 characters. It is a section of the
   * system prompt. It is stored with the run, so a process that resumes the run uses the same prompt.
   * Default: empty.
   */
  tools?: string | undefined
}

/** The next thing that a run needs from its host. */
export type Next =
  /** Ask a model with this prompt, and record its reply with {@link Stack.runReply}. */
  | Prompt & {
    next: "ask"
  }
  /**
   * Answer this tool call of the model. If it is about agent memory, use {@link Stack.advanceRun}. If not,
   * execute it and record the answer with {@link Stack.runAnswer}.
   */
  | ToolCall & {
    next: "call"
  }
  /** Nothing: the run is over, because the root frame is not open any more. */
  | {
    next: "over"
    /** The results of the root frame; empty if it has none. */
    results: string
    /** The status of the root frame. */
    status: FrameStatus
  }

/**
 * The reason why a frame is omitted.
 *
 * `"irrelevant"`: The score of the frame is below `minimum_relevance` of `Settings`, and the section's quota
 * or the budget had no room left for its stub.
 *
 * `"budget"`: The budget had no room left for the frame.
 *
 * `"rank"`: 512 siblings have a higher rank.
 */
export type Omission = "irrelevant" | "budget" | "rank"

/**
 * What the file of a plan said of a frame at the last import or export. With it, changes in the file since
 * then can be told from changes that were made here.
 */
export interface Origin {
  /** Checksums of what the file says of the frame. */
  checksums: Checksums
  /** The ID that the frame has in the plan. The frame's own ID can be the ID of a session by now. */
  id: string
  /** The plan: the ID of the first frame of its first import. */
  plan: string
  /** The status in the file. */
  status: FrameStatus
  /** The ID of the entry before it, among those with the same parent. Absent for the first one. */
  after?: string
  /** True: the file does not have the frame any more. */
  gone?: boolean
}

/** The options of an outline. */
export interface OutlineOptions {
  /** Mark the active frame, or the frame of the reader, and name it below the frames. Default true. */
  active?: boolean | undefined
  /** Number of levels that are shown below the first one. Default: all. */
  depth?: number | undefined
  /**
   * Show ID, criteria, results, artifacts, decisions, reason of the invalidation and duration below each
   * frame. Default false.
   */
  details?: boolean | undefined
  /**
   * The frame of the reader. It is marked instead of the active frame, if it is open. Default: the active
   * frame.
   */
  own?: FrameRef | undefined
  /** Show only this frame and the frames below it. Default: all frames. */
  root?: FrameRef | undefined
  /** The style. Default `marked`. */
  style?: OutlineStyle | undefined
  /**
   * Maximum length of a line, in characters; longer lines are cut and end in `…`. 0: no limit. Default 120.
   */
  width?: number | undefined
}

/**
 * The style of an outline.
 *
 * `"marked"`: Branches, a mark for each status, the active frame, a legend and statistics. The default.
 *
 * `"indented"`: Two spaces per level, the status in brackets, and a summary below each frame that has
 * results.
 */
export type OutlineStyle = "marked" | "indented"

/** A frame that, together with all frames below it, has spent what it may spend. */
export interface Overspent {
  /** The frame. */
  frame: Handle
  /** What it has spent, and what lets it continue. */
  reason: string
}

/** What a placeholder is made with. */
export interface Placeholder {
  /** The frame above the placeholder. Default: none, the placeholder is a root. */
  parent?: FrameRef | undefined
  /** The title. Default: `session` and the first 8 characters of the ID. */
  title?: string | undefined
}

/** The change of a frame of a plan. */
export interface PlanChange {
  /** What happens to it. */
  becomes: Becomes
  /** What the file has changed. */
  fields: PlanField[]
  /** The frame. */
  frame: Handle
  /** Its ID in the plan. */
  id: string
  /** Its title in the file; for a removed frame, its title here. */
  title: string
}

/** A part of a frame about which the file and the stack say different things. Both stay as they are. */
export interface PlanConflict {
  /** What can be done. */
  advice: string
  /** The field about which they do not agree. */
  field: PlanField
  /** What the file says. */
  file: string
  /** The frame. */
  frame: Handle
  /** Its ID in the plan. */
  id: string
  /** What the stack says. */
  stack: string
  /** Its title here. */
  title: string
}

/**
 * A part of a frame that a file can change.
 *
 * `"title"`: The title.
 *
 * `"criteria"`: The success criteria.
 *
 * `"task"`: The full instruction.
 *
 * `"priority"`: The priority.
 *
 * `"labels"`: The labels.
 *
 * `"assignee"`: The person or agent that does the work.
 *
 * `"dependsOn"`: The frames whose results it needs.
 *
 * `"parent"`: The frame above it.
 *
 * `"results"`: The results.
 *
 * `"status"`: The status.
 *
 * `"order"`: The order of the frames below it; for an entry at the top, also the order of the top.
 */
export type PlanField = "title" | "criteria" | "task" | "priority" | "labels" | "assignee" | "dependsOn" | "parent" | "results" | "status" | "order"

/** How a frame is popped. */
export interface Pop {
  /**
   * The new status. `"blocked"` is `block` without a question: the results say what the frame waits for.
   */
  status: PopStatus
  /**
   * The planned frame that begins in the same command. `true`: the first planned sibling that can begin then,
   * if there is one. Default: no frame begins.
   */
  next?: FrameRef | boolean | undefined
  /** The results in full. Default: empty. */
  results?: string | undefined
  /** A short form for the contexts of other frames. Default: the full results are used. */
  resultsCompacted?: string | undefined
}

/**
 * The statuses that a pop can set.
 *
 * `"completed"`: The success criteria are met.
 *
 * `"failed"`: The success criteria are not met, and this frame will not meet them.
 *
 * `"blocked"`: The success criteria are not met yet: the frame waits for something from outside.
 */
export type PopStatus = "completed" | "failed" | "blocked"

/** The result of `pop`. */
export interface Popped {
  /** The active frame after the pop; null if there is none. */
  active: Handle | null
  /** The popped frame. */
  handle: Handle
  /** Its parent; null if it is a root. */
  parent: Handle | null
  /** Frames below the popped frame that are still in_progress or blocked. The pop did not change them. */
  stillOpen: Handle[]
  /** Frames below the popped frame that are still planned. */
  stillPlanned: Handle[]
  /** The frame that has begun. */
  next?: Handle
}

/**
 * How urgent a frame is: from 0, before all others, to 4. A frame without one has that of the nearest frame
 * above that has one, or else 2.
 */
export type Priority = 0 | 1 | 2 | 3 | 4

/** A defect in an imported file. */
export interface Problem {
  /** The defect and its handling. */
  message: string
  /** The place of the defect: a line, a JSON path, or the ID of a frame. */
  place: string
}

/** The prompt for a model in one step. */
export interface Prompt {
  /** The depth of the current frame in the run. The root of the run has depth 0. */
  depth: number
  /** The current frame of the run. */
  frame: Handle
  /**
   * The conversation of the current frame, in order. The text of the newest message ends with a section
   * `<memory>`: the step, the frame, the registers and the heap.
   *
   * This section changes in every step. It comes last, so that prompt caches keep everything before it. It is
   * not a separate message, because not every model accepts a user message after tool messages.
   *
   * With `shared_results` of `RunSettings`, the text of the first message begins with the element
   * `<stack-context>` if the frame is not the root. It has the criteria of the frames above this frame, and
   * the results of the finished frames next to this frame and next to those above it. It stays the same while
   * the frame works, unless another actor changes these frames.
   *
   * No other text makes such a section: `<memory>` and `</memory>` in a message, a chunk or a register are
   * `&lt;memory>` and `&lt;/memory>`.
   */
  messages: RunMessage[]
  /** The number of the step, from 1. */
  step: number
  /** The system prompt. It is the same in every step of a run. */
  system: string
}

/** What `prune_logs` has removed. */
export interface PrunedLogs {
  /** Their size in bytes. */
  bytes: number
  /** Number of logs that were removed. */
  files: number
  /** The size of the logs that are left, in bytes. */
  left: number
}

/** What a blocked frame waits for, and the answer. */
export interface Question {
  /** Time at which the frame was blocked, in milliseconds since the Unix epoch. */
  askedAt: number
  /** What the frame needs, and who can give it. Empty if that was not said. */
  question: string
  /** The answer. Several answers to one question are lines of one text, in their order. */
  answer?: string
  /** Time of the newest answer, in milliseconds since the Unix epoch. */
  answeredAt?: number
  /**
   * True: the frame was begun elsewhere. When its time has come, it is in progress again, and no worker gets
   * it. Omitted in JSON if false.
   */
  begun?: boolean
  /**
   * True if no question was asked: the work was interrupted or stopped, and the text says why. Omitted in
   * JSON if false.
   */
  interruption?: boolean
  /**
   * True: the frame has not begun, and must not begin before an answer. With the answer it is planned; a
   * frame that is not work is completed (`waits_to_begin` of `Frame`). Omitted in JSON if false.
   */
  unbegun?: boolean
  /**
   * Time from which on a frame that has not begun need not wait any more, in milliseconds since the Unix
   * epoch: the time is the answer.
   */
  until?: number
}

/**
 * Registers of a frame: short notes that its agent works by. Longer values are cut. A register that is empty
 * is absent.
 */
export interface Registers {
  /** At most 240 characters. */
  R0_GOAL?: string | undefined
  /** At most 980 characters. */
  R1_PLAN?: string | undefined
  /** At most 200 characters. */
  R2_NEXT?: string | undefined
  /** At most 60 characters. */
  R3_PHASE?: string | undefined
  /** At most 720 characters. */
  R4_CONSTRAINTS?: string | undefined
  /** At most 480 characters. */
  R5_ASSUMPTIONS?: string | undefined
  /** At most 600 characters. */
  R6_OPEN_QUESTIONS?: string | undefined
  /** At most 300 characters. */
  R7_STATUS?: string | undefined
}

/**
 * How frames are selected: from all trees, or by their relation to one frame.
 *
 * `"all"`: All frames.
 *
 * `"roots"`: The roots.
 *
 * `"ready"`: The planned frames that can begin, in the order of the plan: they and the planned frames above
 * them have what they need, no frame above them has ended, and none of their parts is left.
 *
 * `"interrupted"`: The frames that are in progress although the host that ran them does not exist any more.
 *
 * `"ancestors"`: The frames above the frame, from its parent up to the root.
 *
 * `"children"`: The children of the frame, in their order.
 *
 * `"siblings"`: The siblings of the frame, in their order, without the frame itself.
 *
 * `"subtree"`: The frame and all frames below it: parents before their children, depth first.
 */
export type Relation = "all" | "roots" | "ready" | "interrupted" | "ancestors" | "children" | "siblings" | "subtree"

/** How a frame is let go. */
export type Release =
  /** The holder has ended its work, or does not continue it. */
  | {
    how: "ended"
  }
  /** The holder resumes the work later, or another holder of its kind does. */
  | {
    how: "putBack"
    /** No worker gets the frame before this time, in milliseconds since the Unix epoch. */
    until: number
  }
  /** The holder was silent until the end of its lease. Its work can be resumed. */
  | {
    how: "interrupted"
  }
  /** Another actor has stopped, ended, blocked or taken the frame. */
  | {
    how: "stopped"
    /** The reason, or what the frame has become. */
    reason: string
  }

/** When and how a frame was let go. */
export type Released = {
  /** The time, in milliseconds since the Unix epoch. */
  at: number
} & (
  /** The holder has ended its work, or does not continue it. */
  | {
    how: "ended"
  }
  /** The holder resumes the work later, or another holder of its kind does. */
  | {
    how: "putBack"
    /** No worker gets the frame before this time, in milliseconds since the Unix epoch. */
    until: number
  }
  /** The holder was silent until the end of its lease. Its work can be resumed. */
  | {
    how: "interrupted"
  }
  /** Another actor has stopped, ended, blocked or taken the frame. */
  | {
    how: "stopped"
    /** The reason, or what the frame has become. */
    reason: string
  })

/** A new lease of a hold. */
export interface Renewal {
  /** The length of the lease from now on, in milliseconds: from 1 to 86400000. */
  lease: number
}

/** The result of `reopen`. */
export interface Reopened {
  /** Frames that depend on it and have begun, or ended: they have used results that were wrong. */
  begun: Handle[]
  /** The frame that continues. */
  handle: Handle
  /** Planned frames that depend on it. They wait again. */
  waiting: Handle[]
}

/** A defect in a state, and its repair. */
export interface Repair {
  /** ID of the affected frame; null if the defect concerns the state as a whole. */
  frame: string | null
  /** The defect and its repair, in one sentence. */
  message: string
}

/** A reply of a model: text, tool calls, or both. */
export interface Reply {
  /**
   * The tool calls, in order. Default: empty. If an ID is empty or already used in the conversation, a new ID
   * is generated.
   */
  calls?: readonly ToolCall[] | undefined
  /**
   * True if the provider has cut the reply at its maximum length. None of its tool calls is carried out then,
   * and a message tells the model so. Default false.
   */
  cut?: boolean | undefined
  /** The text. Default: empty. */
  text?: string | undefined
}

/** Results of an open frame so far. */
export interface ResultsSoFar {
  /** The results in full. Must not be empty. */
  results: string
  /** A short form for the contexts of other frames. Default: the full results are used. */
  resultsCompacted?: string | undefined
}

/** What a host does now to resume frames, and what it waits for: see `resumption`. */
export interface Resumption {
  /** The frames, at or below one of the given ones, that wait for a person. In creation order. */
  asking: Handle[]
  /** The given frames that can be resumed when the frames below them have ended. In creation order. */
  later: Handle[]
  /** Results that the conversations of frames in `now` and `later` do not have. */
  missed: Missed[]
  /**
   * The given frames that can be resumed now: they were interrupted, stopped or answered, and nothing below
   * them is running or among `now` and `later`. In creation order.
   */
  now: Handle[]
  /**
   * The frames, at or below one of the given ones, that a host runs. When one of them ends or is interrupted,
   * the answer to this question changes. In creation order.
   */
  running: Handle[]
}

/** The result of `retry`. */
export interface Retried {
  /** Which attempt it is, counted from 1. */
  attempt: number
  /** The new frame, which is planned. */
  handle: Handle
  /** The frames below the earlier attempt that were planned. They are invalidated. */
  invalidated: Handle[]
  /**
   * Frames below the earlier attempt that are still in_progress or blocked. The command did not change them.
   */
  stillOpen: Handle[]
}

/** The answer to a tool call of a run. */
export interface RunAnswer {
  /** The answer, for the model. */
  answer: string
  /** The ID of the tool call, such as `call_1`. */
  call: string
  /** Whether the call has failed and the answer is the reason. Default false. */
  isError?: boolean | undefined
}

/** One message of a conversation with a model. */
export type RunMessage =
  /** A prompt to the model. */
  | {
    role: "user"
    /** The text. */
    text: string
  }
  /** A reply of the model. */
  | {
    role: "assistant"
    /** The text; empty if the reply contains only tool calls. */
    text: string
    /** The tool calls, in order. Omitted in JSON if empty. */
    calls?: ToolCall[]
  }
  /** The answer to a tool call. */
  | {
    role: "tool"
    /** The ID of the tool call. */
    call: string
    /** The tool's name. */
    name: string
    /** The text of the answer. */
    text: string
    /**
     * True if the tool call failed; the text then states the reason. Default false; omitted in JSON if false.
     */
    isError?: boolean
  }

/** The settings of a run. They are fixed when the run starts. */
export interface RunSettings {
  /** Size of the heap, in characters, above which the agent is warned. Default 5000. */
  heapCeiling?: number | undefined
  /**
   * Maximum depth of a frame, that is, the number of its ancestors; the root of the run has depth 0. Deeper
   * pushes are refused with `TooDeep`. Default 5.
   */
  maxDepth?: number | undefined
  /** The memory that the agent manages. Default `heap`. */
  memory?: MemoryModel | undefined
  /**
   * Maximum size of the part of the first message in which a frame sees other frames, in tokens. Nothing is
   * shown if the budget has no room for the titles of the parent and the root. Default 1500.
   */
  resultsBudget?: number | undefined
  /**
   * Whether frames see the results of others. Default true.
   *
   * If true, the first message of a frame begins with the criteria of the frames above it and the results,
   * artifacts and decisions of finished siblings: its own, and those of the frames above it. The agent can
   * also record artifacts and decisions when it pops a frame, and read the logs of the run's frames. If
   * false, a frame begins with its briefing alone.
   */
  sharedResults?: boolean | undefined
  /**
   * True: the system prompt has the rules alone, without examples and common mistakes. This is for models
   * that are trained to work in this way, or to save about 700 tokens, which a prompt cache keeps after the
   * first step. Default false.
   */
  shortPrompt?: boolean | undefined
}

/** The status of a run. */
export interface RunStatus {
  /** The depth of the current frame in the run. The root of the run has depth 0. */
  depth: number
  /** The current frame of the run. */
  frame: Handle
  /**
   * Number of consecutive steps with the same tool calls in the current frame, up to and including the last
   * step; 0 before the first step. Updates of registers are ignored in steps that also call other tools.
   */
  repeats: number
  /** The settings with which the run was started. */
  settings: RunSettings
  /** Number of steps, that is, of replies of a model. */
  steps: number
}

/**
 * The section of a context in which a frame is shown.
 *
 * `"current-frame"`: The frame whose context this is.
 *
 * `"ancestors"`: The ancestors: the parent, its parent, and so on up to the root.
 *
 * `"dependencies"`: Finished dependencies that are not siblings.
 *
 * `"inherited-dependencies"`: Finished dependencies of the ancestors, which the frame inherits.
 *
 * `"earlier-attempts"`: The failed attempts before the frame.
 *
 * `"ancestor-siblings"`: Finished siblings of the ancestors, unless they are dependencies.
 *
 * `"completed-siblings"`: Finished siblings, completed and failed ones, including those that are
 * dependencies.
 *
 * `"finished-children"`: Finished children whose results the frame's conversation does not hold.
 *
 * `"planned-children"`: Planned children.
 */
export type Section = "current-frame" | "ancestors" | "dependencies" | "inherited-dependencies" | "earlier-attempts" | "ancestor-siblings" | "completed-siblings" | "finished-children" | "planned-children"

/**
 * A message of a host's session. The library searches it for a summary and writes it to the frame's log.
 */
export interface SessionMessage {
  /** ID of the message. It prevents duplicates in the frame's log. */
  id?: string | undefined
  /** All parts of the message in the host's format, for the log. */
  parts?: readonly unknown[] | undefined
  /** The author: `user` or `assistant`. */
  role?: string | undefined
  /** True if the host marks the message as the summary of a compaction. Default false. */
  summary?: boolean | undefined
  /** All text parts of the message, joined. */
  text?: string | undefined
  /**
   * Time at which the message began, in milliseconds since the Unix epoch. If it is absent, the frame's log
   * has the time at which the message was logged.
   */
  time?: number | undefined
  /** True if the message still changes, for example because the model writes it. Default false. */
  unfinished?: boolean | undefined
}

/** The settings of a context. */
export interface Settings {
  /** The budgets in tokens and bytes. */
  budget?: Budget | undefined
  /** Which finished children are shown. Default `forgotten`. */
  finishedChildren?: FinishedChildren | undefined
  /** The form of the text. Default `cached`. */
  form?: Form | undefined
  /** How much guidance the context contains. Default `full`. */
  guidance?: Guidance | undefined
  /** Size of the heap, in characters, above which the agent is warned. Default 5000. */
  heapCeiling?: number | undefined
  /**
   * Minimum score of the siblings that are shown with more than a stub, from 0 to 100. Stubs of the others
   * are shown while the quota of the siblings has room. Does not apply to dependencies. Default 30.
   */
  minimumRelevance?: number | undefined
  /**
   * The names of the tools that the texts for the agent mention. Default: the names in the library's own list
   * of tools.
   */
  tools?: ToolNames | undefined
}

/**
 * How much of a chunk is shown.
 *
 * `"omitted"`: The chunk is not shown. The element `truncation` counts it.
 *
 * `"index"`: Only its entry in the index: name, frame, size in characters, and description.
 *
 * `"whole"`: The whole content, escaped for XML.
 */
export type Shown = "omitted" | "index" | "whole"

/**
 * One change to one frame. A tree changes only by events: applying all events of a tree to an empty tree
 * gives an equal tree.
 */
export type StackEvent = {
  /** The frame that changed. */
  handle: Handle
  /** Position in the history: 1 for the first event of a tree, 2 for the second, and so on. */
  revision: number
  /** Time of the change, in milliseconds since the Unix epoch. */
  time: number
} & (
  /** The frame was created: pushed, planned, created for a session, or imported. */
  | {
    kind: "added"
    /** The record of the frame at its creation. */
    frame: FrameRecord
  }
  /**
   * This frame and all frames with higher handles come from one import. Their starts and finishes are ordered
   * by their times, not by their handles.
   */
  | {
    kind: "imported"
    /** Keys of the imported state that this version does not know. Omitted in JSON if empty. */
    extra?: Record<string, unknown>
  }
  /** The frame got dependencies on frames that were added later in the same command. */
  | {
    kind: "dependenciesAdded"
    /** IDs of the frames that it depends on. */
    dependsOn: string[]
  }
  /**
   * A placeholder frame got its title and criteria, or its present title and criteria were set for good.
   */
  | {
    kind: "identified"
    /** The new title and criteria. */
    identity: Identity
    /** True: the frame remains a placeholder. Omitted in JSON if false. */
    provisional?: boolean
  }
  /** The frame was activated, blocked, resumed or popped. */
  | {
    kind: "statusChanged"
    /** The new status. */
    status: FrameStatus
    /** The full results, if the change sets them. */
    results?: string
    /** The compacted results, if the change sets them. */
    resultsCompacted?: string
  }
  /** The frame got intermediate results and remains open. */
  | {
    kind: "summarized"
    /** The full results so far. */
    results: string
    /** The compacted results so far. */
    resultsCompacted: string
  }
  /** The frame was blocked in the same command, and waits for this. */
  | {
    kind: "asked"
    /** What the frame needs, and who can give it. Empty if that was not said. */
    question: string
    /** True if no question was asked: the work was interrupted or stopped. Omitted in JSON if false. */
    interruption?: boolean
  }
  /** The blocked frame was answered. It can be resumed. */
  | {
    kind: "answered"
    /** The answer. */
    answer: string
    /**
     * The status that a frame gets if it has waited to begin: planned; or, if the frame is not work,
     * completed or in_progress. Omitted in JSON for other frames, which stay blocked until they are resumed.
     */
    becomes?: FrameStatus
  }
  /**
   * An actor holds the frame from now on; or the lease of its holder has another end, and then the generation
   * stays the same.
   */
  | {
    kind: "held"
    /** The holder. */
    holder: Holder
  }
  /** The holder of the frame has let it go, or has lost it. */
  | {
    kind: "released"
    /** How. */
    release: Release
  }
  /** The frames that run at or below this frame were stopped. Hosts begin no queued frames there. */
  | {
    kind: "stopped"
    /** The reason. */
    reason: string
  }
  /** A summary of the frame's conversation was requested, or the request has ended. */
  | {
    kind: "summaryRequested"
    /** The request. Absent: it has ended. */
    request?: SummaryRequest
  }
  /** The frame was removed from the plan. */
  | {
    kind: "invalidated"
    /** The reason. */
    reason: string
  }
  /** The frame got another ID. */
  | {
    kind: "idReplaced"
    /** The new ID. */
    sessionID: string
  }
  /** The frame's log is another file from now on. */
  | {
    kind: "logPathSet"
    /** The new path of the log, relative to the stack's folder or absolute. */
    logPath: string
  }
  /** The frame's own log was renamed together with its ID. */
  | {
    kind: "logMoved"
    /** Path of the log from now on, relative to the stack's folder. */
    logPath: string
  }
  /** The conversation of the parent received the results of the frame. */
  | {
    kind: "delivered"
  }
  /**
   * The conversation of the frame was compacted or started again: it no longer holds the results of the
   * children.
   */
  | {
    kind: "forgotten"
  }
  /** An artifact was recorded. */
  | {
    kind: "artifactAdded"
    /** The artifact, usually a path. */
    artifact: string
  }
  /** A decision was recorded. */
  | {
    kind: "decisionAdded"
    /** The decision. */
    decision: string
  }
  /** The frame became the active frame, or stopped being it and no frame is active. */
  | {
    kind: "activeChanged"
    /** True: this frame is active. False: this frame was active, and now no frame is. */
    active: boolean
  }
  /** A chunk was allocated on the frame's heap. */
  | {
    kind: "chunkAllocated"
    /** The chunk. */
    chunk: Chunk
  }
  /** A chunk of the frame got new content. */
  | {
    kind: "chunkWritten"
    /** The new content. */
    content: string
    /** The chunk's name. */
    name: string
    /** The step of the run in which the chunk was written; 0 outside runs. */
    step: number
  }
  /** A chunk of the frame was freed. */
  | {
    kind: "chunkFreed"
    /** The chunk's name. */
    name: string
  }
  /** Registers of the frame got new values. */
  | {
    kind: "registersChanged"
    /** The new values. Registers that are not listed keep theirs. */
    registers: Record<string, string>
  }
  /** The frame became the root of a run: an agent that manages its own memory works in it. */
  | {
    kind: "runStarted"
    /** The settings of the run. */
    run: RunSettings
    /**
     * The host's description of the agent's other tools, a section of its system prompt. Empty: it has none.
     */
    tools?: string
  }
  /** A model pushed the frame by a tool call. The results of the frame will answer that tool call. */
  | {
    kind: "called"
    /** ID of the tool call. */
    call: string
  }
  /** Messages were added to the frame's conversation. */
  | {
    kind: "messagesAdded"
    /** The new messages, oldest first. */
    messages: RunMessage[]
  }
  /**
   * The planned frame was edited, or a person has corrected the words or the priority of an open frame. Other
   * frames only get another place: an import of files restores the order of siblings in this way.
   */
  | {
    kind: "edited"
    /** The changed fields. They name frames by their handles. */
    edit: FrameEdit
    /** The values before, if the frame had begun: work may have been done by them. */
    was?: FrameEdit
  }
  /** A model was asked in the frame's session. Contexts do not show it. */
  | {
    kind: "usageRecorded"
    /** The request. */
    modelRequest: ModelRequest
  }
  /** The limits on what the frame may do and spend from now on. */
  | {
    kind: "limitsSet"
    /** All limits of the frame. */
    limits: FrameLimits
  }
  /** The host has told what a conversation of the frame has cost so far. */
  | {
    kind: "costRecorded"
    /** The ID of the conversation. */
    conversation: string
    /**
     * The cost of all its requests, in millionths of a US dollar. It replaces the cost that was recorded
     * before.
     */
    costMicroUsd: number
  }
  /**
   * The transcript of a conversation was read up to this position. What it says is in the logs and the usage
   * of frames; this frame is one of them.
   */
  | {
    kind: "transcriptRead"
    /** The name of the conversation. */
    conversation: string
    /** Where the reading has stopped. */
    position: TranscriptPosition
  }
  /** The completed frame turned out to be wrong: it is in_progress again. Its results are those so far. */
  | {
    kind: "reopened"
    /** What is wrong. */
    reason: string
  }
  /**
   * A person has given a command. It consists of the events before this one, from a revision on. The last
   * commands can be taken back.
   */
  | {
    kind: "commanded"
    /** What the command was, such as `pop`. */
    command: string
    /** The state of the tree before the command. Absent: the command cannot be taken back. */
    before?: TreeBefore
    /** The name of the person; empty if the person has given none. */
    by?: string
  }
  /** The command of a person was taken back. */
  | {
    kind: "undone"
    /** What the command was, such as `pop`. */
    command: string
    /** The revision of its event `commanded`. */
    commanded: number
  }
  /** The frame is again in the state before a command that was taken back. */
  | {
    kind: "restored"
    /** Keys of the frame's record with their values; null for a key that it does not have. */
    values: Record<string, unknown>
    /** The edit that gives the frame its former place and dependencies back. */
    edit?: FrameEdit
  }
  /**
   * The file from which the frame was imported has changed, and the frame has changed with it; or only the
   * facts that are known of the file have changed.
   */
  | {
    kind: "reimported"
    /** Keys of the frame's record with their new values; null for a key that it does not have any more. */
    values: Record<string, unknown>
    /** The edit that gives the frame its new place and its new dependencies. */
    edit?: FrameEdit
  })

/** Figures about a stack. */
export interface StackInfo {
  /** The active frame; null if there is none. */
  active: Handle | null
  /** Statistics of the cache of contexts. */
  cache: CacheStatistics
  /** Number of frames. */
  frames: number
  /** The state of the files beside the database; null if the stack keeps none. */
  mirror: MirrorStatus | null
  /** Problems that were repaired in the files or the state from which the stack was made. */
  repairs: Repair[]
  /** Number of events that the tree has seen. */
  revision: number
}

/** Options of a stack in a folder. */
export interface StackOptions {
  /**
   * How long one call waits in total, in milliseconds: for commands of other threads, for other processes,
   * and for the locks of files. Then it fails with `busy`. Default 10000.
   */
  busyTimeout?: number | undefined
  /**
   * How tokens are counted: `"approx"` (default: an estimate), `"chars4"` (one token for four characters), or
   * `"o200k"` (exact; only in a library with the feature `tokenizer`, otherwise the error is `setting`).
   */
  counter?: "approx" | "chars4" | "o200k" | undefined
  /**
   * The failures that an acknowledged command survives. `"normal"` (default): the death of the process. A
   * power loss can remove the last commands. `"full"`: a power loss too.
   */
  durability?: Durability | undefined
  /**
   * How many frames of finished trees stay in memory at most. The others are read from the database when they
   * are needed. Default 4096.
   */
  finishedFrames?: number | undefined
  /**
   * When `state.json` and `frames/` beside the database are written. `"later"` (default): by `flush`, by
   * `poll` in small portions, and at the end of the stack, not by commands. `"withCommands"`: each command
   * also writes the files of the frames that it has changed. `"off"`: never. `true` means `"later"`, `false`
   * means `"off"`.
   */
  mirror?: Mirroring | boolean | undefined
  /**
   * In stacks with more frames than this, only `flush` and other processes write `state.json`. For programs
   * that make one change and end. Default: it is always written.
   */
  stateFileFrames?: number | undefined
}

/** All trees in the form of `state.json`. A state of an imported file can have more keys. */
export interface StackState {
  /** All frames, by their IDs. */
  frames: Record<string, FrameRecord>
  /** The IDs of the roots. */
  rootFrameIDs: string[]
  /** The time of the last change, in milliseconds since the Unix epoch. */
  updatedAt: number
  /** The version of the form. */
  version: number
  /** The ID of the active frame; absent if there is none. */
  activeFrameID?: string
  finishedTrees?: FinishedTrees
  /** Number of events in the history. Default 0. */
  revision?: number
}

/** How a frame stands for its holder: see `standing`. */
export type Standing =
  /** The holder works on it. */
  | {
    kind: "held"
  }
  /** It was ended under this hold: it is completed, has failed, or is blocked with a question. */
  | {
    kind: "ended"
    /** `completed`, `failed` or `blocked`. */
    status: FrameStatus
  }
  /** It was put back for later under this hold. */
  | {
    kind: "putBack"
  }
  /**
   * Another actor has stopped it, taken it out of the plan, retried it, or ended it in another way: the
   * holder should stop.
   */
  | {
    kind: "stopped"
  }

/** Options of a stack that is made from a state. */
export interface StateOptions {
  /** How tokens are counted: as in `StackOptions`. */
  counter?: "approx" | "chars4" | "o200k" | undefined
}

/** The settings of subagents (specification, "Subagent Integration"). */
export interface SubagentSettings {
  /**
   * Whether a subagent is completed automatically: when its tool returns, or when it is idle. Default true.
   */
  autoCompleteOnIdle?: boolean | undefined
  /** Whether child sessions are tracked. Default true. */
  enabled?: boolean | undefined
  /** Idle time after which a subagent is completed, in milliseconds. Default 5,000. */
  idleCompletionDelay?: number | undefined
  /** Whether the context of its frame is added to a child session's requests. Default true. */
  injectParentContext?: boolean | undefined
  /** Minimum age of a session without a matching title to get a frame, in milliseconds. Default 60,000. */
  minDuration?: number | undefined
  /** Minimum number of messages of a session without a matching title to get a frame. Default 3. */
  minMessageCount?: number | undefined
  /**
   * Regular expressions for titles, ignoring case: a child session whose title matches one of them is a
   * subagent. Default `@.*subagent`, `subagent`, `\[Task\]`.
   *
   * At most 20 patterns of at most 200 characters each, whose compiled form has at most 16 KiB; so `x{1000}`
   * is too large. The first 300 characters of a title are matched.
   */
  patterns?: readonly string[] | undefined
  /**
   * Whether the answer of an automatically completed subagent, which is its last assistant message, becomes
   * its frame's results. Default true.
   */
  propagateSummaries?: boolean | undefined
}

/**
 * A summary of a frame's conversation that was requested and does not exist yet. It outlives the process.
 */
export interface SummaryRequest {
  /** Time of the request, in milliseconds since the Unix epoch. */
  requestedAt: number
  /** The reason. */
  type: CompactionType
  /** Only for `frame_completion`: why the frame is blocked with the summary. Absent: it is completed. */
  blockedBecause?: string
  /** A request for the content of the summary. It is added to the prompt. */
  note?: string
}

/** The definition of a tool, with which a host registers it. */
export interface Tool {
  /** Its description for the agent. */
  description: string
  /** Valid arguments. */
  example: Record<string, unknown>
  /** Its topic. */
  group: ToolGroup
  /** Its name, such as `stack_frame_push`. */
  name: string
  /** The JSON Schema of its arguments, which are an object. */
  parameters: Record<string, unknown>
}

/** The answer of a tool. */
export interface ToolAnswer {
  /** The effects that the host must carry out. */
  effects: Effect[]
  /**
   * The frames that the call has popped, or whose ends it has waited for. The answer says how they have
   * ended, or what they wait for.
   */
  ended: Handle[]
  /** Whether the tool call was refused. The text then contains the reason. */
  isError: boolean
  /**
   * One line for people: what the call was about, and its result. Empty if the arguments say it, or if the
   * answer comes later.
   */
  title: string
  /** The call that is answered later, by the effect `answer`. */
  call?: number
  /** The answer; absent if it comes later. */
  text?: string
}

/** A tool call in a model's reply. */
export interface ToolCall {
  /** The arguments as the model wrote them. They should be a JSON object, but this is not checked here. */
  arguments: string
  /** The ID, which links the tool call to its answer. */
  id: string
  /** The tool's name. */
  name: string
}

/**
 * The topic of a tool.
 *
 * `"frames"`: Starting, finishing and showing frames.
 *
 * `"planning"`: Planning frames, starting planned frames, and removing frames from the plan.
 *
 * `"context"`: The context that an agent receives before a model call.
 *
 * `"compaction"`: Summaries of conversations.
 *
 * `"subagents"`: Child sessions that the host's own tools start.
 *
 * `"autonomy"`: Assessing when to start and finish frames.
 *
 * `"memory"`: Heap and registers: texts that contexts show even after the conversation has been compacted.
 */
export type ToolGroup = "frames" | "planning" | "context" | "compaction" | "subagents" | "autonomy" | "memory"

/**
 * The host's names of the tools that texts for agents mention. `prefix` stands before the default names, a
 * string replaces a whole name, null means that the host has no such tool. `"none"`: texts mention no tools.
 * Names have 1 to 64 characters and no control characters.
 */
export type ToolNames =
  | "none"
  | {
    /** Default `stack_frame_activate`. Null: the host has no such tool. */
    activate?: string | null | undefined
    /** Default `stack_frame_details`. Null: the host has no such tool. */
    details?: string | null | undefined
    /** Default `stack_frame_edit`. Null: the host has no such tool. */
    edit?: string | null | undefined
    /** Default `stack_heap_free`. Null: the host has no such tool. */
    heapFree?: string | null | undefined
    /** Default `stack_heap_read`. Null: the host has no such tool. */
    heapRead?: string | null | undefined
    /** Default `stack_frame_invalidate`. Null: the host has no such tool. */
    invalidate?: string | null | undefined
    /** Default `stack_frame_plan_children`. Null: the host has no such tool. */
    planChildren?: string | null | undefined
    /** Default `stack_frame_pop`. Null: the host has no such tool. */
    pop?: string | null | undefined
    /** What stands before the default names, such as `mcp__callstack__`. Default: empty. */
    prefix?: string | undefined
    /** Default `stack_frame_push`. Null: the host has no such tool. */
    push?: string | null | undefined
    /** Default `stack_tree`. Null: the host has no such tool. */
    tree?: string | null | undefined
    /** Default `stack_registers_update`. Null: the host has no such tool. */
    updateRegisters?: string | null | undefined
  }

/** Selects tools for agents. */
export interface ToolQuery {
  /** All tools, although the stack says which ones the host offers. Default false. */
  all?: boolean | undefined
  /** The tools with which an agent in a run with these settings manages its memory. */
  memory?: RunSettings | undefined
  /**
   * The host's names of the tools. The descriptions mention other tools by these names. Default: the default
   * names.
   */
  names?: ToolNames | undefined
}

/** A tool call of an agent. */
export interface ToolRequest {
  /** The default name of the tool. Tools that the host does not offer to its agents work too. */
  name: string
  /** The arguments: an object, or its JSON as the model has written it. Default: none. */
  arguments?: string | unknown | undefined
}

/**
 * The tools that a host offers to its agents: `"standard"` (those that an agent needs to work), `"all"`, or a
 * list of names; `"standard"` in a list stands for the standard tools.
 */
export type ToolSet = "standard" | "all" | readonly string[]

/**
 * The position at which the reading of a transcript has stopped. It also has the facts about the part before
 * that the reading of the next part needs.
 */
export interface TranscriptPosition {
  /** The ID of the last answer, whose usage is counted. */
  answer: string
  /** True if the conversation has said in which frames it is. Otherwise only the stack can know it. */
  hasFrames: boolean
  /**
   * The number of the text that was said last, in hexadecimal digits: the IDs of later entries depend on it.
   */
  last: string
  /** The model that was asked last, in transcripts that name it apart from the answers. */
  model: string
  /** The number of bytes that were read. */
  offset: number
  /** The frames in which the conversation is, the outermost one first. */
  path: Handle[]
  /** The time of the text that was said last, in milliseconds since the Unix epoch. */
  time: number
  /** True: the text that was read last is not in the log of any frame. */
  isOutside?: boolean
  /** True: the reading has stopped within a line that is too long. The rest of the line is left out. */
  isWithinLine?: boolean
}

/** What a command of a person has changed, so that it can be taken back. */
export interface TreeBefore {
  /** The frame that was active, if the command has made another frame or no frame active. */
  active?: Handle
  /**
   * The first and the last of the frames that the command has added. They are invalidated when it is taken
   * back.
   */
  added?: Handle[]
  /** The frames that existed before the command. */
  frames?: FrameBefore[]
}

/**
 * When the turns of a conversation without frames, or before the first frame, are folded. A turn runs from
 * the person's words to the agent's last answer before the next words.
 */
export interface TurnSettings {
  /**
   * In tokens, estimated by `approx` from samples. When the person writes, and the turns that are finished
   * and not folded have more than this together, these turns are all folded. 40,000 to 60,000 cost least in
   * windows of 200,000 tokens; see `docs/fold.md`.
   */
  floor: number
  /** How an agent reads what was folded. Default: nothing is said. */
  pointer?: string | undefined
}

/** The result of `undo`. */
export interface Undone {
  /** What the command was, such as `pop`. */
  command: string
  /** The frames that are as they were before it. */
  frames: Handle[]
  /** The frames that it had added. They are invalidated. */
  removed: Handle[]
}

/** A chunk that a frame sees, and the frame that owns it. */
export interface VisibleChunk {
  /** The chunk. */
  chunk: Chunk
  /** The frame that owns the chunk. */
  handle: Handle
}

/**
 * The form in which a conversation is written.
 *
 * `"anthropic"`: A request of Anthropic's Messages.
 *
 * `"responses"`: A request of OpenAI's Responses.
 *
 * `"chat"`: A request of OpenAI's Chat Completions, which many providers accept.
 *
 * `"gemini"`: A request of Gemini's `generateContent`.
 *
 * `"opencode"`: The messages of OpenCode's hook `experimental.chat.messages.transform`: a list of `{"info":
 * …, "parts": […]}`.
 *
 * `"pi"`: The messages of pi's event `context`: a list of its agent messages.
 */
export type Wire = "anthropic" | "responses" | "chat" | "gemini" | "opencode" | "pi"

/** What is left to do: the numbers of unfinished frames, each counted once. */
export interface WorkLeft {
  /**
   * Frames that could be held, but are assigned to others: workers of other names get them only if they name
   * the frame.
   */
  assigned: number
  /**
   * Frames in progress that are not in the hands of a worker: a person, a conversation or a host works on
   * them.
   */
  begun: number
  /** Blocked frames that wait for an answer, or for an actor that resumes them. */
  blocked: number
  /** Frames that a worker can hold now. */
  free: number
  /** Frames that workers hold. */
  held: number
  /** Frames that workers have put back, and that wait until a later time. */
  later: number
  /** Frames that wait for others: planned ones, and begun ones that have split their work. */
  waiting: number
}
