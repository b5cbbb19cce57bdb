// The command that a person probably meant by a mistyped word.

/** The share of a word's letters that may be wrong. */
const WRONG = 0.4

/** Returns the name that is most like a word; undefined if no name is. */
export function nearestOf(word: string, names: readonly string[]): string | undefined {
  const typed = word.toLowerCase()
  const most = Math.max(1, Math.floor(typed.length * WRONG))
  const distanceTo = (name: string) => (typed.length > 1 && name.startsWith(typed) ? 1 : distance(typed, name))
  const near = names.map((name) => ({ name, far: distanceTo(name) })).filter(({ far }) => far <= most)
  return near.sort((one, other) => one.far - other.far)[0]?.name
}

/** Returns how many letters must be inserted, removed, replaced, or exchanged with the next one. */
function distance(one: string, other: string): number {
  const rows: number[][] = [Array.from({ length: other.length + 1 }, (_, column) => column)]
  for (let row = 1; row <= one.length; row += 1) {
    const [above = [], twoAbove = []] = [rows[row - 1], rows[row - 2]]
    const costs = [row]
    for (let column = 1; column <= other.length; column += 1) {
      const isSame = one[row - 1] === other[column - 1]
      const isExchanged =
        row > 1 && column > 1 && one[row - 1] === other[column - 2] && one[row - 2] === other[column - 1]
      costs[column] = Math.min(
        (above[column] ?? 0) + 1,
        (costs[column - 1] ?? 0) + 1,
        (above[column - 1] ?? 0) + (isSame ? 0 : 1),
        isExchanged ? (twoAbove[column - 2] ?? 0) + 1 : Number.POSITIVE_INFINITY,
      )
    }
    rows.push(costs)
  }
  return rows.at(-1)?.at(-1) ?? 0
}
