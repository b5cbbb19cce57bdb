"""The records of the API.

Records are dictionaries. Their keys have the same names as in the documented files, in C and in JavaScript. A frame or a
state that was imported from a file can have more keys than declared; the stack keeps them.

Generated from api.json: `make api` renews it. Do not edit it.
"""

from __future__ import annotations

import sys
from typing import Any, Literal, TypeAlias, TypedDict, Union

if sys.version_info >= (3, 11):
    from typing import NotRequired
else:
    from typing_extensions import NotRequired


class Actor(TypedDict):
    """Who gives commands: a hold, or the kind and the name of an actor."""

    #: The kind.
    kind: HolderKind

    #: The name.
    name: str

    #: The session or conversation for which the actor works.
    caller: NotRequired[str]

    #: Of a hold: its generation.
    generation: NotRequired[int]

    #: Of a hold: its frame.
    handle: NotRequired[Handle]

    #: True: what the actor begins is the task of a subagent whose name is not known yet.
    handsOver: NotRequired[bool]

    #: True: the actor may end and begin what a person or a conversation holds.
    takesOver: NotRequired[bool]

    #: Of a hold: its tries. Ignored.
    tries: NotRequired[int]

    #: Of a hold: the end of its lease. Ignored.
    until: NotRequired[int]


class Allowance(TypedDict):
    """What a frame may do and spend now, with the limits of all frames above it."""

    #: The frame.
    frame: Handle

    #: What may still be spent, in millionths of a US dollar.
    maxCostMicroUsd: NotRequired[int]

    #: Tokens that may still be used.
    maxTokens: NotRequired[int]

    #: Turns of the model in one prompt.
    maxTurns: NotRequired[int]

    #: The model.
    model: NotRequired[str]

    #: The tools besides those of the stack.
    tools: NotRequired[list[str]]


class AutonomySettings(TypedDict):
    """The settings of autonomy (specification, "Agent Autonomy")."""

    #: The enabled heuristics. Their order does not matter. Default all.
    enabledHeuristics: NotRequired[list[Heuristic]]

    #: The level. Default `suggest`.
    level: NotRequired[AutonomyLevel]

    #: Minimum confidence for the recommendation of a pop, from 0 to 100. Default 80.
    popThreshold: NotRequired[int]

    #: Minimum confidence for the recommendation of a push, from 0 to 100. Default 70.
    pushThreshold: NotRequired[int]

    #: Whether contexts show the pending suggestions to the agent. Default true.
    suggestInContext: NotRequired[bool]


class Block(TypedDict):
    """What a blocked frame waits for."""

    #: What the frame needs, and who can give it. Empty: the results say it.
    question: str

    #: The results so far, in full. Default: the frame keeps the results that it has.
    results: NotRequired[str]

    #: A short form of the results. Default: the full results are used.
    resultsCompacted: NotRequired[str]


class Budget(TypedDict):
    """Budgets in tokens and bytes (specification, "Token Budget Configuration").

    A context never exceeds `total` tokens and `bytes` bytes. The other budgets are quotas that divide it:
    `ancestors`, `siblings`, `heap` and `children` limit the space of these sections until the rest of the
    total is distributed; `current` + `overhead` are reserved for the volatile part, so that it can change
    without changing the stable part.
    """

    #: Quota of the ancestors, in tokens. Default 1500.
    ancestors: NotRequired[int]

    #: Maximum number of bytes of a context, of `xml` and of `stable` plus `volatile`. Absent, the default:
    #: six bytes for each token of `total`, which leaves all prose room.
    #:
    #: No model that reads bytes makes more tokens than bytes, so this cap holds for every tokenizer, while
    #: `total` is as exact as the token counter. With `o200k`, texts in Greek, Cyrillic or Indic letters have
    #: up to ten bytes a token, so a larger cap in bytes shows more of them.
    bytes: NotRequired[int]

    #: Quota of the finished children whose results the frame's conversation does not hold, in tokens. Default
    #: 1000.
    children: NotRequired[int]

    #: Quota of the current frame, in tokens. Default 800.
    current: NotRequired[int]

    #: Quota of the chunks on the heap that are shown verbatim, in tokens. More chunks are shown verbatim if
    #: the total has room left after everything else. Default 1500.
    heap: NotRequired[int]

    #: Quota of the elements around the current frame, in tokens: position, next action, planned children.
    #: Default 200.
    overhead: NotRequired[int]

    #: Quota of the finished siblings of the frame and of its ancestors, and of the dependencies, in tokens.
    #: The quota of the earlier attempts is half as much. Default 1500.
    siblings: NotRequired[int]

    #: Maximum number of tokens of a context. Default 4000.
    total: NotRequired[int]


class CacheStatistics(TypedDict):
    """Statistics of the context cache since the stack was opened."""

    #: Number of contexts in the cache now, including expired ones that are not replaced yet.
    entries: int

    #: Number of requests for which the cache had a current context. A request also counts as a hit if the
    #: context is then assembled again because a log that it names no longer exists.
    hits: int

    #: Number of requests for which the cache had no current context.
    misses: int


_CallSettingsWords = TypedDict("_CallSettingsWords", {"in": "NotRequired[CallPlace]"})


class CallSettings(_CallSettingsWords):
    """The settings of calls."""

    #: How long a host holds the frames of its calls after its last sign of activity, in milliseconds, at most
    #: a day. After that time the frames count as interrupted, and other hosts can resume them. At an event, a
    #: tool call or a poll, the host renews the lease when half of it is over. Default 20,000.
    lease: NotRequired[int]

    #: What each root that the host begins may do and spend, if the root has no limits of its own. Default: no
    #: limits.
    limits: NotRequired[FrameLimits]

    #: Maximum number of called sessions that work at the same time. A session that waits for other calls does
    #: not work. Further calls are queued, and begin in their order. 0: no limit. Default 4.
    maxConcurrent: NotRequired[int]

    #: Maximum number of ancestors of a called frame. Default 5.
    maxDepth: NotRequired[int]

    #: Default time limit of a call, in milliseconds, from the beginning of its work. At the limit the call is
    #: aborted and salvaged. 0: no limit. Default 0.
    timeLimit: NotRequired[int]


class Checksums(TypedDict):
    """Checksums of what the file of a plan said of a frame.

    Each is less than 2^53. It is 0, and absent in JSON, for a value that the file does not have.
    """

    #: Of the name of the assignee.
    assignee: NotRequired[int]

    #: Of the success criteria.
    criteria: NotRequired[int]

    #: Of the IDs of the frames that it depends on.
    dependsOn: NotRequired[int]

    #: Of the labels.
    labels: NotRequired[int]

    #: Of the ID of its parent; 0 at the top of the plan.
    parent: NotRequired[int]

    #: Of the priority.
    priority: NotRequired[int]

    #: Of the results.
    results: NotRequired[int]

    #: Of the full instruction.
    task: NotRequired[int]

    #: Of the title.
    title: NotRequired[int]

    #: Of what it waits for.
    wait: NotRequired[int]


class Chunk(TypedDict):
    """A named text on the heap of a frame.

    It is visible in the frame and in all frames below it until it is freed.
    """

    #: Time of the allocation, in milliseconds since the Unix epoch.
    allocatedAt: int

    #: The text, verbatim.
    content: str

    #: The name, unique among the chunks that a frame sees.
    name: str

    #: Time of the last write, in milliseconds since the Unix epoch.
    writtenAt: int

    #: The step of the run in which the chunk was allocated; 0 outside runs.
    allocatedStep: NotRequired[int]

    #: A short summary for the index of the heap. Empty: no summary.
    description: NotRequired[str]

    #: The step of the run in which the chunk was last written; 0 outside runs.
    writtenStep: NotRequired[int]


class ChunkContent(TypedDict):
    """The new content of a chunk."""

    #: The new text, up to 100,000 characters.
    content: str

    #: The name of the chunk.
    name: str


class ChunkEntry(TypedDict):
    """The result for one chunk that the frame sees."""

    #: The frame that owns the chunk.
    handle: Handle

    #: The chunk's name.
    name: str

    #: How much of the chunk is shown.
    shown: Shown

    #: The cost of showing the chunk, in tokens; 0 if it is omitted.
    tokens: int


class CompactionLimits(TypedDict):
    """Which finished trees lose their events."""

    #: Trees in which nothing is unfinished and whose last event is older than this time, in milliseconds
    #: since the Unix epoch.
    before: int


class Completion(TypedDict):
    """How a frame is completed."""

    #: The results in full.
    results: str

    #: The planned frame that begins in the same command. Default: none.
    next: NotRequired[FrameRef]

    #: A short form for the contexts of other frames. Default: the full results are used.
    resultsCompacted: NotRequired[str]


class ContextReport(TypedDict):
    """The report of a context, with its tokens."""

    #: All considered frames: the current frame, its first 256 planned children, its ancestors from the parent
    #: to the root, its finished dependencies, and its finished siblings in the order of the XML. Of the
    #: siblings that had finished when the frame began, all are considered up to 256; of more, the best 96 of
    #: those that look relevant. Of the siblings that finish later, the first 128 are considered, so that the
    #: stable part keeps its bytes. The context counts the others.
    entries: list[Entry]

    #: The current frame, that is, the frame whose context this is.
    handle: Handle

    #: Upper bound of the number of tokens of the stable part.
    stableTokens: int

    #: An upper bound of the number of tokens of `xml`, and of `stable` and `changing` together.
    tokens: int

    #: Upper bound of the number of tokens of the volatile part.
    volatileTokens: int

    #: All chunks that the frame sees, in the order of the XML.
    chunks: NotRequired[list[ChunkEntry]]


class ConversationCost(TypedDict):
    """The cost of a conversation of a frame so far."""

    #: The ID of the conversation: the conversation of the frame's session, or another one in which the host
    #: has requested a summary.
    conversation: str

    #: The cost of all its requests so far, in millionths of a US dollar.
    costMicroUsd: int

    #: The weight of the frame's requests at that time: `weight` of `ModelUsage` of all models. The cost of
    #: later requests is estimated.
    weight: int


class Entry(TypedDict):
    """The result for one frame that was considered for a context."""

    #: How much of the frame is shown.
    detailLevel: DetailLevel

    #: The frame.
    handle: Handle

    #: The relevance of the frame to the current frame, from 0 to 100.
    score: float

    #: The section in which the frame is shown, or would be shown if it were not omitted.
    section: Section

    #: The cost of showing the frame, in tokens; 0 if it is omitted.
    tokens: int

    #: The path of the current frame's log, if the context names it.
    log: NotRequired[str]

    #: The reason why the frame is omitted. Absent if it is shown.
    omission: NotRequired[Omission]


class EventQuery(TypedDict):
    """Selects events of a history."""

    #: Only events of this frame.
    frame: NotRequired[FrameRef]

    #: Only events of this kind, such as `decisionAdded`.
    kind: NotRequired[EventKind]

    #: At most this number of events, the oldest ones.
    limit: NotRequired[int]

    #: Only events after this revision. Default 0.
    since: NotRequired[int]

    #: Only events up to this revision. Default: all.
    until: NotRequired[int]


class Finished(TypedDict):
    """How the work on a frame has ended."""

    #: The status of the frame: in_progress if it was put back.
    status: FrameStatus

    #: The time before which no worker gets the frame, if it was put back, in milliseconds since the Unix
    #: epoch.
    until: NotRequired[int]


class FinishedTrees(TypedDict):
    """How many finished trees a `state.json` leaves out.

    Their frames are in the folder `frames`, a file each.
    """

    #: Number of their frames.
    frames: int

    #: Number of the trees.
    roots: int


class FoldReport(TypedDict):
    """What was folded in a request."""

    #: The stretches that are gone, in the order of their beginnings. What was pushed and popped within a
    #: stretch is not listed.
    stretches: list[FoldedStretch]

    #: The turns that are folded. Turns that were folded at once are one element.
    turns: list[FoldedTurns]


class FoldSettings(TypedDict):
    """What `fold` may assume and do."""

    #: How an agent reads all of a finished frame; `{frame}` stands for its handle. Default (`null`): a call
    #: of the tool that shows a frame. With an empty text, nothing is said.
    pointer: NotRequired[Union[str, None]]

    #: The name under which the host knows the MCP server. Default: `callstack`. Hosts write it into the names
    #: of tools, as in `mcp__callstack__push`.
    server: NotRequired[str]

    #: The host's names of the tools, if they are neither the library's own names nor those of the MCP server.
    tools: NotRequired[ToolNames]

    #: Also fold the turns of a conversation before its first frame. Default (`null`): no.
    turns: NotRequired[Union[TurnSettings, None]]


