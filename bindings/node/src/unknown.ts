// Access to keys that this version of the package does not know.

/**
 * Returns the value of a key that the types do not declare; undefined if the record does not have it.
 * Imported files may have such keys, in frames and in the state, and the stack keeps them. The types have no
 * index signature, so a typo in a declared key does not compile; a declared key as `key` does not compile
 * either.
 *
 * ```js
 * const priority = unknownKey(stack.frame("f1"), "priority")
 * ```
 */
export function unknownKey<R extends object, K extends string>(record: R, key: K extends keyof R ? never : K): unknown {
  return Object.getOwnPropertyDescriptor(record, key)?.value
}
