// Contexts that the library holds: each text is read when it is asked for, once, and not at all otherwise.

import koffi from "koffi"

/** The words of a context: three texts of two words, its size in tokens, and the owner of the texts. */
export const CONTEXT_WORDS = 8
const TOKENS = 6
const OWNER = 7
/** How many of the newest contexts are found again when the library returns them again. */
const MOST_KNOWN = 16
/**
 * How many bytes of older contexts the library holds until they are collected. JavaScript does not see these
 * bytes and collects late, so when there are more, older contexts are read and freed.
 */
const MOST_BYTES = 4_194_304

/** The texts of a context. */
export class HeldContext {
  /** An upper bound of the tokens. */
  readonly tokens: number
  readonly owner: bigint
  /** The size of all texts. */
  readonly bytes: number
  readonly #places: readonly bigint[]
  #xml: string | undefined
  #stable: string | undefined
  #volatile: string | undefined

  constructor(words: BigUint64Array, start: number, owner: bigint) {
    const word = (index: number) => words[start + index] ?? 0n
    this.#places = [word(0), word(1), word(2), word(3), word(4), word(5)]
    this.bytes = Number(word(1) + word(3) + word(5))
    this.tokens = Number(word(TOKENS))
    this.owner = owner
  }

  get xml(): string {
    this.#xml ??= this.#read(0)
    return this.#xml
  }

  get stable(): string {
    this.#stable ??= this.#read(2)
    return this.#stable
  }

  get volatile(): string {
    this.#volatile ??= this.#read(4)
    return this.#volatile
  }

  #read(place: number): string {
    return koffi.decode.string(this.#places[place], this.#places[place + 1])
  }
}

/** Frees a context. */
type Free = (words: BigUint64Array) => unknown

/** The contexts that the library holds for one thread. */
export class HeldContexts {
  readonly #free: Free
  /** The struct of a context that is freed: only its owner counts. */
  readonly #freed = new BigUint64Array(new ArrayBuffer(CONTEXT_WORDS * 8))
  /** The newest contexts, by owner: as long as one is held, no other context has its owner. */
  readonly #newest = new Map<bigint, HeldContext>()
  readonly #collected = new FinalizationRegistry<Pick<HeldContext, "owner" | "bytes">>((held) => this.#release(held))
  #bytes = 0

  constructor(free: Free) {
    this.#free = free
  }

  /** Takes over a context that the library has written to words. Returns none if it is empty. */
  take(words: BigUint64Array, start: number): HeldContext | undefined {
    const owner = words[start + OWNER] ?? 0n
    if (owner === 0n) return undefined
    const known = this.#newest.get(owner)
    if (known !== undefined) {
      this.#release({ owner, bytes: 0 })
      return known
    }
    const context = new HeldContext(words, start, owner)
    this.#bytes += context.bytes
    this.#collected.register(context, { owner, bytes: context.bytes }, context)
    this.#newest.set(owner, context)
    if (this.#newest.size > MOST_KNOWN) this.#forgetOldest()
    return context
  }

  #forgetOldest(): void {
    const [oldest] = this.#newest.values()
    if (oldest === undefined) return
    this.#newest.delete(oldest.owner)
    if (this.#bytes <= MOST_BYTES) return
    // Reads what was not read so far.
    void [oldest.xml, oldest.stable, oldest.volatile]
    this.#collected.unregister(oldest)
    this.#release(oldest)
  }

  #release({ owner, bytes }: Pick<HeldContext, "owner" | "bytes">): void {
    this.#bytes -= bytes
    this.#freed[OWNER] = owner
    this.#free(this.#freed)
  }
}