class FoldedStretch(TypedDict):
    """A stretch of a conversation that is gone."""

    #: Their length, in bytes.
    bytes: int

    #: The frame.
    frame: Handle

    #: Number of items that are gone: texts, thoughts, calls and outcomes.
    items: int

    #: Length of the text that stands for them, in bytes.
    returned: int

    #: How the frame has ended.
    status: FoldedStatus

    #: Their length in tokens, estimated by `approx` from samples.
    tokens: int


class FoldedTurns(TypedDict):
    """Turns of a conversation that were folded at once."""

    #: Their length, in bytes.
    bytes: int

    #: Number of items that are gone: texts, thoughts, calls and outcomes.
    items: int

    #: Their length in tokens, estimated by `approx` from samples.
    tokens: int

    #: Number of turns.
    turns: int


class FrameBefore(TypedDict):
    """What a frame was before a command: the part that the command has changed."""

    #: The frame.
    frame: Handle

    #: The edit that gives the frame its former place and dependencies back.
    edit: NotRequired[FrameEdit]

    #: Keys of the frame's record with the values that they had before the command; null for a key that it did
    #: not have. Entries are only added to `artifacts` and `decisions`, so these keys have the number of their
    #: entries as value.
    values: NotRequired[dict[str, Any]]


class FrameEdit(TypedDict):
    """The changes of a frame.

    A field that is absent (in JSON a missing key) keeps its value. In a frame that has begun, only a person
    can change something, and only its words (title, criteria, task) and its priority, labels and assignee.

    `"priority": null` gives the frame the priority of the frame above it. `"assignee": null` leaves the frame
    to any person or agent. `"parent": null` makes the frame a root. `"before": null` makes it the last one of
    its siblings.
    """

    #: The person or agent that does the work from now on; null: any person or agent.
    assignee: NotRequired[Union[str, None]]

    #: The sibling before which the frame moves; null makes it the last one.
    before: NotRequired[Union[FrameRef, None]]

    #: All frames whose results the frame needs. They replace the present ones.
    dependsOn: NotRequired[list[FrameRef]]

    #: The new labels. They replace the present ones (`labels` of `Frame`).
    labels: NotRequired[list[str]]

    #: The new parent; null makes the frame a root. The frames below the frame move with it. The frame becomes
    #: the last child unless `before` of `FrameEdit` says otherwise.
    parent: NotRequired[Union[FrameRef, None]]

    #: The new priority; null: the priority of the frame above.
    priority: NotRequired[Union[Priority, None]]

    #: The new success criteria.
    successCriteria: NotRequired[str]

    #: The new compacted success criteria.
    successCriteriaCompacted: NotRequired[str]

    #: The new full instruction (`task` of `Frame`).
    task: NotRequired[str]

    #: The new title. It must not be blank.
    title: NotRequired[str]


class FrameLimits(TypedDict):
    """Limits of a frame.

    If a frame has no limit of its own for its model, its tools or its turns, the limit of the nearest frame
    above applies. The limits of tokens and costs apply to the frame and all frames below it together.
    """

    #: The cost that is allowed, in millionths of a US dollar.
    maxCostMicroUsd: NotRequired[int]

    #: Tokens of all requests, of prompts and answers together.
    maxTokens: NotRequired[int]

    #: Turns of the model in one prompt of the session.
    maxTurns: NotRequired[int]

    #: The host's name of the model of the frame.
    model: NotRequired[str]

    #: The host's names of the tools in addition to those of the stack: at most the tools of the frames above.
    #: The name of a server, `mcp__shop`, stands for all tools of this server, `mcp__shop__…`.
    tools: NotRequired[list[str]]


class FrameQuery(TypedDict):
    """Selects frames."""

    #: The frame of the relation, for `ancestors`, `children`, `siblings` and `subtree`.
    frame: NotRequired[FrameRef]

    #: How the frames are selected. Default: `"all"`.
    relation: NotRequired[Relation]

    #: Only frames with this status.
    status: NotRequired[FrameStatus]


class FrameRecord(TypedDict):
    """The complete record of a frame, with the JSON names of the specification (`FrameMetadata` in its
    implementation document).

    Times are in milliseconds since the Unix epoch. Keys that the specification does not have (`task`,
    `priority`, `labels`, `assignee`, `correctedAt`, `begunAt`, `dependsOn`, `placeholder`, `deliveredAt`,
    `forgottenAt`, `questions`, `holder`, `summaryRequest`, `usage`, `limits`, `costs`, `heap`, `registers`,
    `retryOf`, `childOrder`, `noWork`, `origin`) are omitted when empty; keys that this version does not know
    are kept in `extra` of `Frame` and written back.
    """

    #: Files and other resources that the work produced, without duplicates.
    artifacts: list[str]

    #: Time of creation, in milliseconds since the Unix epoch.
    createdAt: int

    #: Decisions made during the work, oldest first.
    decisions: list[str]

    #: The frame's ID: the ID of the host's session, or `plan-…` until a planned frame gets a session.
    sessionID: str

    #: The status. Default `planned`.
    status: FrameStatus

    #: Success criteria: checkable conditions for the completion of the frame.
    successCriteria: str

    #: Compacted success criteria, for prompts. Empty: prompts use the full criteria.
    successCriteriaCompacted: str

    #: Short name, two to five words.
    title: str

    #: Time of the last change, in milliseconds since the Unix epoch.
    updatedAt: int

    #: The person or agent that does the work. Workers of other names leave the frame to them. Contexts do not
    #: show it.
    assignee: NotRequired[str]

    #: Time at which the frame was begun, in milliseconds since the Unix epoch, if it was planned before.
    #: Other frames were begun when they were created.
    begunAt: NotRequired[int]

    #: IDs of all children in their order, if that is not the order of their creation. Derived from the tree.
    childOrder: NotRequired[list[str]]

    #: Time at which a person has corrected the words of the frame while it was open, in milliseconds since
    #: the Unix epoch. Conversations may still hold the earlier words.
    correctedAt: NotRequired[int]

    #: The costs of the frame's conversations, if their host tells costs of conversations. Costs of requests
    #: are in `usage`.
    costs: NotRequired[list[ConversationCost]]

    #: Time at which the conversation of the parent received the results of this frame, in milliseconds since
    #: the Unix epoch. Absent if that is not known: then the context of the parent shows the results.
    deliveredAt: NotRequired[int]

    #: IDs of the frames whose results this frame needs.
    dependsOn: NotRequired[list[str]]

    #: Time at which the frame's own conversation was compacted or started again, in milliseconds since the
    #: Unix epoch. The conversation holds only those results of children that were delivered after this time.
    forgottenAt: NotRequired[int]

    #: The frame's own chunks on the heap, in order of allocation.
    heap: NotRequired[list[Chunk]]

    #: Who works on the frame, or worked on it last: then it says how the frame was let go. Absent if the
    #: frame never had a holder: it was begun by hand, or not at all.
    holder: NotRequired[Holder]

    #: Time of the invalidation, in milliseconds since the Unix epoch.
    invalidatedAt: NotRequired[int]

    #: Reason for the invalidation, if the frame was invalidated.
    invalidationReason: NotRequired[str]

    #: Words of a team for the frame, such as `backend`, by which lists are filtered. At most 50, each at most
    #: 100 characters. Contexts do not show them.
    labels: NotRequired[list[str]]

    #: What the frame may do and spend. Absent: what the frame above it may do and spend.
    limits: NotRequired[FrameLimits]

    #: Path of the frame's full log, if there is one: relative to the stack's folder or absolute.
    logPath: NotRequired[str]

    #: What the frame is if it is not work, in a word: a record of another tool that is kept for what it says
    #: (`message`), or a frame that only holds other frames together (`tag`). No actor begins such a frame. If
    #: it has parts, or depends on other frames, it is completed when these are completed.
    noWork: NotRequired[str]

    #: What the file said of the frame when it was imported. Absent for frames that were made here.
    origin: NotRequired[Origin]

    #: ID of the parent; absent for a root.
    parentSessionID: NotRequired[str]

    #: True if the frame was created only because its session appeared, and no call has set its title and
    #: criteria for good. Until then they follow the session's title and what the person writes.
    placeholder: NotRequired[bool]

    #: IDs of the children that are still planned. Derived from the tree. As in the files of the original
    #: plugin, a planned frame has the key even if the list is empty; other frames omit an empty list.
    plannedChildren: NotRequired[list[str]]

    #: How urgent the frame is. Absent: as urgent as the frame above it.
    priority: NotRequired[Priority]

    #: What the frame has waited for, with the answers, oldest first. The last one is open while the frame is
    #: blocked. A blocked frame without questions waits for what its results say.
    questions: NotRequired[list[Question]]

    #: The frame's registers, if it uses any.
    registers: NotRequired[Registers]

    #: Full results: a description of the achieved work.
    results: NotRequired[str]

    #: Compacted results, for the prompts of parents and siblings.
    resultsCompacted: NotRequired[str]

    #: ID of the attempt before this one, if this frame is a retry: that attempt is a sibling that has failed.
    retryOf: NotRequired[str]

    #: The summary that was requested of the frame's conversation.
    summaryRequest: NotRequired[SummaryRequest]

    #: The full instruction: what is to be done, what is known, what is to be returned. At most 100000
    #: characters. The frame's own context shows it, and the prompt for its session; contexts of other frames
    #: do not.
    task: NotRequired[str]

    #: The frame's own requests to models: their sums, an entry for each model.
    usage: NotRequired[list[ModelUsage]]


class FrameUsage(TypedDict):
    """The requests of a frame, and the requests of the frame and everything below it, with an entry for each
    model.

    The costs of these requests too, as far as hosts have told them.
    """

    #: The requests of the frame itself.
    own: list[ModelUsage]

    #: The cost of the frame itself, in millionths of a US dollar: the cost that was told, and an estimate for
    #: the requests since then.
    ownCostMicroUsd: int

    #: The requests of the frame and of all frames below it.
    total: list[ModelUsage]

    #: The cost of the frame and all frames below it.
    totalCostMicroUsd: int


class HistoryCompaction(TypedDict):
    """What `compact_history` has done."""

    #: Size of the database with its write-ahead log afterwards, in bytes.
    bytesAfter: int

    #: Size of the database with its write-ahead log before, in bytes.
    bytesBefore: int

    #: Number of events that were removed.
    events: int

    #: Number of trees whose events were removed.
    trees: int


class Hold(TypedDict):
    """A frame with its holder.

    The holder proves with it that the frame is still its own.
    """

    #: The generation: see `generation` of `Holder`.
    generation: int

    #: The frame.
    handle: Handle

    #: The kind of the holder.
    kind: HolderKind

    #: The name of the holder.
    name: str

    #: How often the frame was begun without an end: see `tries` of `Holder`.
    tries: int

    #: The end of the lease, in milliseconds since the Unix epoch.
    until: int


class Holder(TypedDict):
    """Who works on a frame, or worked on it last."""

    #: The number of this holder among the holders of the frame, counted from 1. An actor with an older
    #: generation has lost the frame.
    generation: int

    #: The kind.
    kind: HolderKind

    #: The name: for a worker the name that it gave, for a host an ID that each open stack has for itself, for
    #: a conversation its ID. Empty for a person or program that has taken the frame in hand and has given no
    #: name.
    name: str

    #: The time since which the holder has the frame, in milliseconds since the Unix epoch.
    since: int

    #: The advice that the holder was given once: `push`, `pop`. It is not given the same advice again.
    advised: NotRequired[list[str]]

    #: The session or conversation that has given the frame to the holder; for a call, the calling session.
    #: Empty: none.
    caller: NotRequired[str]

    #: How often workers have put the frame back, since it was planned or last answered.
    putBacks: NotRequired[int]

    #: How the holder has let the frame go. Absent: the holder still has it.
    released: NotRequired[Released]

    #: True: the holder was told once that the frame is still in progress.
    reminded: NotRequired[bool]

    #: A fingerprint of the volatile part of the context that a conversation was told last. The conversation
    #: is not told the same text again. Empty: none.
    told: NotRequired[str]

    #: How often workers have begun the frame and have not ended it, this time included, since it was planned
    #: or last answered. A time after which the frame was put back or let go does not count.
    tries: NotRequired[int]

    #: The end of the lease, in milliseconds since the Unix epoch, unless it is renewed before. Absent: there
    #: is no lease.
    until: NotRequired[int]


class HostSettings(TypedDict):
    """All settings of a stack with a host."""

    #: Suggestions, and pops without a request.
    autonomy: NotRequired[AutonomySettings]

    #: Maximum depth and time limit of calls.
    calls: NotRequired[CallSettings]

    #: Settings of the contexts of sessions. Its `tools` are the names of all tools; texts mention those of
    #: the offered ones.
    context: NotRequired[Settings]

    #: Subagents: which child sessions get frames, and when these frames are completed.
    subagents: NotRequired[SubagentSettings]

    #: The tools that the host offers to its agents. Default: those that an agent needs to work.
    tools: NotRequired[ToolSet]


