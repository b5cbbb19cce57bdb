"""The records of the API.

Records are dictionaries. Their keys have the same names as in the documented files, in C and in JavaScript, so nothing is
translated. A frame or a state that was imported from a file can have more keys than declared; the stack keeps them.
"""

from __future__ import annotations

import sys
from typing import Any, Literal, TypeAlias, TypedDict

if sys.version_info >= (3, 11):
    from typing import NotRequired
else:
    from typing_extensions import NotRequired

FrameStatus: TypeAlias = Literal["planned", "in_progress", "completed", "failed", "blocked", "invalidated"]
"""The status of a frame. A frame is open while it is `in_progress` or `blocked`."""

PopStatus: TypeAlias = Literal["completed", "failed", "blocked"]
"""The status that a pop gives a frame."""

Handle: TypeAlias = str
"""The number of a frame in its tree, such as `f3`. It never changes, and no other frame ever gets it."""

FrameRef: TypeAlias = str
"""A frame, named by its handle (`f3`), its ID, a beginning of its ID that matches no other frame, or its title, or the
beginning of that, if no other frame has it. A text of `f` and digits is always a handle; `id:` before a text means that
the rest is a complete ID."""

Counter: TypeAlias = Literal["approx", "chars4", "o200k"]
"""How tokens are counted: by an estimate (`approx`, the default), one token for four characters (`chars4`), or exactly
(`o200k`). The exact counter needs a library that is built with it (`make native FEATURES=tokenizer`)."""

Register: TypeAlias = Literal[
    "R0_GOAL",
    "R1_PLAN",
    "R2_NEXT",
    "R3_PHASE",
    "R4_CONSTRAINTS",
    "R5_ASSUMPTIONS",
    "R6_OPEN_QUESTIONS",
    "R7_STATUS",
]
"""The registers: short notes that an agent works by. Longer values are cut to 240, 980, 200, 60, 720, 480, 600 and 300
characters, in this order."""

EventKind: TypeAlias = Literal[
    "added",
    "imported",
    "dependenciesAdded",
    "identified",
    "statusChanged",
    "invalidated",
    "idReplaced",
    "logPathSet",
    "artifactAdded",
    "decisionAdded",
    "activeChanged",
    "summarized",
    "chunkAllocated",
    "chunkWritten",
    "chunkFreed",
    "registersChanged",
    "runStarted",
    "called",
    "messagesAdded",
    "logMoved",
    "delivered",
    "forgotten",
    "asked",
    "answered",
    "held",
    "released",
    "summaryRequested",
    "edited",
    "stopped",
    "usageRecorded",
    "limitsSet",
    "costRecorded",
    "transcriptRead",
    "reopened",
    "commanded",
    "undone",
    "restored",
    "reimported",
]
"""The kinds of changes that an event can record."""


# Options.


class MemoryOptions(TypedDict, total=False):
    """Options of a stack in memory."""

    counter: Counter
    #: Whether the stack keeps its events for `Stack.history`, as stacks in folders do. Default false.
    history: bool


class StackOptions(TypedDict, total=False):
    """Options of a stack in a folder."""

    #: Which failures an acknowledged command survives. `normal` (the default): the death of the process; after a loss of
    #: power the last commands may be missing. `full`: a loss of power too.
    durability: Literal["normal", "full"]
    #: How long a call waits in all, in milliseconds: for commands of other threads, for other processes, and for the
    #: locks of files. Then it raises `BusyError`. Default 10,000.
    busyTimeout: int
    #: Whether `state.json` and `frames/` beside the database are kept up to date. Default true.
    mirror: bool
    #: The number of frames above which `state.json` is left to `flush` and to other processes, for programs that make
    #: one change and end. Default: it is always written.
    stateFileFrames: int
    #: How many frames of finished trees stay in memory at most. The others are read from the database when they are
    #: asked for. Default 4,096.
    finishedFrames: int
    counter: Counter


class StateOptions(TypedDict, total=False):
    """Options of a stack that is made from a state."""

    counter: Counter


# Sizes.


class HistoryCompaction(TypedDict):
    """What `Stack.compact_history` has done."""

    #: Number of trees whose events were removed.
    trees: int
    #: Number of events that were removed.
    events: int
    #: Size of the database before, in bytes.
    bytesBefore: int
    #: Size of the database afterwards, in bytes.
    bytesAfter: int


class LogLimits(TypedDict, total=False):
    """Which logs `Stack.prune_logs` removes."""

    #: Those to which nothing was appended since this time, in milliseconds since the Unix epoch.
    before: int
    #: The oldest ones, until all logs together have at most this size in bytes.
    bytes: int


class PrunedLogs(TypedDict):
    """What `Stack.prune_logs` has removed. Sizes are in bytes."""

    files: int
    bytes: int
    left: int


# Frames.


Priority: TypeAlias = Literal[0, 1, 2, 3, 4]
"""How urgent a frame is: 0, before all others, to 4."""


class FrameLimits(TypedDict, total=False):
    """What a frame may do and spend. What is missing is not limited, or limited by the frames above it. Numbers are at least 1.

    The limits of tokens and costs are for the frame and all frames below it together.
    """

    #: The host's name of the model.
    model: str
    #: The tools besides those of the stack, at most those of the frames above. `mcp__shop` stands for all tools of that server.
    tools: list[str]
    #: Turns of the model in one prompt of the session.
    maxTurns: int
    #: Tokens of all requests, of prompts and answers together.
    maxTokens: int
    #: What may be spent, in millionths of a US dollar.
    maxCostMicroUsd: int


class Allowance(TypedDict):
    """What a frame may do and spend now, with the limits of all frames above it. What is missing is not limited."""

    frame: Handle
    model: NotRequired[str]
    tools: NotRequired[list[str]]
    maxTurns: NotRequired[int]
    #: What may still be spent, in millionths of a US dollar.
    maxCostMicroUsd: NotRequired[int]


class Overspent(TypedDict):
    """A frame that has spent what it may, together with all frames below it."""

    frame: Handle
    #: What it has spent, and what lets it go on.
    reason: str


class Missed(TypedDict):
    """A result that the conversation of a frame does not have: its child has ended after the interruption."""

    frame: Handle
    child: Handle


class Resumption(TypedDict):
    """How a host goes on with frames: see `Stack.resumption`. Each list is in creation order."""

    #: Those that can go on now: they were interrupted, stopped or answered, and nothing below them runs or goes on.
    now: list[Handle]
    #: Those that can go on when the frames below them have ended.
    later: list[Handle]
    #: The frames, at or below one of the given ones, that a host runs.
    running: list[Handle]
    #: The frames, at or below one of the given ones, that wait for a person.
    asking: list[Handle]
    missed: list[Missed]


