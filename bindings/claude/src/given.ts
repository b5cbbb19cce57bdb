// Leaves out the values that were not given.

/** Returns the values that are not undefined. */
export function given<Values extends object>(
  values: Values,
): { [Key in keyof Values]: Exclude<Values[Key], undefined> } {
  const entries = Object.entries(values).filter(([, value]) => value !== undefined)
  return Object.fromEntries(entries) as { [Key in keyof Values]: Exclude<Values[Key], undefined> }
}
