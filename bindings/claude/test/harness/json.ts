// JSON at the boundary of the tests.

/**
 * Reads a record that another program has written. Its shape is not checked: a test that meets another shape fails. This
 * is the only place where text becomes a typed record.
 */
export function readJson<T>(text: string): T {
  return JSON.parse(text) as T
}