class Standing(TypedDict):
    """How a frame stands for its holder: see `Stack.standing`."""

    #: `held`: the holder works on it. `ended`, `putBack`: it was ended under this hold, or put back for later. `stopped`:
    #: somebody has stopped it, has taken it out of the plan, or has begun it anew, so the holder should stop.
    kind: Literal["held", "ended", "putBack", "stopped"]
    #: How it has ended.
    status: NotRequired[Literal["completed", "failed", "blocked"]]


class NewFrame(TypedDict):
    """A frame to push or plan."""

    #: Short name, two to five words.
    title: str
    #: The conditions that must hold when the frame is done.
    successCriteria: NotRequired[str]
    #: A short form of the criteria, for contexts.
    successCriteriaCompacted: NotRequired[str]
    #: The full instruction, at most 100,000 characters. Only the frame's own context shows it.
    task: NotRequired[str]
    #: How urgent it is. Default: as the frame above it, or 2.
    priority: NotRequired[Priority]
    #: Words of a team for it, at most 50 of at most 100 characters. Contexts do not show them.
    labels: NotRequired[list[str]]
    #: The person or agent that does the work. Workers of other names leave the frame to them.
    assignee: NotRequired[str]
    #: What it may do and spend. Default: what the frame above may.
    limits: NotRequired[FrameLimits]
    #: The ID of the frame: the ID of the host's session. Default: a new ID of the form `plan-…`.
    sessionID: NotRequired[str]
    #: The parent; None creates a root. Without this key: the open frame of the session `caller`, or the nearest open one
    #: above it; if the session has no frame, the frame is a root. Without `caller` the active frame, if there is one.
    parent: NotRequired[FrameRef | None]
    #: The ID of the session that creates the frame. Only used to find the default parent.
    caller: NotRequired[str]
    #: The frames whose results this frame needs.
    dependsOn: NotRequired[list[FrameRef]]


class FrameEdit(TypedDict, total=False):
    """What an edit changes in a frame. What is missing stays as it is."""

    title: str
    successCriteria: str
    successCriteriaCompacted: str
    #: The full instruction.
    task: str
    #: How urgent it is; None: as the frame above it.
    priority: Priority | None
    #: All labels, instead of those so far.
    labels: list[str]
    #: The person or agent that does the work; None: any.
    assignee: str | None
    #: All frames whose results it needs, instead of those so far.
    dependsOn: list[FrameRef]
    #: The new parent; None makes the frame a root. It becomes the last child unless `before` says otherwise.
    parent: FrameRef | None
    #: The sibling before which it moves; None makes it the last one.
    before: FrameRef | None


class Identity(TypedDict):
    """The title and the criteria of a frame. They do not change when it has begun."""

    #: Short name, two to five words.
    title: str
    #: The conditions that must hold when the frame is done.
    successCriteria: NotRequired[str]
    #: A short form of the criteria, for contexts.
    successCriteriaCompacted: NotRequired[str]


class Question(TypedDict):
    """What a blocked frame waits for, and the answer. Times are in milliseconds since the Unix epoch."""

    #: What the frame needs, and from whom. Empty if nobody has said it.
    question: str
    #: True if nobody has asked: the work was interrupted or stopped, and the text says why.
    interruption: NotRequired[Literal[True]]
    #: True: the frame has not begun, and must not before an answer. With the answer it is planned; if it is no work, it is
    #: completed.
    unbegun: NotRequired[Literal[True]]
    #: Somebody has begun it elsewhere: when its time has come it is in progress again, and no worker gets it.
    begun: NotRequired[Literal[True]]
    #: When a frame that has not begun need not wait any more: the time is the answer.
    until: NotRequired[int]
    #: When the frame was blocked.
    askedAt: int
    #: The answer. Several answers to one question are lines of one text.
    answer: NotRequired[str]
    #: When the newest answer was given.
    answeredAt: NotRequired[int]


HolderKind = Literal["host", "worker", "conversation", "person"]
"""A host runs the frame in a session of its own, a worker holds one frame after the other, a conversation is that of an agent,
and a person works by hand."""


class Release(TypedDict):
    """How a frame is let go.

    `ended`: the holder does not go on. `putBack`: it waits until a time. `interrupted`: nobody has heard of the holder until
    the end of its lease. `stopped`: somebody else has stopped or ended it.
    """

    how: Literal["ended", "putBack", "interrupted", "stopped"]
    #: For `putBack`, in milliseconds since the Unix epoch.
    until: NotRequired[int]
    #: For `stopped`.
    reason: NotRequired[str]
    #: In a record: when, in milliseconds since the Unix epoch.
    at: NotRequired[int]


class Holder(TypedDict):
    """Who works on a frame, or did last."""

    kind: HolderKind
    #: Of a host an ID that each open stack has for itself. Empty: somebody who works by hand.
    name: str
    #: Which holder of the frame it is, counted from 1. Only the newest one counts.
    generation: int
    #: The end of the lease, in milliseconds since the Unix epoch.
    until: NotRequired[int]
    #: Since when it has the frame, in milliseconds since the Unix epoch.
    since: int
    #: The session or conversation that has given it the frame.
    caller: NotRequired[str]
    #: How often workers have begun the frame without an end, since it was planned or last answered.
    tries: NotRequired[int]
    #: How often workers have put the frame back, since it was planned or last answered.
    putBacks: NotRequired[int]
    #: True: it was told once that the frame is still in progress.
    reminded: NotRequired[bool]
    #: A fingerprint of the changing part of the context that a conversation was told last.
    told: NotRequired[str]
    #: What it was advised once: `push`, `pop`.
    advised: NotRequired[list[str]]
    #: How it has let the frame go.
    released: NotRequired[Release]


class Hold(TypedDict):
    """A frame that somebody holds."""

    handle: Handle
    kind: HolderKind
    name: str
    #: Which holder of the frame it is, counted from 1.
    generation: int
    #: The end of the lease, in milliseconds since the Unix epoch.
    until: int
    #: How often workers have begun the frame without an end, this time included, since it was planned or last answered.
    tries: int


class Actor(TypedDict):
    """Who gives commands: `Stack.as_actor`."""

    kind: HolderKind
    name: str
    #: The session or conversation for which it works.
    caller: NotRequired[str]
    #: True: it may end and begin what a person or a conversation holds.
    takesOver: NotRequired[bool]
    #: True: what it begins is the task of a subagent, whose name nobody knows yet.
    handsOver: NotRequired[bool]