class Identity(TypedDict):
    """The title and the criteria of a frame."""

    #: Short name, two to five words.
    title: str

    #: The conditions that hold when the frame is done.
    successCriteria: NotRequired[str]

    #: A short form of the criteria, for contexts. Default: the full criteria are used.
    successCriteriaCompacted: NotRequired[str]


class Imported(TypedDict):
    """The answer of an import."""

    #: The frames that were imported before and have changed.
    changes: list[PlanChange]

    #: The fields on which the stack and the file differ. They keep the values of the stack.
    conflicts: list[PlanConflict]

    #: The new frames.
    handles: list[Handle]

    #: The parts of the plan that could not be read or did not fit. They were left out or changed.
    problems: list[Problem]

    #: Number of frames that were imported before and have not changed.
    unchanged: int


class Invalidated(TypedDict):
    """The result of `invalidate`."""

    #: Unfinished frames that depend on one of the invalidated frames.
    dependents: list[Handle]

    #: The invalidated frames: the frame itself, then the planned frames below it.
    invalidated: list[Handle]

    #: Frames below it that are still in_progress or blocked. The command did not change them.
    stillOpen: list[Handle]


class LogDamage(TypedDict):
    """A line of a log that is not a complete JSON value."""

    #: Description of the damage.
    message: str

    #: Number of the line in the file, counted from 1.
    number: int


class LogLimits(TypedDict):
    """Which logs `prune_logs` removes."""

    #: The logs to which nothing was appended since this time, in milliseconds since the Unix epoch. Default:
    #: their age does not count.
    before: NotRequired[int]

    #: The oldest logs, until all logs together have at most this size in bytes. Default: their size does not
    #: count.
    bytes: NotRequired[int]


class LogLine(TypedDict):
    """One line of a log."""

    #: The JSON value of the line.
    entry: Any

    #: Number of the line in the file, counted from 1.
    number: int


class LogPage(TypedDict):
    """The lines of a log that a `LogQuery` selects."""

    #: The lines of the selected range that are not readable, with the reason; at most 1000.
    damaged: list[LogDamage]

    #: The selected lines, in the order of the file.
    lines: list[LogLine]

    #: Number of lines in the log, including damaged ones and those that are not selected.
    total: int


_LogQueryWords = TypedDict("_LogQueryWords", {"from": "NotRequired[int]"})


class LogQuery(_LogQueryWords):
    """A filter for the lines of a log.

    The default selects all lines.
    """

    #: Selects only lines that contain this text in a key or a value, ignoring case. Default absent.
    search: NotRequired[str]

    #: Maximum number of lines: the last ones of those that match the other filters. Default: no limit.
    tail: NotRequired[int]

    #: The last line of the range, inclusive. Default: up to the end of the log.
    to: NotRequired[int]


class MemoryOptions(TypedDict):
    """Options of a stack in memory."""

    #: How tokens are counted: as in `StackOptions`.
    counter: NotRequired[Literal["approx", "chars4", "o200k"]]

    #: Whether the stack keeps its events for `history`, as stacks in folders do. Default false.
    history: NotRequired[bool]


class MirrorStatus(TypedDict):
    """The status of the mirror, that is, of the files next to the store."""

    #: The error of the last write, or null if it succeeded. The write is repeated, at the latest by `flush`.
    error: Union[str, None]

    #: The revision of the last `state.json` that this process knows.
    revision: int

    #: Number of frames whose files are out of date, as far as this process knows.
    staleFrames: int


class Missed(TypedDict):
    """A result that the conversation of a frame does not have: its child has ended after the work on the frame
    was interrupted.
    """

    #: Its child, which is completed or failed.
    child: Handle

    #: The frame.
    frame: Handle


class ModelRequest(TypedDict):
    """One request to a model, as the host reports it.

    Numbers of tokens are those that the model's provider counts.

    The three numbers of the prompt do not overlap, and `output` does not contain `reasoning`: the prompt has
    `uncachedInput + cacheRead + cacheWrite` tokens, the answer `output + reasoning`.
    """

    #: Prompt tokens that were read from the provider's cache.
    cacheRead: NotRequired[int]

    #: Prompt tokens that were written to the provider's cache.
    cacheWrite: NotRequired[int]

    #: Prompt tokens that were written to the provider's cache and that it keeps for an hour. They are also
    #: counted in `cacheWrite`. Some providers have a separate price for these tokens.
    cacheWriteHour: NotRequired[int]

    #: The cost of the request, in millionths of a US dollar. 0: the host does not know it. A record that has
    #: nothing but a cost is not a request: it adds to the costs.
    costMicroUsd: NotRequired[int]

    #: Time from the request to the end of its answer, in milliseconds.
    duration: NotRequired[int]

    #: True if the request had no answer that could be used. Its tokens are counted nevertheless.
    failed: NotRequired[bool]

    #: Number of messages in the prompt.
    messages: NotRequired[int]

    #: The host's name of the model. Empty: it is not known.
    model: NotRequired[str]

    #: Tokens of the answer, without those of reasoning.
    output: NotRequired[int]

    #: Tokens of reasoning.
    reasoning: NotRequired[int]

    #: Prompt tokens that were neither read from a cache nor written to it.
    uncachedInput: NotRequired[int]


class ModelUsage(TypedDict):
    """The sums of requests to one model."""

    #: Prompt tokens that were read from the provider's cache.
    cacheRead: int

    #: Prompt tokens that were written to the provider's cache.
    cacheWrite: int

    #: Time of all requests, in milliseconds. If requests ran at the same time, the time of each of them
    #: counts.
    duration: int

    #: Number of failed requests.
    failed: int

    #: The host's name of the model. Empty: it is not known.
    model: str

    #: Tokens of the answers, without those of reasoning.
    output: int

    #: Tokens of reasoning.
    reasoning: int

    #: Number of requests, failed ones among them.
    requests: int

    #: Prompt tokens that were neither read from a cache nor written to it.
    uncachedInput: int

    #: Prompt tokens that were written to the provider's cache and that it keeps for an hour. They are also
    #: counted in `cacheWrite`. Some providers have a separate price for these tokens.
    cacheWriteHour: NotRequired[int]

    #: The cost of the requests, in millionths of a US dollar, as far as the host has told it.
    costMicroUsd: NotRequired[int]


class NewChunk(TypedDict):
    """The parameters of a chunk to allocate: see `allocate_chunk`."""

    #: The text: up to 100,000 characters.
    content: str

    #: The name: 1 to 100 characters on one line.
    name: str

    #: A short summary for the index of the heap: up to 300 characters on one line. Default: empty.
    description: NotRequired[str]


class NewCost(TypedDict):
    """What a conversation of a frame has cost so far."""

    #: The ID of the conversation.
    conversation: str

    #: The cost of all its requests so far, in millionths of a US dollar.
    costMicroUsd: int


class NewFrame(TypedDict):
    """The parameters of a frame to push or plan."""

    #: Short name, two to five words.
    title: str

    #: The person or agent that does the work (`assignee` of `Frame`). Default: any person or agent.
    assignee: NotRequired[str]

    #: ID of the calling session, in whose tree the parent is found if `parent` is absent.
    caller: NotRequired[str]

    #: The frames whose results the new frame needs.
    dependsOn: NotRequired[list[FrameRef]]

    #: Words of a team for the frame (`labels` of `Frame`). Default: none.
    labels: NotRequired[list[str]]

    #: What the frame may do and spend. Default: what the frame above it may do and spend.
    limits: NotRequired[FrameLimits]

    #: The frame above the new one; null makes it a root. Default: the open frame of the session `caller`, or
    #: the nearest open frame above it; without `caller` the active frame, if there is one.
    parent: NotRequired[Union[FrameRef, None]]

    #: How urgent the frame is. Absent: as urgent as the frame above it.
    priority: NotRequired[Priority]

    #: The frame's ID: the ID of the host's session, at most 1,000 characters. Absent: an ID of the form
    #: `plan-…` is generated.
    sessionID: NotRequired[str]

    #: Success criteria: checkable conditions for the completion of the frame. Default: empty.
    successCriteria: NotRequired[str]

    #: Compacted success criteria, for prompts. Default: empty; prompts then use the full criteria.
    successCriteriaCompacted: NotRequired[str]

    #: The full instruction (`task` of `Frame`). Default: empty.
    task: NotRequired[str]


class NewHold(TypedDict):
    """A frame for a worker to hold: `hold`."""

    #: The length of the lease in milliseconds: from 1 to 86400000.
    lease: int

    #: The name of the worker. It should differ from the names of other workers, and must not be blank.
    name: str

    #: Only frames below this one. Absent: all frames.
    below: NotRequired[FrameRef]

    #: Exactly this frame. Absent: the first one that is free.
    frame: NotRequired[FrameRef]


class NewRun(TypedDict):
    """The parameters of a run to start: see `start_run`."""

    #: The agent's task. Must not be blank. It becomes the success criteria of the root frame and the first
    #: message of its conversation.
    task: str

    #: The ID of the root frame. Default: a generated ID.
    sessionID: NotRequired[str]

    #: The kind of memory and its limits. Default: stack and heap.
    settings: NotRequired[RunSettings]

    #: The title of the root frame. Default: the first line of the task, cut to 60 characters.
    title: NotRequired[str]

    #: A description of the agent's other tools in Markdown, up to 100,000 characters. It is a section of the
    #: system prompt. It is stored with the run, so a process that resumes the run uses the same prompt.
    #: Default: empty.
    tools: NotRequired[str]


class Origin(TypedDict):
    """What the file of a plan said of a frame at the last import or export.

    With it, changes in the file since then can be told from changes that were made here.
    """

    #: Checksums of what the file says of the frame.
    checksums: Checksums

    #: The ID that the frame has in the plan. The frame's own ID can be the ID of a session by now.
    id: str

    #: The plan: the ID of the first frame of its first import.
    plan: str

    #: The status in the file.
    status: FrameStatus

    #: The ID of the entry before it, among those with the same parent. Absent for the first one.
    after: NotRequired[str]

    #: True: the file does not have the frame any more.
    gone: NotRequired[bool]


class OutlineOptions(TypedDict):
    """The options of an outline."""

    #: Mark the active frame, or the frame of the reader, and name it below the frames. Default true.
    active: NotRequired[bool]

    #: Number of levels that are shown below the first one. Default: all.
    depth: NotRequired[int]

    #: Show ID, criteria, results, artifacts, decisions, reason of the invalidation and duration below each
    #: frame. Default false.
    details: NotRequired[bool]

    #: The frame of the reader. It is marked instead of the active frame, if it is open. Default: the active
    #: frame.
    own: NotRequired[FrameRef]

    #: Show only this frame and the frames below it. Default: all frames.
    root: NotRequired[FrameRef]

    #: The style. Default `marked`.
    style: NotRequired[OutlineStyle]

    #: Maximum length of a line, in characters; longer lines are cut and end in `…`. 0: no limit. Default
    #: 120.
    width: NotRequired[int]


class Overspent(TypedDict):
    """A frame that, together with all frames below it, has spent what it may spend."""

    #: The frame.
    frame: Handle

    #: What it has spent, and what lets it continue.
    reason: str


class Placeholder(TypedDict):
    """What a placeholder is made with."""

    #: The frame above the placeholder. Default: none, the placeholder is a root.
    parent: NotRequired[FrameRef]

    #: The title. Default: `session` and the first 8 characters of the ID.
    title: NotRequired[str]


class PlanChange(TypedDict):
    """The change of a frame of a plan."""

    #: What happens to it.
    becomes: Becomes

    #: What the file has changed.
    fields: list[PlanField]

    #: The frame.
    frame: Handle

    #: Its ID in the plan.
    id: str

    #: Its title in the file; for a removed frame, its title here.
    title: str


class PlanConflict(TypedDict):
    """A part of a frame about which the file and the stack say different things.

    Both stay as they are.
    """

    #: What can be done.
    advice: str

    #: The field about which they do not agree.
    field: PlanField

    #: What the file says.
    file: str

    #: The frame.
    frame: Handle

    #: Its ID in the plan.
    id: str

    #: What the stack says.
    stack: str

    #: Its title here.
    title: str


class Pop(TypedDict):
    """How a frame is popped."""

    #: The new status. `"blocked"` is `block` without a question: the results say what the frame waits for.
    status: PopStatus

    #: The planned frame that begins in the same command. `true`: the first planned sibling that can begin
    #: then, if there is one. Default: no frame begins.
    next: NotRequired[Union[FrameRef, bool]]

    #: The results in full. Default: empty.
    results: NotRequired[str]

    #: A short form for the contexts of other frames. Default: the full results are used.
    resultsCompacted: NotRequired[str]


