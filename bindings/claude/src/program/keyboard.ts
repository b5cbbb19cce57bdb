// The keys that a person types, for readline: pasted text becomes text on one line, so that no line of it
// acts as a command.

import { Transform, type TransformCallback } from "node:stream"
import { StringDecoder } from "node:string_decoder"
import type { ReadStream } from "node:tty"

/** The sequence that makes terminals mark pasted text, and the sequence that ends this. */
export const MARK_PASTES = "\u001b[?2004h"
export const UNMARK_PASTES = "\u001b[?2004l"

const BEGIN = "\u001b[200~"
const END = "\u001b[201~"
/** How long the beginning of a mark may wait for its rest, in milliseconds. The key Escape looks the same. */
const PATIENCE = 50

/** Passes keys on. */
export class Keyboard extends Transform {
  readonly #decoder = new StringDecoder("utf8")
  readonly #terminal: Pick<ReadStream, "setRawMode">
  #isPasting = false
  /** The text that may be the beginning of a mark. */
  #held = ""
  #timer: NodeJS.Timeout | undefined

  constructor(terminal: Pick<ReadStream, "setRawMode">) {
    super()
    this.#terminal = terminal
  }

  /** For readline: the terminal itself changes its mode. */
  setRawMode(isRaw: boolean): this {
    this.#terminal.setRawMode(isRaw)
    return this
  }

  override _transform(chunk: Buffer, _: BufferEncoding, done: TransformCallback): void {
    clearTimeout(this.#timer)
    this.#take(this.#held + this.#decoder.write(chunk))
    if (this.#held !== "") this.#timer = setTimeout(() => this.#release(), PATIENCE)
    done()
  }

  override _flush(done: TransformCallback): void {
    this.#release()
    done()
  }

  #take(text: string): void {
    let rest = text
    for (;;) {
      const mark = this.#isPasting ? END : BEGIN
      const place = rest.indexOf(mark)
      if (place < 0) break
      this.#pass(rest.slice(0, place))
      this.#isPasting = !this.#isPasting
      rest = rest.slice(place + mark.length)
    }
    const held = heldLength(rest, this.#isPasting ? END : BEGIN)
    this.#held = rest.slice(rest.length - held)
    this.#pass(rest.slice(0, rest.length - held))
  }

  #release(): void {
    const held = this.#held
    this.#held = ""
    this.#pass(held)
  }

  #pass(text: string): void {
    const words = this.#isPasting ? text.replace(/[\s\p{Cc}]+/gu, " ") : text
    // Readline appends text that arrives in one piece to the end of the line, without regard to the cursor.
    for (const character of words) this.push(character)
  }
}

/** The length of the longest end of a text that is a beginning of a mark. */
function heldLength(text: string, mark: string): number {
  for (let length = Math.min(text.length, mark.length - 1); length > 0; length -= 1) {
    if (mark.startsWith(text.slice(-length))) return length
  }
  return 0
}