class Finish(TypedDict):
    """How a holder ends its work: `Stack.finish`."""

    end: Literal["done", "failed", "asks", "later"]
    #: For `done` and `failed`; for `asks` those so far.
    results: NotRequired[str]
    resultsCompacted: NotRequired[str]
    #: For `asks`: what the frame needs, and from whom.
    question: NotRequired[str]
    #: For `later`: how many milliseconds. Default: longer each time, at most a minute.
    wait: NotRequired[int]


class Finished(TypedDict):
    """How the work on a frame has ended."""

    #: `in_progress`: the frame was put back.
    status: FrameStatus
    #: Until when nobody gets it, in milliseconds since the Unix epoch.
    until: NotRequired[int]


class WorkLeft(TypedDict):
    """What is left to do for workers: numbers of unfinished frames."""

    #: Frames that a worker can hold now.
    free: int
    #: Frames that workers hold.
    held: int
    #: Frames that workers have put back for later.
    later: int
    #: Frames that wait for others.
    waiting: int
    #: Frames in progress that are no worker's.
    begun: int
    #: Blocked frames.
    blocked: int
    #: Frames that could be held, but are assigned to others: workers of other names get them only if they name the frame.
    assigned: int


class SummaryRequest(TypedDict):
    """A summary that was requested of a frame's conversation."""

    type: Literal["frame_completion", "manual_summary", "overflow"]
    note: NotRequired[str]
    blockedBecause: NotRequired[str]
    requestedAt: int


class ModelUsage(TypedDict):
    """The sums of requests to one model. Tokens are as in `ModelRequest`."""

    #: The host's name of the model; empty if it is not known.
    model: str
    #: Number of requests, failed ones among them.
    requests: int
    #: Number of failed requests.
    failed: int
    uncachedInput: int
    cacheRead: int
    cacheWrite: int
    #: Of `cacheWrite`, what the cache keeps for an hour; absent if that is nothing.
    cacheWriteHour: NotRequired[int]
    output: int
    reasoning: int
    #: Time of all requests, in milliseconds. Of requests that ran at the same time each counts.
    duration: int
    #: What the requests have cost, in millionths of a US dollar, as far as the host has told it with them.
    costMicroUsd: NotRequired[int]


class Chunk(TypedDict):
    """A named text on the heap of a frame. The frame and all frames below it see it until it is freed."""

    #: The name, unique among the chunks that a frame sees.
    name: str
    #: The text, verbatim.
    content: str
    #: A short summary for the index.
    description: NotRequired[str]
    #: When the chunk was allocated, in milliseconds since the Unix epoch.
    allocatedAt: int
    #: When the chunk was last written, in milliseconds since the Unix epoch.
    writtenAt: int
    #: The step of the run in which the chunk was allocated; absent outside of runs.
    allocatedStep: NotRequired[int]
    #: The step of the run in which the chunk was last written; absent outside of runs.
    writtenStep: NotRequired[int]


class ConversationCost(TypedDict):
    """What a conversation of a frame has cost so far."""

    #: The ID of the conversation.
    conversation: str
    #: In millionths of a US dollar.
    costMicroUsd: int
    #: The weight of the frame's requests at that time. What has come since is estimated.
    weight: int


class Origin(TypedDict):
    """What the file of a plan said of a frame at the last import."""

    plan: str
    #: The ID of the frame in the plan.
    id: str
    after: NotRequired[str]
    gone: NotRequired[Literal[True]]
    status: FrameStatus
    #: By the names of what they are of; absent for what the file does not have.
    checksums: dict[str, int]


class FrameRecord(TypedDict):
    """The record of a frame. Times are milliseconds since the Unix epoch."""

    #: The ID of the frame: the ID of the host's session, or `plan-…` until the frame has a session.
    sessionID: str
    #: The ID of the parent; absent for a root.
    parentSessionID: NotRequired[str]
    status: FrameStatus
    title: str
    #: The conditions that must hold when the frame is done.
    successCriteria: str
    #: A short form of the criteria, for contexts.
    successCriteriaCompacted: str
    #: The full instruction.
    task: NotRequired[str]
    #: How urgent it is. Absent: as the frame above it.
    priority: NotRequired[Priority]
    #: Words of a team for it.
    labels: NotRequired[list[str]]
    #: The person or agent that does the work.
    assignee: NotRequired[str]
    #: When a person has corrected the words of the frame while it was open.
    correctedAt: NotRequired[int]
    #: The results in full.
    results: NotRequired[str]
    #: A short form of the results, for the contexts of other frames.
    resultsCompacted: NotRequired[str]
    createdAt: int
    #: When the frame was begun, if it was planned before.
    begunAt: NotRequired[int]
    updatedAt: int
    #: Files and other resources that the frame produced.
    artifacts: list[str]
    #: Decisions that were recorded.
    decisions: list[str]
    #: The IDs of the frames whose results this frame needs.
    dependsOn: NotRequired[list[str]]
    #: The path of the frame's full log.
    logPath: NotRequired[str]
    invalidationReason: NotRequired[str]
    invalidatedAt: NotRequired[int]
    #: The IDs of the children that are still planned.
    plannedChildren: NotRequired[list[str]]
    #: The IDs of all children in their order, if that is not the order of their creation.
    childOrder: NotRequired[list[str]]
    #: Whether the frame was created for a session, and its title and criteria are not set for good: `Stack.identify`.
    placeholder: NotRequired[bool]
    #: When the conversation of the parent received the results.
    deliveredAt: NotRequired[int]
    #: When the frame's own conversation was compacted or begun anew.
    forgottenAt: NotRequired[int]
    #: What the frame has waited for, with the answers, oldest first. The last one is open while the frame is blocked.
    questions: NotRequired[list[Question]]
    #: Who works on the frame, or did last.
    holder: NotRequired[Holder]
    #: The summary that was requested of the frame's conversation.
    summaryRequest: NotRequired[SummaryRequest]
    #: The frame's own requests to models: their sums, an entry for each model. Absent if there are none.
    usage: NotRequired[list[ModelUsage]]
    #: What the frame may do and spend. Absent: what the frame above may.
    limits: NotRequired[FrameLimits]
    #: What the frame's conversations have cost, as far as their host tells costs of conversations.
    costs: NotRequired[list[ConversationCost]]
    #: The chunks that belong to the frame.
    heap: NotRequired[list[Chunk]]
    #: The registers that are not empty, if the frame uses registers.
    registers: NotRequired[dict[Register, str]]
    #: The ID of the attempt before this frame, if it begins another one anew: `Stack.retry`.
    retryOf: NotRequired[str]
    #: What the frame is if it is no work, in a word: a record of another tool (`message`), or what holds frames together
    #: (`tag`).
    noWork: NotRequired[str]
    #: What the file said from which the frame was imported: checksums that tell what has changed in the file since.
    origin: NotRequired[Origin]