class Popped(TypedDict):
    """The result of `pop`."""

    #: The active frame after the pop; null if there is none.
    active: Union[Handle, None]

    #: The popped frame.
    handle: Handle

    #: Its parent; null if it is a root.
    parent: Union[Handle, None]

    #: Frames below the popped frame that are still in_progress or blocked. The pop did not change them.
    stillOpen: list[Handle]

    #: Frames below the popped frame that are still planned.
    stillPlanned: list[Handle]

    #: The frame that has begun.
    next: NotRequired[Handle]


class Problem(TypedDict):
    """A defect in an imported file."""

    #: The defect and its handling.
    message: str

    #: The place of the defect: a line, a JSON path, or the ID of a frame.
    place: str


class Prompt(TypedDict):
    """The prompt for a model in one step."""

    #: The depth of the current frame in the run. The root of the run has depth 0.
    depth: int

    #: The current frame of the run.
    frame: Handle

    #: The conversation of the current frame, in order. The text of the newest message ends with a section
    #: `<memory>`: the step, the frame, the registers and the heap.
    #:
    #: This section changes in every step. It comes last, so that prompt caches keep everything before it. It
    #: is not a separate message, because not every model accepts a user message after tool messages.
    #:
    #: With `shared_results` of `RunSettings`, the text of the first message begins with the element
    #: `<stack-context>` if the frame is not the root. It has the criteria of the frames above this frame, and
    #: the results of the finished frames next to this frame and next to those above it. It stays the same
    #: while the frame works, unless another actor changes these frames.
    #:
    #: No other text makes such a section: `<memory>` and `</memory>` in a message, a chunk or a register are
    #: `&lt;memory>` and `&lt;/memory>`.
    messages: list[RunMessage]

    #: The number of the step, from 1.
    step: int

    #: The system prompt. It is the same in every step of a run.
    system: str


class PrunedLogs(TypedDict):
    """What `prune_logs` has removed."""

    #: Their size in bytes.
    bytes: int

    #: Number of logs that were removed.
    files: int

    #: The size of the logs that are left, in bytes.
    left: int


class Question(TypedDict):
    """What a blocked frame waits for, and the answer."""

    #: Time at which the frame was blocked, in milliseconds since the Unix epoch.
    askedAt: int

    #: What the frame needs, and who can give it. Empty if that was not said.
    question: str

    #: The answer. Several answers to one question are lines of one text, in their order.
    answer: NotRequired[str]

    #: Time of the newest answer, in milliseconds since the Unix epoch.
    answeredAt: NotRequired[int]

    #: True: the frame was begun elsewhere. When its time has come, it is in progress again, and no worker
    #: gets it. Omitted in JSON if false.
    begun: NotRequired[bool]

    #: True if no question was asked: the work was interrupted or stopped, and the text says why. Omitted in
    #: JSON if false.
    interruption: NotRequired[bool]

    #: True: the frame has not begun, and must not begin before an answer. With the answer it is planned; a
    #: frame that is not work is completed (`waits_to_begin` of `Frame`). Omitted in JSON if false.
    unbegun: NotRequired[bool]

    #: Time from which on a frame that has not begun need not wait any more, in milliseconds since the Unix
    #: epoch: the time is the answer.
    until: NotRequired[int]


class Registers(TypedDict):
    """Registers of a frame: short notes that its agent works by.

    Longer values are cut. A register that is empty is absent.
    """

    #: At most 240 characters.
    R0_GOAL: NotRequired[str]

    #: At most 980 characters.
    R1_PLAN: NotRequired[str]

    #: At most 200 characters.
    R2_NEXT: NotRequired[str]

    #: At most 60 characters.
    R3_PHASE: NotRequired[str]

    #: At most 720 characters.
    R4_CONSTRAINTS: NotRequired[str]

    #: At most 480 characters.
    R5_ASSUMPTIONS: NotRequired[str]

    #: At most 600 characters.
    R6_OPEN_QUESTIONS: NotRequired[str]

    #: At most 300 characters.
    R7_STATUS: NotRequired[str]


class Renewal(TypedDict):
    """A new lease of a hold."""

    #: The length of the lease from now on, in milliseconds: from 1 to 86400000.
    lease: int


class Reopened(TypedDict):
    """The result of `reopen`."""

    #: Frames that depend on it and have begun, or ended: they have used results that were wrong.
    begun: list[Handle]

    #: The frame that continues.
    handle: Handle

    #: Planned frames that depend on it. They wait again.
    waiting: list[Handle]


class Repair(TypedDict):
    """A defect in a state, and its repair."""

    #: ID of the affected frame; null if the defect concerns the state as a whole.
    frame: Union[str, None]

    #: The defect and its repair, in one sentence.
    message: str


class Reply(TypedDict):
    """A reply of a model: text, tool calls, or both."""

    #: The tool calls, in order. Default: empty. If an ID is empty or already used in the conversation, a new
    #: ID is generated.
    calls: NotRequired[list[ToolCall]]

    #: True if the provider has cut the reply at its maximum length. None of its tool calls is carried out
    #: then, and a message tells the model so. Default false.
    cut: NotRequired[bool]

    #: The text. Default: empty.
    text: NotRequired[str]


class ResultsSoFar(TypedDict):
    """Results of an open frame so far."""

    #: The results in full. Must not be empty.
    results: str

    #: A short form for the contexts of other frames. Default: the full results are used.
    resultsCompacted: NotRequired[str]


class Resumption(TypedDict):
    """What a host does now to resume frames, and what it waits for: see `resumption`."""

    #: The frames, at or below one of the given ones, that wait for a person. In creation order.
    asking: list[Handle]

    #: The given frames that can be resumed when the frames below them have ended. In creation order.
    later: list[Handle]

    #: Results that the conversations of frames in `now` and `later` do not have.
    missed: list[Missed]

    #: The given frames that can be resumed now: they were interrupted, stopped or answered, and nothing below
    #: them is running or among `now` and `later`. In creation order.
    now: list[Handle]

    #: The frames, at or below one of the given ones, that a host runs. When one of them ends or is
    #: interrupted, the answer to this question changes. In creation order.
    running: list[Handle]


class Retried(TypedDict):
    """The result of `retry`."""

    #: Which attempt it is, counted from 1.
    attempt: int

    #: The new frame, which is planned.
    handle: Handle

    #: The frames below the earlier attempt that were planned. They are invalidated.
    invalidated: list[Handle]

    #: Frames below the earlier attempt that are still in_progress or blocked. The command did not change
    #: them.
    stillOpen: list[Handle]


class RunAnswer(TypedDict):
    """The answer to a tool call of a run."""

    #: The answer, for the model.
    answer: str

    #: The ID of the tool call, such as `call_1`.
    call: str

    #: Whether the call has failed and the answer is the reason. Default false.
    isError: NotRequired[bool]


class RunSettings(TypedDict):
    """The settings of a run.

    They are fixed when the run starts.
    """

    #: Size of the heap, in characters, above which the agent is warned. Default 5000.
    heapCeiling: NotRequired[int]

    #: Maximum depth of a frame, that is, the number of its ancestors; the root of the run has depth 0. Deeper
    #: pushes are refused with `TooDeep`. Default 5.
    maxDepth: NotRequired[int]

    #: The memory that the agent manages. Default `heap`.
    memory: NotRequired[MemoryModel]

    #: Maximum size of the part of the first message in which a frame sees other frames, in tokens. Nothing is
    #: shown if the budget has no room for the titles of the parent and the root. Default 1500.
    resultsBudget: NotRequired[int]

    #: Whether frames see the results of others. Default true.
    #:
    #: If true, the first message of a frame begins with the criteria of the frames above it and the results,
    #: artifacts and decisions of finished siblings: its own, and those of the frames above it. The agent can
    #: also record artifacts and decisions when it pops a frame, and read the logs of the run's frames. If
    #: false, a frame begins with its briefing alone.
    sharedResults: NotRequired[bool]

    #: True: the system prompt has the rules alone, without examples and common mistakes. This is for models
    #: that are trained to work in this way, or to save about 700 tokens, which a prompt cache keeps after the
    #: first step. Default false.
    shortPrompt: NotRequired[bool]


class RunStatus(TypedDict):
    """The status of a run."""

    #: The depth of the current frame in the run. The root of the run has depth 0.
    depth: int

    #: The current frame of the run.
    frame: Handle

    #: Number of consecutive steps with the same tool calls in the current frame, up to and including the last
    #: step; 0 before the first step. Updates of registers are ignored in steps that also call other tools.
    repeats: int

    #: The settings with which the run was started.
    settings: RunSettings

    #: Number of steps, that is, of replies of a model.
    steps: int


class SessionMessage(TypedDict):
    """A message of a host's session.

    The library searches it for a summary and writes it to the frame's log.
    """

    #: ID of the message. It prevents duplicates in the frame's log.
    id: NotRequired[str]

    #: All parts of the message in the host's format, for the log.
    parts: NotRequired[list[Any]]

    #: The author: `user` or `assistant`.
    role: NotRequired[str]

    #: True if the host marks the message as the summary of a compaction. Default false.
    summary: NotRequired[bool]

    #: All text parts of the message, joined.
    text: NotRequired[str]

    #: Time at which the message began, in milliseconds since the Unix epoch. If it is absent, the frame's log
    #: has the time at which the message was logged.
    time: NotRequired[int]

    #: True if the message still changes, for example because the model writes it. Default false.
    unfinished: NotRequired[bool]


class Settings(TypedDict):
    """The settings of a context."""

    #: The budgets in tokens and bytes.
    budget: NotRequired[Budget]

    #: Which finished children are shown. Default `forgotten`.
    finishedChildren: NotRequired[FinishedChildren]

    #: The form of the text. Default `cached`.
    form: NotRequired[Form]

    #: How much guidance the context contains. Default `full`.
    guidance: NotRequired[Guidance]

    #: Size of the heap, in characters, above which the agent is warned. Default 5000.
    heapCeiling: NotRequired[int]

    #: Minimum score of the siblings that are shown with more than a stub, from 0 to 100. Stubs of the others
    #: are shown while the quota of the siblings has room. Does not apply to dependencies. Default 30.
    minimumRelevance: NotRequired[int]

    #: The names of the tools that the texts for the agent mention. Default: the names in the library's own
    #: list of tools.
    tools: NotRequired[ToolNames]


class StackInfo(TypedDict):
    """Figures about a stack."""

    #: The active frame; null if there is none.
    active: Union[Handle, None]

    #: Statistics of the cache of contexts.
    cache: CacheStatistics

    #: Number of frames.
    frames: int

    #: The state of the files beside the database; null if the stack keeps none.
    mirror: Union[MirrorStatus, None]

    #: Problems that were repaired in the files or the state from which the stack was made.
    repairs: list[Repair]

    #: Number of events that the tree has seen.
    revision: int


class StackOptions(TypedDict):
    """Options of a stack in a folder."""

    #: How long one call waits in total, in milliseconds: for commands of other threads, for other processes,
    #: and for the locks of files. Then it fails with `busy`. Default 10000.
    busyTimeout: NotRequired[int]

    #: How tokens are counted: `"approx"` (default: an estimate), `"chars4"` (one token for four characters),
    #: or `"o200k"` (exact; only in a library with the feature `tokenizer`, otherwise the error is `setting`).
    counter: NotRequired[Literal["approx", "chars4", "o200k"]]

    #: The failures that an acknowledged command survives. `"normal"` (default): the death of the process. A
    #: power loss can remove the last commands. `"full"`: a power loss too.
    durability: NotRequired[Durability]

    #: How many frames of finished trees stay in memory at most. The others are read from the database when
    #: they are needed. Default 4096.
    finishedFrames: NotRequired[int]

    #: When `state.json` and `frames/` beside the database are written. `"later"` (default): by `flush`, by
    #: `poll` in small portions, and at the end of the stack, not by commands. `"withCommands"`: each command
    #: also writes the files of the frames that it has changed. `"off"`: never. `true` means `"later"`,
    #: `false` means `"off"`.
    mirror: NotRequired[Union[Mirroring, bool]]

    #: In stacks with more frames than this, only `flush` and other processes write `state.json`. For programs
    #: that make one change and end. Default: it is always written.
    stateFileFrames: NotRequired[int]


class StackState(TypedDict):
    """All trees in the form of `state.json`.

    A state of an imported file can have more keys.
    """

    #: All frames, by their IDs.
    frames: dict[str, FrameRecord]

    #: The IDs of the roots.
    rootFrameIDs: list[str]

    #: The time of the last change, in milliseconds since the Unix epoch.
    updatedAt: int

    #: The version of the form.
    version: int

    #: The ID of the active frame; absent if there is none.
    activeFrameID: NotRequired[str]

    finishedTrees: NotRequired[FinishedTrees]

    #: Number of events in the history. Default 0.
    revision: NotRequired[int]


