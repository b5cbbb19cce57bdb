// The title of a frame when only its goal is known.

/** The longest title, in characters. */
const LONGEST = 60

/** Returns the beginning of a goal's first line, cut between two words. */
export function titleOf(goal: string): string {
  const line = goal.trim().split(/\r?\n/, 1)[0] ?? ""
  const words = line.replace(/\s+/g, " ")
  if ([...words].length <= LONGEST) return words
  const cut = [...words].slice(0, LONGEST).join("")
  return `${cut.slice(0, Math.max(cut.lastIndexOf(" "), LONGEST / 2)).trimEnd()}…`
}