class Frame(FrameRecord):
    """A frame of a stack: the record and the handle."""

    handle: Handle


class FrameQuery(TypedDict, total=False):
    """Selects frames."""

    #: `all` (the default), `roots`, `ready` (planned frames that can begin, in their order), `interrupted` (frames
    #: in_progress whose hosts do not exist any more), or a relation to `frame`: `ancestors` (from the parent up),
    #: `children`, `siblings`, `subtree` (the frame and all frames below it).
    relation: Literal["all", "roots", "ready", "interrupted", "ancestors", "children", "siblings", "subtree"]
    #: The frame that `relation` refers to.
    frame: FrameRef
    #: Only frames with this status.
    status: FrameStatus


class Popped(TypedDict):
    """The answer of a pop."""

    #: The frame that was popped.
    handle: Handle
    #: Its parent; None if it was a root, and its tree is finished.
    parent: Handle | None
    #: The frame that is active now; None if there is none.
    active: Handle | None
    #: Frames below it that are still in progress or blocked.
    stillOpen: list[Handle]
    #: Frames below it that were planned and never started.
    stillPlanned: list[Handle]
    #: The frame that has begun, after `pop_and_begin` or `complete`.
    next: NotRequired[Handle]


Wire: TypeAlias = Literal["anthropic", "responses", "chat", "gemini", "opencode", "pi"]
"""The form in which a conversation is written."""


class FoldSettings(TypedDict, total=False):
    """What `fold` may assume and do."""

    #: The host's names of the tools, where they are neither the library's own nor those of the MCP server.
    tools: ToolNames
    #: The name under which the host knows the MCP server. Default: `callstack`.
    server: str
    #: How an agent reads all of a finished frame; `{frame}` stands for its handle. Default: a call of the tool that shows a
    #: frame. An empty text: nothing is said.
    pointer: str | None
    #: Also fold the turns of a conversation that has no frames. Default: no.
    turns: TurnSettings | None


class TurnSettings(TypedDict):
    """When the turns of a conversation without frames are folded."""

    #: In tokens: when the person writes, and the turns that are finished and not folded have more than this together, they are
    #: all folded. 40,000 to 60,000 cost least in windows of 200,000 tokens.
    floor: int
    #: How an agent reads what was folded. Default: nothing is said.
    pointer: NotRequired[str]


class FoldedStretch(TypedDict):
    """A stretch of a conversation that is gone."""

    #: The frame.
    frame: Handle
    #: How the frame has ended. A blocked one is folded when another frame has begun.
    status: Literal["completed", "failed", "blocked", "invalidated"]
    #: Number of texts, thoughts, calls and outcomes that are gone.
    items: int
    #: Their length in bytes.
    bytes: int
    #: Their length in tokens, estimated.
    tokens: int
    #: Length of the text that stands for them, in bytes.
    returned: int


class FoldedTurns(TypedDict):
    """Turns of a conversation that were folded at once."""

    #: Number of turns.
    turns: int
    #: Number of texts, thoughts, calls and outcomes that are gone.
    items: int
    #: Their length in bytes.
    bytes: int
    #: Their length in tokens, estimated.
    tokens: int


class FoldReport(TypedDict):
    """What was folded in a request."""

    #: The stretches that are gone, in the order of their beginnings. What was pushed and popped within one is not listed.
    stretches: list[FoldedStretch]
    #: The turns that are folded, those together that were folded at once.
    turns: list[FoldedTurns]


class Folded(TypedDict):
    """A request without what its finished frames have said."""

    #: The request as it is to be sent.
    request: str
    #: What was folded.
    report: FoldReport


class Retried(TypedDict):
    """The answer of a retry."""

    #: The new frame, which is planned.
    handle: Handle
    #: Which attempt it is, counted from 1.
    attempt: int
    #: The frames below the earlier attempt that were planned. They are invalidated.
    invalidated: list[Handle]
    #: Frames below the earlier attempt that are in progress or blocked. They were not changed.
    stillOpen: list[Handle]


class Reopened(TypedDict):
    """The answer of a reopening."""

    #: The frame that goes on.
    handle: Handle
    #: Planned frames that depend on it. They wait again.
    waiting: list[Handle]
    #: Frames that depend on it and have begun, or ended: they have used results that were wrong.
    begun: list[Handle]


class Undone(TypedDict):
    """The command of a person that was taken back."""

    #: What it was, such as `pop`.
    command: str
    #: The frames that are as they were before it.
    frames: list[Handle]
    #: The frames that it had added. They are invalidated.
    removed: list[Handle]


class Invalidated(TypedDict):
    """The answer of an invalidation."""

    #: The frame itself, then the planned frames below it.
    invalidated: list[Handle]
    #: Frames below it that are in progress or blocked. They were not changed.
    stillOpen: list[Handle]
    #: Unfinished frames that depend on an invalidated frame.
    dependents: list[Handle]


class ImportProblem(TypedDict):
    """A part of an imported plan that could not be read or did not fit."""

    place: str
    message: str


PlanField: TypeAlias = Literal[
    "title", "criteria", "task", "priority", "labels", "assignee", "dependsOn", "parent", "results", "status", "order"
]
"""A part of a frame that the file of its plan can change."""


class PlanChange(TypedDict):
    """The change of a frame that was imported before."""

    frame: Handle
    #: Its ID in the plan.
    id: str
    title: str
    #: What becomes of it. `edited`: its status stays. `removed`: the file does not have it any more.
    becomes: Literal["edited", "planned", "waiting", "begun", "finished", "invalidated", "removed"]
    fields: list[PlanField]


class PlanConflict(TypedDict):
    """A part of a frame of which file and stack say different things. Both stay as they are."""

    frame: Handle
    #: Its ID in the plan.
    id: str
    title: str
    field: PlanField
    #: What the file says.
    file: str
    #: What the stack says.
    stack: str
    #: What can be done.
    advice: str


class Imported(TypedDict):
    """The answer of an import."""

    #: The new frames.
    handles: list[Handle]
    problems: list[ImportProblem]
    #: The frames that were imported before, and have changed.
    changes: list[PlanChange]
    #: The fields on which the stack and the file differ: they keep the values of the stack.
    conflicts: list[PlanConflict]
    #: Number of frames that were imported before, and have not changed.
    unchanged: int