class StateOptions(TypedDict):
    """Options of a stack that is made from a state."""

    #: How tokens are counted: as in `StackOptions`.
    counter: NotRequired[Literal["approx", "chars4", "o200k"]]


class SubagentSettings(TypedDict):
    """The settings of subagents (specification, "Subagent Integration")."""

    #: Whether a subagent is completed automatically: when its tool returns, or when it is idle. Default true.
    autoCompleteOnIdle: NotRequired[bool]

    #: Whether child sessions are tracked. Default true.
    enabled: NotRequired[bool]

    #: Idle time after which a subagent is completed, in milliseconds. Default 5,000.
    idleCompletionDelay: NotRequired[int]

    #: Whether the context of its frame is added to a child session's requests. Default true.
    injectParentContext: NotRequired[bool]

    #: Minimum age of a session without a matching title to get a frame, in milliseconds. Default 60,000.
    minDuration: NotRequired[int]

    #: Minimum number of messages of a session without a matching title to get a frame. Default 3.
    minMessageCount: NotRequired[int]

    #: Regular expressions for titles, ignoring case: a child session whose title matches one of them is a
    #: subagent. Default `@.*subagent`, `subagent`, `\[Task\]`.
    #:
    #: At most 20 patterns of at most 200 characters each, whose compiled form has at most 16 KiB; so
    #: `x{1000}` is too large. The first 300 characters of a title are matched.
    patterns: NotRequired[list[str]]

    #: Whether the answer of an automatically completed subagent, which is its last assistant message, becomes
    #: its frame's results. Default true.
    propagateSummaries: NotRequired[bool]


class SummaryRequest(TypedDict):
    """A summary of a frame's conversation that was requested and does not exist yet.

    It outlives the process.
    """

    #: Time of the request, in milliseconds since the Unix epoch.
    requestedAt: int

    #: The reason.
    type: CompactionType

    #: Only for `frame_completion`: why the frame is blocked with the summary. Absent: it is completed.
    blockedBecause: NotRequired[str]

    #: A request for the content of the summary. It is added to the prompt.
    note: NotRequired[str]


class Tool(TypedDict):
    """The definition of a tool, with which a host registers it."""

    #: Its description for the agent.
    description: str

    #: Valid arguments.
    example: dict[str, Any]

    #: Its topic.
    group: ToolGroup

    #: Its name, such as `stack_frame_push`.
    name: str

    #: The JSON Schema of its arguments, which are an object.
    parameters: dict[str, Any]


class ToolAnswer(TypedDict):
    """The answer of a tool."""

    #: The effects that the host must carry out.
    effects: list[Effect]

    #: The frames that the call has popped, or whose ends it has waited for. The answer says how they have
    #: ended, or what they wait for.
    ended: list[Handle]

    #: Whether the tool call was refused. The text then contains the reason.
    isError: bool

    #: One line for people: what the call was about, and its result. Empty if the arguments say it, or if the
    #: answer comes later.
    title: str

    #: The call that is answered later, by the effect `answer`.
    call: NotRequired[int]

    #: The answer; absent if it comes later.
    text: NotRequired[str]


class ToolCall(TypedDict):
    """A tool call in a model's reply."""

    #: The arguments as the model wrote them. They should be a JSON object, but this is not checked here.
    arguments: str

    #: The ID, which links the tool call to its answer.
    id: str

    #: The tool's name.
    name: str


class ToolQuery(TypedDict):
    """Selects tools for agents."""

    #: All tools, although the stack says which ones the host offers. Default false.
    all: NotRequired[bool]

    #: The tools with which an agent in a run with these settings manages its memory.
    memory: NotRequired[RunSettings]

    #: The host's names of the tools. The descriptions mention other tools by these names. Default: the
    #: default names.
    names: NotRequired[ToolNames]


class ToolRequest(TypedDict):
    """A tool call of an agent."""

    #: The default name of the tool. Tools that the host does not offer to its agents work too.
    name: str

    #: The arguments: an object, or its JSON as the model has written it. Default: none.
    arguments: NotRequired[Union[str, Any]]


class TranscriptPosition(TypedDict):
    """The position at which the reading of a transcript has stopped.

    It also has the facts about the part before that the reading of the next part needs.
    """

    #: The ID of the last answer, whose usage is counted.
    answer: str

    #: True if the conversation has said in which frames it is. Otherwise only the stack can know it.
    hasFrames: bool

    #: The number of the text that was said last, in hexadecimal digits: the IDs of later entries depend on
    #: it.
    last: str

    #: The model that was asked last, in transcripts that name it apart from the answers.
    model: str

    #: The number of bytes that were read.
    offset: int

    #: The frames in which the conversation is, the outermost one first.
    path: list[Handle]

    #: The time of the text that was said last, in milliseconds since the Unix epoch.
    time: int

    #: True: the text that was read last is not in the log of any frame.
    isOutside: NotRequired[bool]

    #: True: the reading has stopped within a line that is too long. The rest of the line is left out.
    isWithinLine: NotRequired[bool]


class TreeBefore(TypedDict):
    """What a command of a person has changed, so that it can be taken back."""

    #: The frame that was active, if the command has made another frame or no frame active.
    active: NotRequired[Handle]

    #: The first and the last of the frames that the command has added. They are invalidated when it is taken
    #: back.
    added: NotRequired[list[Handle]]

    #: The frames that existed before the command.
    frames: NotRequired[list[FrameBefore]]


class TurnSettings(TypedDict):
    """When the turns of a conversation without frames, or before the first frame, are folded.

    A turn runs from the person's words to the agent's last answer before the next words.
    """

    #: In tokens, estimated by `approx` from samples. When the person writes, and the turns that are finished
    #: and not folded have more than this together, these turns are all folded. 40,000 to 60,000 cost least in
    #: windows of 200,000 tokens; see `docs/fold.md`.
    floor: int

    #: How an agent reads what was folded. Default: nothing is said.
    pointer: NotRequired[str]


class Undone(TypedDict):
    """The result of `undo`."""

    #: What the command was, such as `pop`.
    command: str

    #: The frames that are as they were before it.
    frames: list[Handle]

    #: The frames that it had added. They are invalidated.
    removed: list[Handle]


class VisibleChunk(TypedDict):
    """A chunk that a frame sees, and the frame that owns it."""

    #: The chunk.
    chunk: Chunk

    #: The frame that owns the chunk.
    handle: Handle


class WorkLeft(TypedDict):
    """What is left to do: the numbers of unfinished frames, each counted once."""

    #: Frames that could be held, but are assigned to others: workers of other names get them only if they
    #: name the frame.
    assigned: int

    #: Frames in progress that are not in the hands of a worker: a person, a conversation or a host works on
    #: them.
    begun: int

    #: Blocked frames that wait for an answer, or for an actor that resumes them.
    blocked: int

    #: Frames that a worker can hold now.
    free: int

    #: Frames that workers hold.
    held: int

    #: Frames that workers have put back, and that wait until a later time.
    later: int

    #: Frames that wait for others: planned ones, and begun ones that have split their work.
    waiting: int


class EffectLog(TypedDict):
    """Write a line to the host's log."""

    kind: Literal["log"]

    #: Details: a JSON object with the session, the frame and other data of the event.
    data: dict[str, Any]

    #: The severity.
    level: LogLevel

    #: A short description of the event, such as `Subagent completed`.
    message: str


class EffectDescribeSession(TypedDict):
    """Describe an unknown session: report `sessionCreated`, or `sessionDeleted` if the session does not exist."""

    kind: Literal["describeSession"]

    #: ID of the session.
    sessionID: str


class EffectCreateSession(TypedDict):
    """Create a session for a call.

    Report `callStarted`, or `callEnded` with an error if this fails.
    """

    kind: Literal["createSession"]

    #: The call.
    call: int

    #: ID of the calling session, which is the parent of the new one.
    parentID: str

    #: Title of the new session.
    title: str


class EffectPrompt(TypedDict):
    """Send a prompt to a session and wait for its answer.

    Then report `callEnded`.
    """

    kind: Literal["prompt"]

    #: The call.
    call: int

    #: ID of the calling session. Use its model and agent.
    callerID: str

    #: ID of the session.
    sessionID: str

    #: The prompt.
    text: str


class EffectAbortSession(TypedDict):
    """Abort the current work of a session."""

    kind: Literal["abortSession"]

    #: ID of the session.
    sessionID: str


class EffectCompactSession(TypedDict):
    """Compact a session.

    Then report `sessionCompacted`, without messages if the compaction failed.
    """

    kind: Literal["compactSession"]

    #: ID of the session.
    sessionID: str


class EffectCompactionPrompt(TypedDict):
    """Add this text to the prompt for the summary of a session that is being compacted."""

    kind: Literal["compactionPrompt"]

    #: ID of the session.
    sessionID: str

    #: The text to add.
    text: str


class EffectAnswer(TypedDict):
    """Return the answer of a tool call that was waiting for a call."""

    kind: Literal["answer"]

    #: The call, as the tool returned it.
    call: int

    #: The frames that the call has popped, or for whose ends it has waited. The answer says how they have
    #: ended, or what they wait for.
    ended: list[Handle]

    #: The answer.
    text: str

    #: One line for people that says what the call was about and how it ended.
    title: str


class EffectReadMessages(TypedDict):
    """Read the messages of a session and report `sessionMessages`, with an empty list if the session does not
    exist.
    """

    kind: Literal["readMessages"]

    #: ID of the session.
    sessionID: str


class FileChangeWritten(TypedDict):
    """The file was created or changed."""

    kind: Literal["written"]

    #: Path of the file.
    path: str


class FileChangeDeleted(TypedDict):
    """The file was deleted."""

    kind: Literal["deleted"]

    #: Path of the file.
    path: str


_FileChangeRenamedWords = TypedDict("_FileChangeRenamedWords", {"from": "str"})


class FileChangeRenamed(_FileChangeRenamedWords):
    """The file has another path, and perhaps another content."""

    kind: Literal["renamed"]

    #: The path now.
    to: str


class FinishDone(TypedDict):
    """The frame is completed.

    If frames were planned below it, it is put back until they are done.
    """

    end: Literal["done"]

    #: The results in full.
    results: str

    #: A short form for the contexts of other frames. Default: the full results are used.
    resultsCompacted: NotRequired[str]


class FinishFailed(TypedDict):
    """The frame has failed."""

    end: Literal["failed"]

    #: The results in full: why it has failed.
    results: str

    #: A short form for the contexts of other frames. Default: the full results are used.
    resultsCompacted: NotRequired[str]


class FinishAsks(TypedDict):
    """The frame is blocked: it waits for an answer."""

    end: Literal["asks"]

    #: What the frame needs, and who can give it.
    question: str

    #: The results so far, in full. Default: the frame keeps its results.
    results: NotRequired[str]

    #: A short form of the results so far. Default: the full ones are used.
    resultsCompacted: NotRequired[str]


class FinishLater(TypedDict):
    """The frame is put back."""

    end: Literal["later"]

    #: How long it waits, in milliseconds, at most 86400000. Default: a second after its first time, twice as
    #: long after each further one, at most a minute.
    wait: NotRequired[int]


class Frame(FrameRecord):
    """A frame with its handle."""

    #: The handle.
    handle: Handle


class HostEventSessionCreated(TypedDict):
    """A session was created, or the host describes it because `describeSession` asked for it."""

    kind: Literal["sessionCreated"]

    #: ID of the session.
    sessionID: str

    #: ID of the session that started it; absent for a root session.
    parentID: NotRequired[str]

    #: The title. Default titles of the host, such as `New session - 2026-…`, count as no title.
    title: NotRequired[str]


class HostEventSessionUpdated(TypedDict):
    """The title of a session changed."""

    kind: Literal["sessionUpdated"]

    #: ID of the session.
    sessionID: str

    #: The new title.
    title: str


class HostEventSessionIdle(TypedDict):
    """A session became idle: it waits for its next message."""

    kind: Literal["sessionIdle"]

    #: ID of the session.
    sessionID: str


class HostEventSessionError(TypedDict):
    """An error occurred in a session, for example because its model is not reachable."""

    kind: Literal["sessionError"]

    #: The host's error message.
    message: str

    #: ID of the session.
    sessionID: str


class HostEventSessionDeleted(TypedDict):
    """A session was deleted, or was not found when `describeSession` asked for it."""

    kind: Literal["sessionDeleted"]

    #: ID of the session.
    sessionID: str


class HostEventSessionCompacting(TypedDict):
    """The host is about to replace a session's conversation by a summary.

    The effect `compactionPrompt` returns the prompt for it.
    """

    kind: Literal["sessionCompacting"]

    #: ID of the session.
    sessionID: str


