// The dialogue with a person: executes typed commands while frames run, and reports their effects.

import type { Flame, Outcome } from "../flame.js"
import type { FrameLimits } from "../limits.js"
import { commandIn, commandOf, type Desk, type Seen } from "./commands.js"
import { Exit } from "./exit.js"
import { Failure, failureOf, inDialogue } from "./failure.js"
import type { Line } from "./lines.js"
import type { Asked, Decision, Permissions } from "./permissions.js"
import { oneLine } from "./text.js"

/** Where the answers go. */
export interface DialogueParts {
  flame: Flame
  limits: FrameLimits
  permissions: Permissions
  say: (lines: readonly Line[]) => void
  complain: (failure: Failure) => void
  /** Called when a run that a command has begun has ended. */
  ended: (outcomes: readonly Outcome[]) => void
  /** Writes a page with the stack. Returns the output of the program that writes it. */
  view: () => Promise<string>
  /** Called when the person wants to leave. */
  quit: () => void
}

/** A dialogue. */
export class Dialogue implements Desk {
  readonly #parts: DialogueParts
  /** The runs that have not ended. */
  readonly #works = new Set<Promise<unknown>>()

  constructor(parts: DialogueParts) {
    this.#parts = parts
  }

  get flame(): Flame {
    return this.#parts.flame
  }

  get limits(): FrameLimits {
    return this.#parts.limits
  }

  get isWorking(): boolean {
    return this.#works.size > 0
  }

  /** What a person sees now. */
  get seen(): Seen {
    return { frame: this.flame.stack.active(), asked: this.#parts.permissions.next }
  }

  /** Executes a typed line. Never rejects. */
  async execute(typed: string, seen: Seen = this.seen): Promise<void> {
    if (typed.trim() === "") return
    try {
      const { name, text } = commandIn(typed)
      await commandOf(name).run(this, text, seen)
    } catch (error) {
      this.#complain(failureOf(error))
    }
  }

  say(...lines: readonly Line[]): void {
    this.#parts.say(lines)
  }

  follow(run: Promise<Outcome | Outcome[]>): void {
    void this.track(run)
  }

  /** Follows a run, and returns how it has ended. Never rejects. */
  async track(run: Promise<Outcome | Outcome[]>): Promise<Outcome[] | Failure> {
    const work = run.then((outcomes) => [outcomes].flat(), failureOf)
    this.#works.add(work)
    const end = await work
    this.#works.delete(work)
    if (end instanceof Failure) this.#complain(end)
    else this.#parts.ended(end)
    return end
  }

  /** Waits until all runs have ended. */
  async finished(): Promise<void> {
    while (this.isWorking) await Promise.all(this.#works)
  }

  decide(decision: Decision, asked: Asked | undefined): void {
    if (asked === undefined) throw new Failure(Exit.refused, "no_request", "no frame asks for a permission")
    if (this.#parts.permissions.decide(asked, decision)) return
    throw new Failure(Exit.refused, "withdrawn", `${asked.frame} does not ask to use ${oneLine(asked.tool)} any more`)
  }

  #complain(failure: Failure): void {
    this.#parts.complain(inDialogue(failure))
  }

  view(): Promise<string> {
    return this.#parts.view()
  }

  quit(): void {
    this.#parts.quit()
  }
}