class ModelRequest(TypedDict, total=False):
    """One request to a model.

    The numbers of tokens are those of the provider, and do not overlap: the prompt has `uncachedInput` + `cacheRead` +
    `cacheWrite` tokens, the answer `output` + `reasoning`. Numbers are 0 by default.
    """

    #: The host's name of the model. Default: not known.
    model: str
    #: Prompt tokens that were neither read from a cache nor written to it.
    uncachedInput: int
    #: Prompt tokens that were read from the provider's cache.
    cacheRead: int
    #: Prompt tokens that were written to the provider's cache.
    cacheWrite: int
    #: Those of them that the cache keeps for an hour, which some providers sell for a price of its own.
    cacheWriteHour: int
    #: Tokens of the answer, without those of reasoning.
    output: int
    #: Tokens of reasoning.
    reasoning: int
    #: Time from the request to the end of its answer, in milliseconds.
    duration: int
    #: Number of messages in the prompt.
    messages: int
    #: What the request has cost, in millionths of a US dollar. A record with nothing but a cost is no request.
    costMicroUsd: int
    #: True if the request had no answer that could be used. Its tokens count all the same.
    failed: bool


class FrameUsage(TypedDict):
    """The requests of a frame, and of the frame with everything below it; an entry for each model."""

    own: list[ModelUsage]
    total: list[ModelUsage]
    #: What the frame itself has cost, in millionths of a US dollar: what hosts have told, and an estimate of what came since.
    ownCostMicroUsd: int
    #: What the frame and all frames below it have cost.
    totalCostMicroUsd: int


# Contexts.


class Budget(TypedDict, total=False):
    """Limits on the size of a context, in tokens, and one in bytes."""

    #: Limit of the whole context. It is never exceeded. Default 4000.
    total: int
    #: Limit of the whole context in bytes (UTF-8). It is never exceeded. Default: six for each token of `total`.
    bytes: int
    #: Quota of the ancestors. Default 1500.
    ancestors: int
    #: Quota of the finished siblings of the frame and of its ancestors, and of the dependencies. Default 1500.
    siblings: int
    #: Quota of the current frame. Default 800.
    current: int
    #: Quota of what surrounds the current frame. Default 200.
    overhead: int
    #: Quota of the chunks on the heap that are shown verbatim. Default 1500.
    heap: int
    #: Quota of the finished children whose results the frame's conversation does not hold. Default 1000.
    children: int


class NamedTools(TypedDict, total=False):
    """The host's names of the agent's tools that texts mention.

    `prefix` stands before the default names (`stack_frame_push`, …), a text replaces a name as a whole, None means that
    the host has no such tool. Names have 1 to 64 characters, no control characters.
    """

    #: Before every default name, such as `mcp__callstack__`. Default: empty.
    prefix: str
    push: str | None
    pop: str | None
    activate: str | None
    planChildren: str | None
    invalidate: str | None
    details: str | None
    tree: str | None
    heapRead: str | None
    heapFree: str | None
    updateRegisters: str | None
    edit: str | None


ToolNames: TypeAlias = Literal["none"] | NamedTools
"""The host's names of the agent's tools. `none`: texts name no tools."""


class Settings(TypedDict, total=False):
    """Settings of contexts."""

    #: Limits on the size.
    budget: Budget
    #: Siblings with a lower relevance score are shown as stubs, while their quota has room; 0 to 100. Default 30.
    minimumRelevance: int
    #: Which finished children are shown. `forgotten`, the default: those whose results the frame's conversation does not
    #: hold (`Stack.deliver`, `Stack.forget`).
    finishedChildren: Literal["all", "forgotten", "none"]
    #: How much general advice the context contains. Default `full`.
    guidance: Literal["full", "brief", "none"]
    #: The form of the text. `cached`, the default: nothing before what is added changes, for prompt caches. `document`: the
    #: form of the specification, with the ID of the frame and the numbers of siblings in the opening tags.
    form: Literal["cached", "document"]
    #: The size of the heap, in characters, above which the agent is warned. Default 5000.
    heapCeiling: int
    #: The host's names of the agent's tools. Default: those of `Stack.tools()`.
    tools: ToolNames


class ReportChunk(TypedDict):
    """How much of a chunk is shown in a context."""

    name: str
    #: The frame that the chunk belongs to.
    handle: Handle
    #: `omitted`: nothing. `index`: its line in the index. `whole`: the whole text.
    shown: Literal["omitted", "index", "whole"]
    #: The cost of what is shown, in tokens.
    tokens: int


class ReportEntry(TypedDict):
    """How much of a frame is shown in a context."""

    handle: Handle
    #: The section that shows it, or would show it.
    section: Literal[
        "current-frame",
        "ancestors",
        "dependencies",
        "inherited-dependencies",
        "earlier-attempts",
        "ancestor-siblings",
        "completed-siblings",
        "finished-children",
        "planned-children",
    ]
    #: How much of it is shown, from nothing (`omitted`) to everything (`whole`: of a dependency, its results at length).
    detailLevel: Literal["omitted", "stub", "compact", "standard", "full", "whole"]
    #: The relevance to the current frame, 0 to 100.
    score: int
    #: The cost of what is shown, in tokens.
    tokens: int
    #: The path of the frame's log, if the context names it.
    log: NotRequired[str]
    #: Why the frame is omitted; absent if it is not.
    omission: NotRequired[Literal["irrelevant", "budget", "rank"]]


class Report(TypedDict):
    """Which frames and chunks were considered for a context, and how much of each is shown."""

    #: An upper bound of the tokens of the whole context. Never more than the total budget.
    tokens: int
    #: The frame of the context.
    handle: Handle
    #: An upper bound of the tokens of the stable part.
    stableTokens: int
    #: An upper bound of the tokens of the volatile part.
    volatileTokens: int
    #: Every frame that was considered.
    entries: list[ReportEntry]
    #: Every chunk that the frame sees; absent if there are none.
    chunks: NotRequired[list[ReportChunk]]


class OutlineOptions(TypedDict, total=False):
    """Options of `Stack.outline`."""

    #: `marked`: with branches and status marks (the default). `indented`: with indentation only.
    style: Literal["marked", "indented"]
    #: Show only this frame and the frames below it. Default: all frames.
    root: FrameRef
    #: The frame of the reader. It is marked instead of the active frame, if it is open. Default: the active frame.
    own: FrameRef
    #: Mark the active frame, or that of the reader, and name it below the frames. Default true.
    active: bool
    #: Whether criteria, results, artifacts and decisions are shown. Default false.
    details: bool
    #: The number of levels below the first. Default: all.
    depth: int
    #: The maximum length of a line, in characters; 0 means no limit. Default 120.
    width: int