class HostEventSessionCompacted(TypedDict):
    """A session's conversation was replaced by a summary.

    An empty list of messages means that this failed.
    """

    kind: Literal["sessionCompacted"]

    #: The messages after the compaction, oldest first.
    messages: list[SessionMessage]

    #: ID of the session.
    sessionID: str


class HostEventSessionMessages(TypedDict):
    """The messages of a session, because `readMessages` asked for them."""

    kind: Literal["sessionMessages"]

    #: The messages, oldest first.
    messages: list[SessionMessage]

    #: ID of the session.
    sessionID: str


class HostEventSessionSetBack(TypedDict):
    """A person may have set a session's conversation back to an earlier point, or opened it again.

    The contents of the conversation show where it is: in the frame in which it was at that point, if that
    frame is still open, and otherwise in the nearest open frame above it. Open frames that it has begun since
    then are blocked, and continue when they are activated. Contexts show the results that it has lost. Frames
    are not set back: finished work stays finished.
    """

    kind: Literal["sessionSetBack"]

    #: The answers of the library's tools in the conversation, also those from before a compaction, oldest
    #: first.
    answers: list[str]

    #: ID of the session.
    sessionID: str

    #: What the person has written in it, also before a compaction, oldest first. Messages that are gone are
    #: not a part of the task any more. Absent: the host does not know.
    asked: NotRequired[list[str]]


class HostEventMessage(TypedDict):
    """A message was added to a session."""

    kind: Literal["message"]

    #: ID of the message. A repeated ID is ignored.
    messageID: str

    #: The author: `user` or `assistant`.
    role: str

    #: ID of the session.
    sessionID: str

    #: All text parts of the message, joined.
    text: str

    #: Maximum size of the session's context in tokens, if it is known.
    contextLimit: NotRequired[int]

    #: The request to the model that the message answers, if the host reports requests. It is recorded in the
    #: session's frame, even if the frame is made later.
    request: NotRequired[ModelRequest]

    #: The time at which the message was begun, in milliseconds since the Unix epoch. If a conversation goes
    #: through several frames, the time shows to which frame the message belongs. Default: to the frame in
    #: which the conversation is.
    time: NotRequired[int]

    #: Size of the session's context in tokens, if the model reported it.
    tokens: NotRequired[int]


class HostEventModelRequested(TypedDict):
    """A request to a model ended that no message of the conversation answers: a request that failed and is
    repeated, or the request for the summary of a compaction.

    It is recorded in the session's frame, even if the frame is made later.
    """

    kind: Literal["modelRequested"]

    #: The request.
    request: ModelRequest

    #: ID of the request. No message has this ID. A repeated ID is ignored.
    requestID: str

    #: ID of the session.
    sessionID: str

    #: The time at which the request was begun, in milliseconds since the Unix epoch, like the time of a
    #: message.
    time: NotRequired[int]


class HostEventMessageFinished(TypedDict):
    """A message of a session is finished: it will not change any more.

    It is appended to the log of the session's frame. A host that does not report this has logs that grow only
    when frames end and conversations are compacted.
    """

    kind: Literal["messageFinished"]

    #: The message.
    message: SessionMessage

    #: ID of the session.
    sessionID: str


class HostEventToolExecuted(TypedDict):
    """A tool call finished in a session."""

    kind: Literal["toolExecuted"]

    #: ID of the session.
    sessionID: str

    #: The tool's name.
    tool: str

    #: The answer of the child session; if the tool call failed, the error message. Default empty.
    answer: NotRequired[str]

    #: The changes of files by the tool call. They are recorded for a tool of any name. Default empty.
    changes: NotRequired[list[FileChange]]

    #: ID of the child session in which the tool has worked, if the tool has waited for the end of the
    #: session. The frame of that session is then finished, with `answer` as results. If the tool call failed,
    #: the frame is salvaged: it is blocked with the session's last message as results. If the child session
    #: may work again already, so that this event is an old one, its frame stays open until `sessionIdle`.
    childID: NotRequired[str]

    #: The command line that the tool has run in a shell, if there is one. The files that it names as changed
    #: count as changed: see `changes_of_command`.
    command: NotRequired[str]

    #: True if the tool call failed. Default false.
    failed: NotRequired[bool]

    #: Path of the file that the tool was called with, if there is one. The file counts as written if the tool
    #: is known to write files: `write`, `edit`, `multiedit`, `patch`, `apply_patch`, `Write`, `Edit`,
    #: `MultiEdit`, `NotebookEdit`.
    path: NotRequired[str]

    #: ID of the tool call, if the host has one. An event with a repeated ID is ignored.
    toolCallID: NotRequired[str]


class HostEventCallStarted(TypedDict):
    """The session that `createSession` asked for was created."""

    kind: Literal["callStarted"]

    #: The call in that effect.
    call: int

    #: ID of the new session.
    sessionID: str


class HostEventCallEnded(TypedDict):
    """A call ended: its session answered the prompt, or could not be created or prompted."""

    kind: Literal["callEnded"]

    #: The call.
    call: int

    #: The error message, if the call failed.
    error: NotRequired[str]


class HostEventCallAborted(TypedDict):
    """The caller of a call was aborted and no longer waits for the answer."""

    kind: Literal["callAborted"]

    #: The call.
    call: int


class NextAsk(Prompt):
    """Ask a model with this prompt, and record its reply with `run_reply`."""

    next: Literal["ask"]


class NextCall(ToolCall):
    """Answer this tool call of the model.

    If it is about agent memory, use `advance_run`. If not, execute it and record the answer with
    `run_answer`.
    """

    next: Literal["call"]


class NextOver(TypedDict):
    """Nothing: the run is over, because the root frame is not open any more."""

    next: Literal["over"]

    #: The results of the root frame; empty if it has none.
    results: str

    #: The status of the root frame.
    status: FrameStatus


class ReleaseEnded(TypedDict):
    """The holder has ended its work, or does not continue it."""

    how: Literal["ended"]


class ReleasePutBack(TypedDict):
    """The holder resumes the work later, or another holder of its kind does."""

    how: Literal["putBack"]

    #: No worker gets the frame before this time, in milliseconds since the Unix epoch.
    until: int


class ReleaseInterrupted(TypedDict):
    """The holder was silent until the end of its lease.

    Its work can be resumed.
    """

    how: Literal["interrupted"]


class ReleaseStopped(TypedDict):
    """Another actor has stopped, ended, blocked or taken the frame."""

    how: Literal["stopped"]

    #: The reason, or what the frame has become.
    reason: str


class ReleasedHead(TypedDict):
    """The keys that each `Released` has."""

    #: The time, in milliseconds since the Unix epoch.
    at: int


class ReleasedEnded(ReleasedHead):
    """The holder has ended its work, or does not continue it."""

    how: Literal["ended"]


class ReleasedPutBack(ReleasedHead):
    """The holder resumes the work later, or another holder of its kind does."""

    how: Literal["putBack"]

    #: No worker gets the frame before this time, in milliseconds since the Unix epoch.
    until: int


class ReleasedInterrupted(ReleasedHead):
    """The holder was silent until the end of its lease.

    Its work can be resumed.
    """

    how: Literal["interrupted"]


class ReleasedStopped(ReleasedHead):
    """Another actor has stopped, ended, blocked or taken the frame."""

    how: Literal["stopped"]

    #: The reason, or what the frame has become.
    reason: str


class RunMessageUser(TypedDict):
    """A prompt to the model."""

    role: Literal["user"]

    #: The text.
    text: str


class RunMessageAssistant(TypedDict):
    """A reply of the model."""

    role: Literal["assistant"]

    #: The text; empty if the reply contains only tool calls.
    text: str

    #: The tool calls, in order. Omitted in JSON if empty.
    calls: NotRequired[list[ToolCall]]


class RunMessageTool(TypedDict):
    """The answer to a tool call."""

    role: Literal["tool"]

    #: The ID of the tool call.
    call: str

    #: The tool's name.
    name: str

    #: The text of the answer.
    text: str

    #: True if the tool call failed; the text then states the reason. Default false; omitted in JSON if false.
    isError: NotRequired[bool]


class StackEventHead(TypedDict):
    """The keys that each `StackEvent` has."""

    #: The frame that changed.
    handle: Handle

    #: Position in the history: 1 for the first event of a tree, 2 for the second, and so on.
    revision: int

    #: Time of the change, in milliseconds since the Unix epoch.
    time: int


class StackEventAdded(StackEventHead):
    """The frame was created: pushed, planned, created for a session, or imported."""

    kind: Literal["added"]

    #: The record of the frame at its creation.
    frame: FrameRecord


class StackEventImported(StackEventHead):
    """This frame and all frames with higher handles come from one import.

    Their starts and finishes are ordered by their times, not by their handles.
    """

    kind: Literal["imported"]

    #: Keys of the imported state that this version does not know. Omitted in JSON if empty.
    extra: NotRequired[dict[str, Any]]


class StackEventDependenciesAdded(StackEventHead):
    """The frame got dependencies on frames that were added later in the same command."""

    kind: Literal["dependenciesAdded"]

    #: IDs of the frames that it depends on.
    dependsOn: list[str]


class StackEventIdentified(StackEventHead):
    """A placeholder frame got its title and criteria, or its present title and criteria were set for good."""

    kind: Literal["identified"]

    #: The new title and criteria.
    identity: Identity

    #: True: the frame remains a placeholder. Omitted in JSON if false.
    provisional: NotRequired[bool]


class StackEventStatusChanged(StackEventHead):
    """The frame was activated, blocked, resumed or popped."""

    kind: Literal["statusChanged"]

    #: The new status.
    status: FrameStatus

    #: The full results, if the change sets them.
    results: NotRequired[str]

    #: The compacted results, if the change sets them.
    resultsCompacted: NotRequired[str]


class StackEventSummarized(StackEventHead):
    """The frame got intermediate results and remains open."""

    kind: Literal["summarized"]

    #: The full results so far.
    results: str

    #: The compacted results so far.
    resultsCompacted: str


class StackEventAsked(StackEventHead):
    """The frame was blocked in the same command, and waits for this."""

    kind: Literal["asked"]

    #: What the frame needs, and who can give it. Empty if that was not said.
    question: str

    #: True if no question was asked: the work was interrupted or stopped. Omitted in JSON if false.
    interruption: NotRequired[bool]


class StackEventAnswered(StackEventHead):
    """The blocked frame was answered.

    It can be resumed.
    """

    kind: Literal["answered"]

    #: The answer.
    answer: str

    #: The status that a frame gets if it has waited to begin: planned; or, if the frame is not work,
    #: completed or in_progress. Omitted in JSON for other frames, which stay blocked until they are resumed.
    becomes: NotRequired[FrameStatus]


class StackEventHeld(StackEventHead):
    """An actor holds the frame from now on; or the lease of its holder has another end, and then the generation
    stays the same.
    """

    kind: Literal["held"]

    #: The holder.
    holder: Holder


class StackEventReleased(StackEventHead):
    """The holder of the frame has let it go, or has lost it."""

    kind: Literal["released"]

    #: How.
    release: Release


class StackEventStopped(StackEventHead):
    """The frames that run at or below this frame were stopped.

    Hosts begin no queued frames there.
    """

    kind: Literal["stopped"]

    #: The reason.
    reason: str


class StackEventSummaryRequested(StackEventHead):
    """A summary of the frame's conversation was requested, or the request has ended."""

    kind: Literal["summaryRequested"]

    #: The request. Absent: it has ended.
    request: NotRequired[SummaryRequest]


class StackEventInvalidated(StackEventHead):
    """The frame was removed from the plan."""

    kind: Literal["invalidated"]

    #: The reason.
    reason: str


class StackEventIdReplaced(StackEventHead):
    """The frame got another ID."""

    kind: Literal["idReplaced"]

    #: The new ID.
    sessionID: str


class StackEventLogPathSet(StackEventHead):
    """The frame's log is another file from now on."""

    kind: Literal["logPathSet"]

    #: The new path of the log, relative to the stack's folder or absolute.
    logPath: str


class StackEventLogMoved(StackEventHead):
    """The frame's own log was renamed together with its ID."""

    kind: Literal["logMoved"]

    #: Path of the log from now on, relative to the stack's folder.
    logPath: str


class StackEventDelivered(StackEventHead):
    """The conversation of the parent received the results of the frame."""

    kind: Literal["delivered"]


class StackEventForgotten(StackEventHead):
    """The conversation of the frame was compacted or started again: it no longer holds the results of the
    children.
    """

    kind: Literal["forgotten"]


class StackEventArtifactAdded(StackEventHead):
    """An artifact was recorded."""

    kind: Literal["artifactAdded"]

    #: The artifact, usually a path.
    artifact: str


