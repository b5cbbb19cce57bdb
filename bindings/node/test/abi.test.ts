// Compares the table of signatures with the C header, and calls every function with each argument wrong in turn.

import assert from "node:assert/strict"
import { readFileSync } from "node:fs"
import { join } from "node:path"
import { test } from "node:test"
import koffi from "koffi"
import { findLibrary } from "#internal/library.js"
import { SIGNATURES } from "#internal/native.js"
import { folder, root } from "./common.js"

const header = readFileSync(new URL("include/callstack.h", root), "utf8")

/** Every function that returns an error code, with its parameters as in the header. */
const prototypes = new Map<string, string[]>(
  [...header.matchAll(/^CallstackCode callstack_(\w+)\(([^)]*)\)/gm)].map(([, name = "", parameters = ""]) => [
    name,
    parameters.split(",").map((parameter) => parameter.trim().replace(/\s+/g, " ")),
  ]),
)
prototypes.delete("close")
prototypes.delete("error_code")

function lettersOf(parameters: readonly string[]): string {
  let letters = parameters[0] === "Callstack *stack" || parameters[0] === "const Callstack *stack" ? "" : "N"
  for (const parameter of parameters) {
    if (/^const char \*/.test(parameter)) letters += "t"
    else if (/^(CallstackStatus|int32_t) \w/.test(parameter)) letters += "n"
    else if (/^CallstackText \*out_/.test(parameter)) letters += "o"
    else if (/\*out_/.test(parameter)) letters += "v"
  }
  return letters
}

test("the signatures are those of the header", () => {
  const declared = Object.fromEntries([...prototypes].map(([name, parameters]) => [name, lettersOf(parameters)]))
  // The prototypes do not say which texts may be NULL.
  const written = Object.fromEntries(
    Object.entries(SIGNATURES).map(([name, letters]) => [name, letters.replaceAll("?", "")]),
  )
  assert.deepEqual(written, declared)
  const abi = /#define CALLSTACK_ABI (\d+)/.exec(header)?.[1]
  assert.match(readFileSync(new URL("bindings/node/src/native.ts", root), "utf8"), new RegExp(`const ABI = ${abi}\n`))
})

test("every error code of the header has a type", () => {
  const codes = [...header.matchAll(/#define CALLSTACK_ERROR_(\w+) /g)].map(([, name]) => String(name).toLowerCase())
  const source = readFileSync(new URL("bindings/node/src/error.ts", root), "utf8")
  // Errors about pointers, which this package cannot cause.
  const internal = ["null", "length", "utf8"]
  for (const code of codes.filter((code) => !internal.includes(code))) assert.ok(source.includes(`"${code}"`), code)
  assert.ok(codes.length > 25)
})

test("every function survives NULL, impossible lengths and bytes that are not UTF-8, in every position", () => {
  const library = koffi.load(findLibrary())
  const code = (name: string) => Number(new RegExp(`#define CALLSTACK_ERROR_${name} (\\d+)`).exec(header)?.[1])
  const [NULL, LENGTH, UTF8] = [code("NULL"), code("LENGTH"), code("UTF8")]
  const freeText = library.func("void callstack_text_free(void *text)")
  const freeError = library.func("void callstack_error_free(void *error)")
  const close = library.func("int32_t callstack_close(void *stack, void *error)")
  const open = library.func(
    "int32_t callstack_in_memory(const char *options, size_t options_len, void *out, void *error)",
  )
  const place = new BigUint64Array(1)
  const error = new BigUint64Array(1)
  assert.equal(open('{"history": true}', 17, place, null), 0)
  const [stack] = place
  assert.ok(stack !== undefined)
  let calls = 0
  const scratch = join(folder(), "f1")
  /** A valid text for a parameter. Functions that write files get a temporary folder, not the working directory. */
  const textFor = (parameter: string) => (parameter === "const char *folder" ? scratch : "f1")

  for (const [name, parameters] of prototypes) {
    const types = parameters.map((parameter) =>
      /^size_t /.test(parameter) ? "size_t" : /^CallstackStatus/.test(parameter) ? "int32_t" : "void *",
    )
    const call = library.func(`callstack_${name}`, "int32_t", types)
    const outputs = parameters.map(() => new BigUint64Array(2))
    const attempt = (change: (index: number, parameter: string) => unknown): number => {
      calls++
      const values = parameters.map((parameter, index) => {
        const changed = change(index, parameter)
        if (changed !== undefined) return changed
        if (/Callstack \*stack$/.test(parameter)) return stack
        if (/^const char/.test(parameter)) return Buffer.from(textFor(parameter))
        if (/^size_t/.test(parameter)) return Buffer.byteLength(textFor(parameters[index - 1] ?? ""))
        if (/^CallstackStatus/.test(parameter)) return 77
        if (/\*out_/.test(parameter)) return outputs[index]
        return error
      })
      const answer = call(...values)
      if (values.at(-1) !== null) assert.equal(answer === 0, error[0] === 0n, `${name}: code ${answer}`)
      freeError(error)
      parameters.forEach((parameter, index) => {
        if (/^CallstackText/.test(parameter)) freeText(outputs[index])
        if (/^Callstack \*\*/.test(parameter)) close(outputs[index], null)
      })
      return answer
    }
    parameters.forEach((parameter, position) => {
      const at = (value: unknown) => attempt((index) => (index === position ? value : undefined))
      if (/Callstack \*stack$/.test(parameter)) assert.equal(at(null), NULL, `${name}: no stack`)
      else if (/^const char/.test(parameter)) {
        // An argument before this one may be wrong too, so the code may be any error.
        assert.notEqual(at(null), 0, `${name}: ${parameter} is NULL with a length`)
        assert.notEqual(at(Buffer.from([0xff, 0xfe])), 0, `${name}: ${parameter} is not UTF-8`)
        const long = attempt((index) => (index === position + 1 ? 2n ** 64n - 1n : undefined))
        assert.notEqual(long, 0, `${name}: ${parameter} of 2^64 - 1 bytes`)
      } else if (/\*out_stack$/.test(parameter)) assert.equal(at(null), NULL, `${name}: no output for the stack`)
      else if (/\*out_/.test(parameter) || /\*\*error$/.test(parameter)) at(null)
    })
    // The first text is read first, so its error is the one that is returned.
    const first = parameters.findIndex((parameter) => /^const char/.test(parameter))
    if (first >= 0) {
      assert.equal(
        attempt((index) => (index === first ? null : undefined)),
        NULL,
        name,
      )
      assert.equal(
        attempt((index) => (index === first ? Buffer.from([0xc3, 0x28]) : undefined)),
        UTF8,
        name,
      )
      assert.equal(
        attempt((index) => (index === first + 1 ? 2n ** 63n : undefined)),
        LENGTH,
        name,
      )
    }
    // With all arguments empty, some functions succeed and others fail; none may crash.
    attempt((_, parameter) =>
      /Callstack \*stack$/.test(parameter) ? undefined : /^size_t|^CallstackStatus/.test(parameter) ? 0 : null,
    )
  }
  assert.ok(calls > 300, `only ${calls} calls`)
  place[0] = stack
  assert.equal(close(place, null), 0)
})