# The stack as a whole.


class CacheStatistics(TypedDict):
    """Statistics of the cache of contexts."""

    hits: int
    misses: int
    entries: int


class MirrorStatus(TypedDict):
    """The files beside the database."""

    #: The revision in `state.json`.
    revision: int
    #: The number of frames whose files are out of date.
    staleFrames: int
    #: Why they could not be written; None if they could.
    error: str | None


class Repair(TypedDict):
    """A problem of the files or the state that a stack was opened with, and how it was repaired."""

    frame: str | None
    message: str


class StackInfo(TypedDict):
    """The state and the statistics of a stack."""

    #: The number of events so far.
    revision: int
    #: The number of frames.
    frames: int
    #: The active frame; None if there is none.
    active: Handle | None
    cache: CacheStatistics
    #: None if the stack has no such files.
    mirror: MirrorStatus | None
    repairs: list[Repair]


class StackState(TypedDict):
    """The whole tree in the layout of `state.json`."""

    #: The version of the layout: 1.
    version: int
    #: The number of events so far.
    revision: NotRequired[int]
    #: All frames, by ID.
    frames: dict[str, FrameRecord]
    #: The ID of the active frame.
    activeFrameID: NotRequired[str]
    #: The IDs of the roots.
    rootFrameIDs: list[str]
    #: When the tree last changed, in milliseconds since the Unix epoch.
    updatedAt: int


class EventQuery(TypedDict, total=False):
    """Selects events of a history."""

    #: Only events after this revision.
    since: int
    #: Only events up to this revision.
    until: int
    #: Only events of this frame.
    frame: FrameRef
    #: Only events of this kind.
    kind: EventKind
    #: At most this many events, the oldest ones.
    limit: int


class StackEvent(TypedDict):
    """A change to one frame."""

    #: The position in the history: 1 for the first event of a tree, then one more for each.
    revision: int
    #: In milliseconds since the Unix epoch.
    time: int
    handle: Handle
    #: The kind of the change. Which of the other keys an event has depends on it.
    kind: EventKind
    frame: NotRequired[FrameRecord]
    extra: NotRequired[dict[str, Any]]
    dependsOn: NotRequired[list[str]]
    identity: NotRequired[Identity]
    provisional: NotRequired[bool]
    status: NotRequired[FrameStatus]
    results: NotRequired[str]
    resultsCompacted: NotRequired[str]
    reason: NotRequired[str]
    sessionID: NotRequired[str]
    logPath: NotRequired[str]
    question: NotRequired[str]
    interruption: NotRequired[Literal[True]]
    answer: NotRequired[str]
    holder: NotRequired[Holder]
    release: NotRequired[Release]
    request: NotRequired[SummaryRequest]
    edit: NotRequired[FrameEdit]
    modelRequest: NotRequired[ModelRequest]
    artifact: NotRequired[str]
    decision: NotRequired[str]
    active: NotRequired[bool]
    chunk: NotRequired[Chunk]
    name: NotRequired[str]
    content: NotRequired[str]
    step: NotRequired[int]
    registers: NotRequired[dict[Register, str]]
    run: NotRequired[RunSettings]
    call: NotRequired[str]
    messages: NotRequired[list[RunMessage]]


LogQuery = TypedDict("LogQuery", {"from": int, "to": int, "search": str, "tail": int}, total=False)
"""Selects lines of a log: from the first line `from`, counted from 1, to the last line `to`, inclusive; only lines that
contain the text `search`, in upper or lower case; only the last `tail` of them."""


class LogLine(TypedDict):
    """A line of a log."""

    number: int
    entry: Any


class DamagedLine(TypedDict):
    """A line of a log that could not be read."""

    number: int
    message: str


class LogPage(TypedDict):
    """Lines of a log."""

    #: The selected lines, in order.
    lines: list[LogLine]
    #: The number of lines in the whole log.
    total: int
    #: The selected lines that could not be read.
    damaged: list[DamagedLine]


# Agents that manage their own memory.


class NewChunk(TypedDict):
    """A chunk to allocate."""

    #: The name: 1 to 100 characters on one line.
    name: str
    #: The text: up to 100,000 characters.
    content: str
    #: A short summary for the index: up to 300 characters on one line.
    description: NotRequired[str]


class RunSettings(TypedDict, total=False):
    """Settings of a run."""

    #: `heap`: the agent has a stack and a heap (the default). `registers`: it has registers too.
    memory: Literal["heap", "registers"]
    #: How many ancestors a frame may have. Default 5.
    maxDepth: int
    #: The size of the heap, in characters, above which the agent is warned. Default 5000.
    heapCeiling: int
    #: Whether the first message of a frame begins with the criteria of the frames above it and the results, artifacts and
    #: decisions of the finished frames beside it and them, and the agent can record artifacts and decisions and read the
    #: logs of frames. Default true.
    sharedResults: bool
    #: The maximum size of what a frame sees of others, in tokens. Default 1500.
    resultsBudget: int
    #: True: the system prompt has the rules alone, without examples and common mistakes. Default false.
    shortPrompt: bool


class NewRun(TypedDict):
    """A run to start."""

    #: The task of the agent.
    task: str
    settings: NotRequired[RunSettings]
    #: The title of the root frame. Default: the beginning of the task.
    title: NotRequired[str]
    #: The ID of the root frame. Default: a new ID.
    sessionID: NotRequired[str]
    #: The description of the agent's other tools, in Markdown: a section of the system prompt, up to 100,000 characters.
    #: It is kept with the run. By default there is none.
    tools: NotRequired[str]


class ToolCall(TypedDict):
    """A tool call of a model."""

    #: The ID of the call. Its answer names it.
    id: str
    #: The name of the tool.
    name: str
    #: The arguments as the model wrote them: the text of a JSON object, if the model followed the schema.
    arguments: str


class UserMessage(TypedDict):
    """A message of the user to a model."""

    role: Literal["user"]
    text: str


class AssistantMessage(TypedDict):
    """A message of a model."""

    role: Literal["assistant"]
    text: str
    calls: NotRequired[list[ToolCall]]


class ToolMessage(TypedDict):
    """The answer to a tool call of a model."""

    role: Literal["tool"]
    call: str
    name: str
    text: str
    isError: NotRequired[bool]


RunMessage: TypeAlias = UserMessage | AssistantMessage | ToolMessage
"""One message of a conversation with a model."""