class StackEventDecisionAdded(StackEventHead):
    """A decision was recorded."""

    kind: Literal["decisionAdded"]

    #: The decision.
    decision: str


class StackEventActiveChanged(StackEventHead):
    """The frame became the active frame, or stopped being it and no frame is active."""

    kind: Literal["activeChanged"]

    #: True: this frame is active. False: this frame was active, and now no frame is.
    active: bool


class StackEventChunkAllocated(StackEventHead):
    """A chunk was allocated on the frame's heap."""

    kind: Literal["chunkAllocated"]

    #: The chunk.
    chunk: Chunk


class StackEventChunkWritten(StackEventHead):
    """A chunk of the frame got new content."""

    kind: Literal["chunkWritten"]

    #: The new content.
    content: str

    #: The chunk's name.
    name: str

    #: The step of the run in which the chunk was written; 0 outside runs.
    step: int


class StackEventChunkFreed(StackEventHead):
    """A chunk of the frame was freed."""

    kind: Literal["chunkFreed"]

    #: The chunk's name.
    name: str


class StackEventRegistersChanged(StackEventHead):
    """Registers of the frame got new values."""

    kind: Literal["registersChanged"]

    #: The new values. Registers that are not listed keep theirs.
    registers: dict[str, str]


class StackEventRunStarted(StackEventHead):
    """The frame became the root of a run: an agent that manages its own memory works in it."""

    kind: Literal["runStarted"]

    #: The settings of the run.
    run: RunSettings

    #: The host's description of the agent's other tools, a section of its system prompt. Empty: it has none.
    tools: NotRequired[str]


class StackEventCalled(StackEventHead):
    """A model pushed the frame by a tool call.

    The results of the frame will answer that tool call.
    """

    kind: Literal["called"]

    #: ID of the tool call.
    call: str


class StackEventMessagesAdded(StackEventHead):
    """Messages were added to the frame's conversation."""

    kind: Literal["messagesAdded"]

    #: The new messages, oldest first.
    messages: list[RunMessage]


class StackEventEdited(StackEventHead):
    """The planned frame was edited, or a person has corrected the words or the priority of an open frame.

    Other frames only get another place: an import of files restores the order of siblings in this way.
    """

    kind: Literal["edited"]

    #: The changed fields. They name frames by their handles.
    edit: FrameEdit

    #: The values before, if the frame had begun: work may have been done by them.
    was: NotRequired[FrameEdit]


class StackEventUsageRecorded(StackEventHead):
    """A model was asked in the frame's session.

    Contexts do not show it.
    """

    kind: Literal["usageRecorded"]

    #: The request.
    modelRequest: ModelRequest


class StackEventLimitsSet(StackEventHead):
    """The limits on what the frame may do and spend from now on."""

    kind: Literal["limitsSet"]

    #: All limits of the frame.
    limits: FrameLimits


class StackEventCostRecorded(StackEventHead):
    """The host has told what a conversation of the frame has cost so far."""

    kind: Literal["costRecorded"]

    #: The ID of the conversation.
    conversation: str

    #: The cost of all its requests, in millionths of a US dollar. It replaces the cost that was recorded
    #: before.
    costMicroUsd: int


class StackEventTranscriptRead(StackEventHead):
    """The transcript of a conversation was read up to this position.

    What it says is in the logs and the usage of frames; this frame is one of them.
    """

    kind: Literal["transcriptRead"]

    #: The name of the conversation.
    conversation: str

    #: Where the reading has stopped.
    position: TranscriptPosition


class StackEventReopened(StackEventHead):
    """The completed frame turned out to be wrong: it is in_progress again.

    Its results are those so far.
    """

    kind: Literal["reopened"]

    #: What is wrong.
    reason: str


class StackEventCommanded(StackEventHead):
    """A person has given a command.

    It consists of the events before this one, from a revision on. The last commands can be taken back.
    """

    kind: Literal["commanded"]

    #: What the command was, such as `pop`.
    command: str

    #: The state of the tree before the command. Absent: the command cannot be taken back.
    before: NotRequired[TreeBefore]

    #: The name of the person; empty if the person has given none.
    by: NotRequired[str]


class StackEventUndone(StackEventHead):
    """The command of a person was taken back."""

    kind: Literal["undone"]

    #: What the command was, such as `pop`.
    command: str

    #: The revision of its event `commanded`.
    commanded: int


class StackEventRestored(StackEventHead):
    """The frame is again in the state before a command that was taken back."""

    kind: Literal["restored"]

    #: Keys of the frame's record with their values; null for a key that it does not have.
    values: dict[str, Any]

    #: The edit that gives the frame its former place and dependencies back.
    edit: NotRequired[FrameEdit]


class StackEventReimported(StackEventHead):
    """The file from which the frame was imported has changed, and the frame has changed with it; or only the
    facts that are known of the file have changed.
    """

    kind: Literal["reimported"]

    #: Keys of the frame's record with their new values; null for a key that it does not have any more.
    values: dict[str, Any]

    #: The edit that gives the frame its new place and its new dependencies.
    edit: NotRequired[FrameEdit]


class StandingHeld(TypedDict):
    """The holder works on it."""

    kind: Literal["held"]


class StandingEnded(TypedDict):
    """It was ended under this hold: it is completed, has failed, or is blocked with a question."""

    kind: Literal["ended"]

    #: `completed`, `failed` or `blocked`.
    status: FrameStatus


class StandingPutBack(TypedDict):
    """It was put back for later under this hold."""

    kind: Literal["putBack"]


class StandingStopped(TypedDict):
    """Another actor has stopped it, taken it out of the plan, retried it, or ended it in another way: the holder
    should stop.
    """

    kind: Literal["stopped"]


class ToolNamesKeys(TypedDict):
    """A part of `ToolNames`."""

    #: Default `stack_frame_activate`. Null: the host has no such tool.
    activate: NotRequired[Union[str, None]]

    #: Default `stack_frame_details`. Null: the host has no such tool.
    details: NotRequired[Union[str, None]]

    #: Default `stack_frame_edit`. Null: the host has no such tool.
    edit: NotRequired[Union[str, None]]

    #: Default `stack_heap_free`. Null: the host has no such tool.
    heapFree: NotRequired[Union[str, None]]

    #: Default `stack_heap_read`. Null: the host has no such tool.
    heapRead: NotRequired[Union[str, None]]

    #: Default `stack_frame_invalidate`. Null: the host has no such tool.
    invalidate: NotRequired[Union[str, None]]

    #: Default `stack_frame_plan_children`. Null: the host has no such tool.
    planChildren: NotRequired[Union[str, None]]

    #: Default `stack_frame_pop`. Null: the host has no such tool.
    pop: NotRequired[Union[str, None]]

    #: What stands before the default names, such as `mcp__callstack__`. Default: empty.
    prefix: NotRequired[str]

    #: Default `stack_frame_push`. Null: the host has no such tool.
    push: NotRequired[Union[str, None]]

    #: Default `stack_tree`. Null: the host has no such tool.
    tree: NotRequired[Union[str, None]]

    #: Default `stack_registers_update`. Null: the host has no such tool.
    updateRegisters: NotRequired[Union[str, None]]


AutonomyLevel: TypeAlias = Literal["manual", "suggest", "auto"]
"""The level of autonomy.

`"manual"`: Assessments only answer the tools. No suggestions are made.

`"suggest"`: Recommendations are suggested to the agent.

`"auto"`: Recommendations are suggested and partly carried out: a recommended pop when the session is next
idle, and a recommended push when the tool `stack_should_push` got a `potentialGoal`. These observations of
the host suggest that a frame can end: the files that its criteria name are among its artifacts, its parts are
done, its tools have succeeded."""


Becomes: TypeAlias = Literal["added", "edited", "planned", "waiting", "begun", "finished", "invalidated", "removed"]
"""The change of a frame when its plan is brought up to date.

`"added"`: It is new.

`"edited"`: Its status stays; its words, its links or its place change.

`"planned"`: It is planned: it waits no longer, or is open again.

`"waiting"`: It waits for a person, or for a time.

`"begun"`: It was begun elsewhere.

`"finished"`: It is completed, or has failed, with what the file says.

`"invalidated"`: The file takes it out of the plan.

`"removed"`: The file does not have it any more; it leaves the plan."""


BudgetUnit: TypeAlias = Literal["tokens", "bytes"]
"""The unit of a budget.

`"tokens"`: Tokens, as `total` of `Budget`.

`"bytes"`: Bytes, as `bytes` of `Budget`."""


CallPlace: TypeAlias = Literal["session", "conversation"]
"""Where the work of a call is done.

`"session"`: In a session of its own: the child begins with an empty conversation and a context, and its
caller waits.

`"conversation"`: In the conversation of the caller, which continues in the frame until it pops it. For hosts
that fold conversations. Frames in the background still have sessions of their own. So do the frames that one
message of the model begins in addition to another frame."""


CompactionType: TypeAlias = Literal["overflow", "frame_completion", "manual_summary"]
"""The reason for a compaction.

`"overflow"`: The host compacts because the model's context is full. The frame remains open.

`"frame_completion"`: The frame is being ended. The summary becomes its results.

`"manual_summary"`: A checkpoint was requested. The frame remains open."""


DetailLevel: TypeAlias = Literal["omitted", "stub", "compact", "standard", "full", "whole"]
"""How much of a frame is shown. Each level contains the one before it.

`"omitted"`: The frame is not shown. The element `truncation` (for ancestors: also `omitted`) or the attribute
`omitted` of the planned children counts it.

`"stub"`: Handle, status and title. Planned children are shown without their status.

`"compact"`: Also the compacted results; for an open ancestor, the compacted criteria and the results so far;
for the current frame, the compacted criteria. If there is no compacted text, the full one.

`"standard"`: Also the artifacts. For the current frame, the full criteria replace the compacted ones, unless
its conversation has them.

`"full"`: Also the decisions. For the current frame, also its results, and the path of its log, unless its
conversation has them.

`"whole"`: Of a dependency, also up to 2,000 tokens of its results instead of 300."""


Durability: TypeAlias = Literal["normal", "full"]
"""The failures that an acknowledged commit survives.

`"normal"`: Acknowledged commits survive the death of the process. A power loss may remove the latest commits,
newest first, but does not damage the database.

`"full"`: Acknowledged commits also survive a power loss. Each commit waits for the disk, so it is slower."""


Effect: TypeAlias = "Union[EffectLog, EffectDescribeSession, EffectCreateSession, EffectPrompt, EffectAbortSession, EffectCompactSession, EffectCompactionPrompt, EffectAnswer, EffectReadMessages]"
"""An operation for the host to perform."""


EventKind: TypeAlias = Literal["added", "imported", "dependenciesAdded", "identified", "statusChanged", "invalidated", "idReplaced", "logPathSet", "artifactAdded", "decisionAdded", "activeChanged", "summarized", "chunkAllocated", "chunkWritten", "chunkFreed", "registersChanged", "runStarted", "called", "messagesAdded", "logMoved", "delivered", "forgotten", "asked", "answered", "held", "released", "summaryRequested", "edited", "stopped", "usageRecorded", "limitsSet", "costRecorded", "transcriptRead", "reopened", "commanded", "undone", "restored", "reimported"]
"""The kind of an event: what has changed."""


FileChange: TypeAlias = "Union[FileChangeWritten, FileChangeDeleted, FileChangeRenamed]"
"""A change of a file by a tool."""


Finish: TypeAlias = "Union[FinishDone, FinishFailed, FinishAsks, FinishLater]"
"""How the work on a frame ends for its holder."""


FinishedChildren: TypeAlias = Literal["all", "forgotten", "none"]
"""Which finished children of a frame its context shows.

`"all"`: All, for hosts that show the agent no conversation.

`"forgotten"`: Those whose results the frame's conversation does not hold: they were never delivered there, or
the conversation was compacted or started again since. A stack with a host notes both; other hosts call
`deliver` and `forget`.

`"none"`: None, for hosts whose conversations hold all results."""


FoldedStatus: TypeAlias = Literal["completed", "failed", "blocked", "invalidated"]
"""How a frame ended whose stretch is folded.

`"completed"`: With results.

`"failed"`: Without the results that it was to reach.

`"blocked"`: It waits for an answer, and another frame has begun since.

`"invalidated"`: It was taken out of the plan."""


Form: TypeAlias = Literal["cached", "document"]
"""The form of a context.

`"cached"`: The form for prompt caches: what is added comes behind what is there, and nothing before it
changes. The text names neither the session nor the number of siblings, because they would change the bytes
before all siblings. Failed siblings are in `<failed-siblings>` elements between the completed ones, in the
order in which they ended.

`"document"`: The form of the specification ("Context XML Format"): `<stack-context session="…">` with the ID
of the frame, `<completed-siblings count="…">` with the number of those shown, and after them
`<failed-siblings count="…">`."""