class Reply(TypedDict, total=False):
    """A reply of a model."""

    #: The text. Default: empty.
    text: str
    #: The tool calls. Default: none.
    calls: list[ToolCall]
    #: Whether the provider has cut the reply at its maximum length. Its tool calls are not carried out. Default false.
    cut: bool


class NextAsk(TypedDict):
    """Send `system` and `messages` to the model and give its reply to `Stack.run_reply`."""

    next: Literal["ask"]
    #: The number of the step, counted from 1.
    step: int
    #: The current frame.
    frame: Handle
    #: The number of ancestors of the current frame.
    depth: int
    #: The system prompt. It never changes during a run.
    system: str
    #: The conversation of the current frame. The newest message ends with the memory: step, registers and heap. With
    #: `sharedResults` the first one begins with what the frame sees of others, unless it is the root.
    messages: list[RunMessage]


class NextCall(ToolCall):
    """Execute this tool call and give its answer to `Stack.run_answer`."""

    next: Literal["call"]


class NextOver(TypedDict):
    """Nothing is left to do: the root frame is finished."""

    next: Literal["over"]
    #: The status of the root frame.
    status: FrameStatus
    #: The results of the root frame.
    results: str


Next: TypeAlias = NextAsk | NextCall | NextOver
"""The next step of a run; `next` is its kind."""


class RunStatus(TypedDict):
    """The settings and the progress of a run."""

    #: The settings with which the run was started.
    settings: RunSettings
    #: How many times the model has replied.
    steps: int
    #: The current frame.
    frame: Handle
    #: The number of ancestors of the current frame.
    depth: int
    #: How many steps in a row, including the last one, made the same calls.
    repeats: int


# Hosts with sessions.


class SubagentSettings(TypedDict, total=False):
    """Which child sessions get frames, and when these are finished."""

    #: Whether child sessions get frames. Default true.
    enabled: bool
    #: How long a session without a matching title must exist, in milliseconds. Default 60,000.
    minDuration: int
    #: How many messages a session without a matching title must have. Default 3.
    minMessageCount: int
    #: Whether the frame of an idle subagent is finished. Default true.
    autoCompleteOnIdle: bool
    #: After how many idle milliseconds it is finished. Default 5000.
    idleCompletionDelay: int
    #: Whether requests of subagents get a context. Default true.
    injectParentContext: bool
    #: Whether the last message of a subagent becomes the results of its frame. Default true.
    propagateSummaries: bool
    #: Regular expressions, at most 20 with at most 200 characters each, without large repetitions. A session whose title
    #: matches one in its first 300 characters is a subagent.
    patterns: list[str]


class AutonomySettings(TypedDict, total=False):
    """Suggestions to the agent, and automatic actions."""

    #: `manual`: nothing. `suggest`: suggestions (the default). `auto`: actions, if the confidence is high enough.
    level: Literal["manual", "suggest", "auto"]
    #: The least confidence for a push, 0 to 100. Default 70.
    pushThreshold: int
    #: The least confidence for a pop, 0 to 100. Default 80.
    popThreshold: int
    #: Whether contexts show suggestions. Default true.
    suggestInContext: bool
    #: The names of the heuristics in use. Default: all seven.
    enabledHeuristics: list[str]


#: The key of :class:`CallSettings` that is a keyword of Python.
_CallPlace = TypedDict("_CallPlace", {"in": Literal["session", "conversation"]}, total=False)


class CallSettings(_CallPlace, total=False):
    """The work on pushed and activated frames.

    ``in`` says where it is done: ``"session"`` (the default), in a session of its own, while the caller waits; or
    ``"conversation"``, in the conversation of the caller, for hosts that :func:`~callstack_core.fold` requests. Frames in the
    background, and those that one message of the model begins beside another one, have sessions of their own nevertheless.
    """

    #: How many ancestors the frame of a call may have. Default 5.
    maxDepth: int
    #: After how many milliseconds a call is stopped; 0 (the default) means never.
    timeLimit: int
    #: How many called sessions work at the same time; others are queued. 0 means no limit. Default 4.
    maxConcurrent: int
    #: What each root that the host begins may do and spend, where the root has no limits of its own.
    limits: FrameLimits
    #: How long a host holds the frames of its calls after it was last heard of, in milliseconds. Default 20,000.
    lease: int


class HostSettings(TypedDict, total=False):
    """Settings of a host. They override the environment variables, which override the defaults."""

    #: The tools that the host offers to its agents, which `Stack.offered_tools` returns. `standard`: those that an agent
    #: needs to work (the default). `all`. Or a list of names; `standard` in a list stands for the standard tools. Texts
    #: for agents mention no others.
    tools: Literal["standard", "all"] | list[str]
    #: Settings of the contexts.
    context: Settings
    subagents: SubagentSettings
    autonomy: AutonomySettings
    calls: CallSettings


class SessionDescription(TypedDict):
    """What a host knows about a session."""

    title: str
    #: The session that made it.
    parentID: NotRequired[str | None]


class SessionMessage(TypedDict):
    """A message of a session."""

    #: The ID of the message.
    id: str
    #: The role of its author, such as `user`.
    role: str
    #: All its text parts, joined.
    text: str
    #: Whether the host marks it as the summary of a compaction. Default false.
    summary: NotRequired[bool]
    #: Whether it still changes, for example because the model writes it. Default false.
    unfinished: NotRequired[bool]
    #: When it began, in milliseconds since the epoch. If absent, the log has the time at which it was logged.
    time: NotRequired[int]
    #: All its parts as the host stores them, for the log.
    parts: NotRequired[list[Any]]


class FileWritten(TypedDict):
    """A tool has written or deleted a file."""

    kind: Literal["written", "deleted"]
    path: str


FileRenamed = TypedDict("FileRenamed", {"kind": Literal["renamed"], "from": str, "to": str})
"""A tool has renamed a file."""

FileChange: TypeAlias = FileWritten | FileRenamed
"""A change of a file by a tool."""


class SessionCreated(TypedDict):
    """A session was created."""

    kind: Literal["sessionCreated"]
    sessionID: str
    parentID: NotRequired[str | None]
    title: NotRequired[str]


class SessionUpdated(TypedDict):
    """A session has a new title."""

    kind: Literal["sessionUpdated"]
    sessionID: str
    title: str


class SessionNoted(TypedDict):
    """A session has ended its turn, was deleted, or the host is about to ask for its summary."""

    kind: Literal["sessionIdle", "sessionDeleted", "sessionCompacting"]
    sessionID: str


class SessionFailed(TypedDict):
    """A session met an error."""

    kind: Literal["sessionError"]
    sessionID: str
    message: str


class SessionRead(TypedDict):
    """A session was compacted, or its messages were read."""

    kind: Literal["sessionCompacted", "sessionMessages"]
    sessionID: str
    messages: list[SessionMessage]


class SessionSetBack(TypedDict):
    """A person may have set a session's conversation back to an earlier point, or has opened it again."""

    kind: Literal["sessionSetBack"]
    sessionID: str
    #: What the stack's tools have answered in it, also before it was compacted, oldest first.
    answers: list[str]
    #: What the person has written in it, oldest first: what is gone is no part of the task any more.
    asked: NotRequired[list[str]]


class MessageReceived(TypedDict):
    """A session has a new message."""

    kind: Literal["message"]
    sessionID: str
    messageID: str
    role: Literal["user", "assistant"]
    text: str
    #: When the message was begun, in milliseconds since the epoch: it says to which frame the message belongs if the
    #: conversation goes through several. Default: to the one in which it is now.
    time: NotRequired[int]
    #: The tokens in the session's context, as its model counted them.
    tokens: NotRequired[int]
    #: The size of the model's context window, in tokens.
    contextLimit: NotRequired[int]
    #: The request to the model that the message answers. It is recorded in the session's frame.
    request: NotRequired[ModelRequest]


class ModelRequested(TypedDict):
    """A request to a model that no message of the conversation answers.

    It has failed and is repeated, or is that for the summary of a compaction.
    """

    kind: Literal["modelRequested"]
    sessionID: str
    #: No message has it.
    requestID: str
    time: NotRequired[int]
    request: ModelRequest


class MessageFinished(TypedDict):
    """A message will not change any more. It is appended to the log of the session's frame."""

    kind: Literal["messageFinished"]
    sessionID: str
    message: SessionMessage


class ToolExecuted(TypedDict):
    """A tool of a session has ended."""

    kind: Literal["toolExecuted"]
    sessionID: str
    #: ID of the tool call. A repeated ID is ignored.
    toolCallID: NotRequired[str]
    tool: str
    #: The file with which the tool was called. It counts as written if the tool is known to write files.
    path: NotRequired[str]
    #: What the tool did to files, whatever its name is.
    changes: NotRequired[list[FileChange]]
    #: The command line that the tool has run in a shell: its redirections, `mv`, `rm` and the like count as changes of files.
    command: NotRequired[str]
    failed: NotRequired[bool]
    #: The child session in which the tool has worked, if it has waited for its end. Its frame ends.
    childID: NotRequired[str]
    #: The answer of that session; if the tool has failed, the error message.
    answer: NotRequired[str]


class CallStarted(TypedDict):
    """A session was created for a call."""

    kind: Literal["callStarted"]
    call: int
    sessionID: str


class CallEnded(TypedDict):
    """The session of a call has ended its turn."""

    kind: Literal["callEnded"]
    call: int
    error: NotRequired[str]


class CallAborted(TypedDict):
    """Nobody waits for the answer of a call any more."""

    kind: Literal["callAborted"]
    call: int


HostEvent: TypeAlias = (
    SessionCreated
    | SessionUpdated
    | SessionNoted
    | SessionFailed
    | SessionRead
    | SessionSetBack
    | MessageReceived
    | ModelRequested
    | MessageFinished
    | ToolExecuted
    | CallStarted
    | CallEnded
    | CallAborted
)
"""An event of a host. Events may be reported twice and in any order."""


class LogEffect(TypedDict):
    """Write a line to the log of the host. `data` is for the log only; its keys depend on the message."""

    kind: Literal["log"]
    level: Literal["debug", "info", "warn"]
    message: str
    data: dict[str, Any]


class SessionEffect(TypedDict):
    """`describeSession`: report `sessionCreated`, or `sessionDeleted` if the session does not exist.

    `readMessages`: report `sessionMessages`, without messages if the session does not exist. `abortSession`: abort the
    session. `compactSession`: compact the session, and report `sessionCompacted`, without messages if it failed.
    """

    kind: Literal["describeSession", "readMessages", "abortSession", "compactSession"]
    sessionID: str


class CreateSessionEffect(TypedDict):
    """Create a session. Report `callStarted`, or `callEnded` with an error."""

    kind: Literal["createSession"]
    call: int
    parentID: str
    title: str


class PromptEffect(TypedDict):
    """Prompt the session with the model of the session `callerID`, wait for the end, and report `callEnded`."""

    kind: Literal["prompt"]
    call: int
    sessionID: str
    callerID: str
    text: str


class AnswerEffect(TypedDict):
    """Answer the tool call that waits for `call`."""

    kind: Literal["answer"]
    call: int
    text: str
    #: One line for people: what the call was about, and what became of that.
    title: str
    #: The frames that the call has popped, or for whose ends it has waited.
    ended: list[Handle]


class CompactionPromptEffect(TypedDict):
    """Add the text to the prompt that asks for the summary."""

    kind: Literal["compactionPrompt"]
    sessionID: str
    text: str


Effect: TypeAlias = (
    LogEffect | SessionEffect | CreateSessionEffect | PromptEffect | AnswerEffect | CompactionPromptEffect
)
"""Something that the host must do; `kind` says what."""


class Tool(TypedDict):
    """A tool, as hosts register it."""

    #: The name that `Stack.tool` takes.
    name: str
    #: The group that the tool belongs to, for documentation.
    group: Literal["frames", "planning", "context", "compaction", "subagents", "autonomy"]
    #: The description for the model.
    description: str
    #: The parameters: JSON Schema of an object.
    parameters: dict[str, Any]
    #: An example of valid arguments.
    example: dict[str, Any]


class ToolAnswer(TypedDict):
    """The answer to a tool call of an agent."""

    #: The text of the answer. If it is absent, an effect `answer` brings it later.
    text: NotRequired[str]
    #: One line for people: what the call was about, and what became of that. Empty if its arguments say it, or if the
    #: answer comes later.
    title: str
    #: The frames that the call has popped, or for whose ends it has waited.
    ended: list[Handle]
    #: The number of a call that is answered later. Report `callAborted` if nobody waits for it any more.
    call: NotRequired[int]
    #: Whether the text explains why nothing was done.
    isError: bool
    #: The effects that the host must carry out, in order.
    effects: list[Effect]


class VisibleChunk(TypedDict):
    """A chunk that a frame sees, and the frame that it belongs to."""

    handle: Handle
    chunk: Chunk


class SessionContext(TypedDict):
    """The context of a session, in two parts."""

    #: For the system prompt. It keeps its bytes until a frame is pushed, popped or invalidated.
    stable: str
    #: For this request only: put it after the newest message.
    volatile: str