FrameRef: TypeAlias = str
"""A frame: its handle, `id:` and its ID, or its title."""


FrameStatus: TypeAlias = Literal["planned", "in_progress", "completed", "failed", "blocked", "invalidated"]
"""The status of a frame (specification, section 8).

`"planned"`: Planned, not started.

`"in_progress"`: Work is in progress.

`"completed"`: Finished: the success criteria are met.

`"failed"`: Finished without meeting the criteria. The results describe the attempt.

`"blocked"`: Started, but waiting for something from outside.

`"invalidated"`: Removed from the plan."""


Guidance: TypeAlias = Literal["full", "brief", "none"]
"""How much guidance on working with frames a context contains.

`"full"`: Philosophy, rules, and when to create child frames: at most 350 tokens, including the planning
advice for a root without children. A root gets the advice when to create child frames only together with the
planning advice.

`"brief"`: Philosophy and rules: at most 120 tokens, not including the planning advice for a root without
children.

`"none"`: No philosophy and no rules, for agents that get them in another way. The planning advice for a root
without children is still included."""


Handle: TypeAlias = str
"""The permanent number of a frame, such as f12."""


Heuristic: TypeAlias = Literal["failure_boundary", "context_switch", "complexity", "duration", "goal_completion", "stagnation", "context_overflow"]
"""A rule that estimates from observations whether a frame should be started (push) or finished (pop).

Each variant lists the points of its score table. Scores between two points are interpolated linearly; the
maximum is 100. In JSON a heuristic is a name such as `"failure_boundary"`.

`"failure_boundary"`: Push: errors accumulate, so the next attempt should run in a separate frame, which can
fail alone.

1 error scores 20, 2 errors (a retry failed) 55, 3 errors 75, 5 errors 90. Add 10 if the current goal is
distinct, that is, if at least 70 % of its words are missing from the frame's title and criteria.

`"context_switch"`: Push: the work has moved to another topic.

The share of the goal's words that are missing from the frame's title and criteria: 25 % scores 0, 50 % 30, 75
% 65, 100 % 80. Add 10 for changed files in 3 or 4 folders, and 20 for 5 or more folders (also without a
goal).

Only the agent knows its next goal: the observations of a host score at most 20 here. The score reaches a
usual threshold in the answer to `stack_should_push` with a `potentialGoal` (`potential_goal` of
`PushSignals`).

`"complexity"`: Push: the frame has grown to more than one task.

10 messages score 20, 30 messages 60, 50 messages 80, 80 messages 90. Add 5 for 3 to 7 changed files, and 10
for 8 or more.

`"duration"`: Push: the frame has been running for long, measured in tokens.

25,000 tokens score 20, 50,000 tokens 55, 80,000 tokens 80, 120,000 tokens 90.

`"goal_completion"`: Pop: the success criteria are probably met.

1 success signal scores 50, 2 signals 70, 3 signals 80. Add 10 if the frame has artifacts, and up to 15 in
proportion to the share of the criteria's words that occur in the signals, and in the newest 100 artifacts and
decisions.

Only the agent knows what has succeeded: the observations of a host score at most 25 here. The score reaches a
usual threshold in the answer to `stack_should_pop` with `successSignals` (`success_signals` of `PopSignals`).

`"stagnation"`: Pop: the last turns made no progress.

3 turns without progress score 40, 5 turns 65, 10 turns 100. Add 15 for each failure signal.

`"context_overflow"`: Pop: the model's context is nearly full.

40 % of the limit scores 0, 60 % 20, 80 % 65, 90 % 90, 95 % 100."""


HolderKind: TypeAlias = Literal["host", "worker", "conversation", "person"]
"""The kind of a holder.

`"host"`: A host runs the frame in a session of its own: a call.

`"worker"`: A worker without sessions: a program that holds one frame after the other.

`"conversation"`: The conversation of an agent.

`"person"`: A person, or a program that works by hand."""


HostEvent: TypeAlias = "Union[HostEventSessionCreated, HostEventSessionUpdated, HostEventSessionIdle, HostEventSessionError, HostEventSessionDeleted, HostEventSessionCompacting, HostEventSessionCompacted, HostEventSessionMessages, HostEventSessionSetBack, HostEventMessage, HostEventModelRequested, HostEventMessageFinished, HostEventToolExecuted, HostEventCallStarted, HostEventCallEnded, HostEventCallAborted]"
"""An event in a host. In JSON the key `kind` names the variant; unknown keys are rejected:

Events may arrive more than once and in any order."""


LogLevel: TypeAlias = Literal["debug", "info", "warn"]
"""The severity of a line in the host's log.

`"debug"`: Details for debugging.

`"info"`: A normal event.

`"warn"`: A problem after which the work continues."""


MemoryModel: TypeAlias = Literal["heap", "registers"]
"""The memory that an agent manages.

`"heap"`: Stack and heap.

`"registers"`: Stack, heap and registers."""


Mirroring: TypeAlias = Literal["off", "later", "withCommands"]
"""When the documented files beside the database, `state.json` and `frames/`, are written. They never say more
than the database: a command is safe when it returns, no matter when its files are written.

`"off"`: There are no such files. Files that an earlier process has written stay as they are.

`"later"`: Calls that are made for it write them: `stack.upkeep().poll()` and `stack.host().poll()` in small
portions, `flush` and `close` all of them, the end of the stack too. Neither a command nor an open writes
them. The default.

`"withCommands"`: Each command also writes the files of the frames that it has changed, and an open begins to
write what is missing. For hosts that do not poll, and whose readers must see a change at once."""


Next: TypeAlias = "Union[NextAsk, NextCall, NextOver]"
"""The next thing that a run needs from its host."""


Omission: TypeAlias = Literal["irrelevant", "budget", "rank"]
"""The reason why a frame is omitted.

`"irrelevant"`: The score of the frame is below `minimum_relevance` of `Settings`, and the section's quota or
the budget had no room left for its stub.

`"budget"`: The budget had no room left for the frame.

`"rank"`: 512 siblings have a higher rank."""


OutlineStyle: TypeAlias = Literal["marked", "indented"]
"""The style of an outline.

`"marked"`: Branches, a mark for each status, the active frame, a legend and statistics. The default.

`"indented"`: Two spaces per level, the status in brackets, and a summary below each frame that has results."""


PlanField: TypeAlias = Literal["title", "criteria", "task", "priority", "labels", "assignee", "dependsOn", "parent", "results", "status", "order"]
"""A part of a frame that a file can change.

`"title"`: The title.

`"criteria"`: The success criteria.

`"task"`: The full instruction.

`"priority"`: The priority.

`"labels"`: The labels.

`"assignee"`: The person or agent that does the work.

`"dependsOn"`: The frames whose results it needs.

`"parent"`: The frame above it.

`"results"`: The results.

`"status"`: The status.

`"order"`: The order of the frames below it; for an entry at the top, also the order of the top."""


PopStatus: TypeAlias = Literal["completed", "failed", "blocked"]
"""The statuses that a pop can set.

`"completed"`: The success criteria are met.

`"failed"`: The success criteria are not met, and this frame will not meet them.

`"blocked"`: The success criteria are not met yet: the frame waits for something from outside."""


Priority: TypeAlias = Literal[0, 1, 2, 3, 4]
"""How urgent a frame is: from 0, before all others, to 4. A frame without one has that of the nearest frame
above that has one, or else 2."""


Relation: TypeAlias = Literal["all", "roots", "ready", "interrupted", "ancestors", "children", "siblings", "subtree"]
"""How frames are selected: from all trees, or by their relation to one frame.

`"all"`: All frames.

`"roots"`: The roots.

`"ready"`: The planned frames that can begin, in the order of the plan: they and the planned frames above them
have what they need, no frame above them has ended, and none of their parts is left.

`"interrupted"`: The frames that are in progress although the host that ran them does not exist any more.

`"ancestors"`: The frames above the frame, from its parent up to the root.

`"children"`: The children of the frame, in their order.

`"siblings"`: The siblings of the frame, in their order, without the frame itself.

`"subtree"`: The frame and all frames below it: parents before their children, depth first."""


Release: TypeAlias = "Union[ReleaseEnded, ReleasePutBack, ReleaseInterrupted, ReleaseStopped]"
"""How a frame is let go."""


Released: TypeAlias = "Union[ReleasedEnded, ReleasedPutBack, ReleasedInterrupted, ReleasedStopped]"
"""When and how a frame was let go."""


RunMessage: TypeAlias = "Union[RunMessageUser, RunMessageAssistant, RunMessageTool]"
"""One message of a conversation with a model."""


Section: TypeAlias = Literal["current-frame", "ancestors", "dependencies", "inherited-dependencies", "earlier-attempts", "ancestor-siblings", "completed-siblings", "finished-children", "planned-children"]
"""The section of a context in which a frame is shown.

`"current-frame"`: The frame whose context this is.

`"ancestors"`: The ancestors: the parent, its parent, and so on up to the root.

`"dependencies"`: Finished dependencies that are not siblings.

`"inherited-dependencies"`: Finished dependencies of the ancestors, which the frame inherits.

`"earlier-attempts"`: The failed attempts before the frame.

`"ancestor-siblings"`: Finished siblings of the ancestors, unless they are dependencies.

`"completed-siblings"`: Finished siblings, completed and failed ones, including those that are dependencies.

`"finished-children"`: Finished children whose results the frame's conversation does not hold.

`"planned-children"`: Planned children."""


Shown: TypeAlias = Literal["omitted", "index", "whole"]
"""How much of a chunk is shown.

`"omitted"`: The chunk is not shown. The element `truncation` counts it.

`"index"`: Only its entry in the index: name, frame, size in characters, and description.

`"whole"`: The whole content, escaped for XML."""


StackEvent: TypeAlias = "Union[StackEventAdded, StackEventImported, StackEventDependenciesAdded, StackEventIdentified, StackEventStatusChanged, StackEventSummarized, StackEventAsked, StackEventAnswered, StackEventHeld, StackEventReleased, StackEventStopped, StackEventSummaryRequested, StackEventInvalidated, StackEventIdReplaced, StackEventLogPathSet, StackEventLogMoved, StackEventDelivered, StackEventForgotten, StackEventArtifactAdded, StackEventDecisionAdded, StackEventActiveChanged, StackEventChunkAllocated, StackEventChunkWritten, StackEventChunkFreed, StackEventRegistersChanged, StackEventRunStarted, StackEventCalled, StackEventMessagesAdded, StackEventEdited, StackEventUsageRecorded, StackEventLimitsSet, StackEventCostRecorded, StackEventTranscriptRead, StackEventReopened, StackEventCommanded, StackEventUndone, StackEventRestored, StackEventReimported]"
"""One change to one frame. A tree changes only by events: applying all events of a tree to an empty tree gives
an equal tree."""


Standing: TypeAlias = "Union[StandingHeld, StandingEnded, StandingPutBack, StandingStopped]"
"""How a frame stands for its holder: see `standing`."""


ToolGroup: TypeAlias = Literal["frames", "planning", "context", "compaction", "subagents", "autonomy", "memory"]
"""The topic of a tool.

`"frames"`: Starting, finishing and showing frames.

`"planning"`: Planning frames, starting planned frames, and removing frames from the plan.

`"context"`: The context that an agent receives before a model call.

`"compaction"`: Summaries of conversations.

`"subagents"`: Child sessions that the host's own tools start.

`"autonomy"`: Assessing when to start and finish frames.

`"memory"`: Heap and registers: texts that contexts show even after the conversation has been compacted."""


ToolNames: TypeAlias = 'Union[Literal["none"], ToolNamesKeys]'
"""The host's names of the tools that texts for agents mention. `prefix` stands before the default names, a
string replaces a whole name, null means that the host has no such tool. `"none"`: texts mention no tools.
Names have 1 to 64 characters and no control characters."""


ToolSet: TypeAlias = 'Union[Literal["standard", "all"], list[str]]'
"""The tools that a host offers to its agents: `"standard"` (those that an agent needs to work), `"all"`, or a
list of names; `"standard"` in a list stands for the standard tools."""


Wire: TypeAlias = Literal["anthropic", "responses", "chat", "gemini", "opencode", "pi"]
"""The form in which a conversation is written.

`"anthropic"`: A request of Anthropic's Messages.

`"responses"`: A request of OpenAI's Responses.

`"chat"`: A request of OpenAI's Chat Completions, which many providers accept.

`"gemini"`: A request of Gemini's `generateContent`.

`"opencode"`: The messages of OpenCode's hook `experimental.chat.messages.transform`: a list of `{"info": …,
"parts": […]}`.

`"pi"`: The messages of pi's event `context`: a list of its agent messages."""
