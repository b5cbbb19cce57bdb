// Compares the generated signatures with the C header, and calls every function with each argument wrong.

import assert from "node:assert/strict"
import { readFileSync } from "node:fs"
import { join } from "node:path"
import { test } from "node:test"
import { contextChanges, fold, Stack } from "callstack-core"
import koffi from "koffi"
import { StackMethods } from "#internal/generated/methods.js"
import { ABI, SIGNATURES, type Signature } from "#internal/generated/signatures.js"
import { findLibrary } from "#internal/library.js"
import { Native } from "#internal/native.js"
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
/** The only function that takes addresses in place of texts. */
const CONTEXTS = "contexts"
prototypes.delete(CONTEXTS)

const isStack = (parameter: string) => /^(const )?Callstack \*stack$/.test(parameter)
const isContext = (parameter: string) => /^const CallstackContext \*context$/.test(parameter)
const isView = (parameter: string) => /^CallstackView \w+$/.test(parameter)
const isOutput = (parameter: string) => /\*out_\w+$/.test(parameter)
const isError = (parameter: string) => parameter === "CallstackError **error"

/** The signature that a prototype has. Fails if a parameter is of another kind, or in another place. */
function signatureOf(name: string, parameters: readonly string[]): Signature {
  const [first = ""] = parameters
  const stack = isStack(first) || isContext(first)
  const inputs = parameters.filter(isView).length
  const outputs = parameters.filter(isOutput).length
  const order = parameters.map((parameter) =>
    isStack(parameter) || isContext(parameter)
      ? "stack"
      : isView(parameter)
        ? "text"
        : isOutput(parameter)
          ? "output"
          : isError(parameter)
            ? "error"
            : parameter,
  )
  const known = [...(stack ? ["stack"] : []), ...Array(inputs).fill("text"), ...Array(outputs).fill("output"), "error"]
  assert.deepEqual(order, known, name)
  return { stack, inputs, outputs }
}

test("the signatures are those of the header", () => {
  const declared = Object.fromEntries(
    [...prototypes].map(([name, parameters]) => [name, signatureOf(name, parameters)]),
  )
  assert.deepEqual(SIGNATURES, declared)
  assert.equal(String(ABI), /#define CALLSTACK_ABI (\d+)/.exec(header)?.[1])
})

test("every error code of the header has a type", () => {
  const codes = [...header.matchAll(/#define CALLSTACK_ERROR_(\w+) /g)].map(([, name]) => String(name).toLowerCase())
  const source = readFileSync(new URL("bindings/node/src/generated/errors.ts", root), "utf8")
  const union = /^export type NativeErrorCode =\n((?: {2}\| "\w+"\n)+)/m.exec(source)?.[1] ?? ""
  assert.deepEqual(
    [...union.matchAll(/"(\w+)"/g)].map(([, code]) => code),
    codes,
  )
  assert.ok(codes.length > 25)
})

/** How {@link Native} reads what a function returns. */
function readerOf(parameters: readonly string[]): string {
  const types = parameters.filter(isOutput).map((parameter) => parameter.replace(/ ?out_\w+$/, ""))
  switch (types.join()) {
    case "":
      return "run"
    case "CallstackText *":
      return "text"
    case "CallstackText *,CallstackText *":
      return "twoTexts"
    case "CallstackContext *":
      return "context"
    case "int32_t *":
    case "uint64_t *":
    case "Callstack **":
      return "value"
    default:
      return assert.fail(types.join())
  }
}

test("each method passes all texts that its function takes, and reads what it returns", (t) => {
  const native = Native.get()
  using stack = Stack.inMemory()
  let calls: [reader: string, name: string, inputs: number][] = []
  const record = (reader: string, name: string, inputs: readonly unknown[]) => {
    calls.push([reader, name, inputs.length])
  }
  const readers = {
    run: native.run,
    text: native.text,
    twoTexts: native.twoTexts,
    value: native.value,
    context: native.context,
    contextReport: native.contextReport,
    contexts: native.contexts,
    close: native.close,
  }
  const restore = () => Object.assign(native, readers)
  t.after(restore)
  native.run = (name, _, ...inputs) => record("run", name, inputs)
  native.text = (name, _, ...inputs) => {
    record("text", name, inputs)
    return "null"
  }
  native.twoTexts = (name, ...inputs) => {
    record("twoTexts", name, inputs)
    return ["null", "[]"]
  }
  native.value = (name, _, ...inputs) => {
    record("value", name, inputs)
    return 0n
  }
  native.context = (name, _, ...inputs) => {
    record("context", name, inputs)
    return undefined
  }
  native.contextReport = (_, ...inputs) => {
    record("context", "context", inputs)
    record("text", "context_report", [])
    return "null"
  }
  native.close = () => undefined

  const called = new Set<string>()
  /** Calls a method, and returns the only function that it has called. */
  const check = (method: string, call: () => unknown): void => {
    calls = []
    const result = call()
    if (result instanceof Stack) result.close()
    assert.ok(calls.length > 0, `${method} calls nothing`)
    for (const [reader, name, inputs] of calls) {
      called.add(name)
      const signature = new Map<string, Signature>(Object.entries(SIGNATURES)).get(name)
      assert.equal(inputs, signature?.inputs, `${method}: the number of texts of ${name}`)
      assert.equal(reader, readerOf(prototypes.get(name) ?? []), `${method}: what ${name} returns`)
    }
  }

  for (const method of Object.getOwnPropertyNames(StackMethods.prototype)) {
    if (method === "constructor") continue
    const carry: (...values: unknown[]) => unknown = Reflect.get(StackMethods.prototype, method)
    check(method, () => carry.apply(stack, Array(carry.length).fill("f1")))
    const name = method.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`)
    assert.deepEqual(
      calls.map(([, name]) => name),
      [name],
    )
  }
  check("tools of a stack", () => stack.tools())
  check("asActor", () => stack.asActor({ kind: "person", name: "Ann" }))
  check("contextReport", () => stack.contextReport("f1"))
  check("sessionContext", () => stack.sessionContext("ses_1"))
  check("open", () => Stack.open("."))
  check("inMemory", () => Stack.inMemory())
  check("fromState", () => Stack.fromState("{}"))
  check("rebuild", () => Stack.rebuild(".", ""))
  check("settings", () => Stack.settings())
  check("tools", () => Stack.tools())
  check("contextChanges", () => contextChanges("", ""))
  check("fold", () => fold("chat", ""))
  restore()
  assert.deepEqual([...called].sort(), [...prototypes.keys()].sort())
})

/** A text as the library takes it. koffi passes the bytes of a buffer for `void *`. */
const VIEW = koffi.struct({ data: "void *", len: "size_t" })
interface View {
  readonly data: Buffer | null
  readonly len: number | bigint
}

/** The view of these bytes, or of a text. */
function view(content: string | readonly number[]): View {
  const data = typeof content === "string" ? Buffer.from(content) : Buffer.from(content)
  return { data, len: data.length }
}

test("every function survives NULL, impossible lengths and bytes that are not UTF-8, in every position", () => {
  const library = koffi.load(findLibrary())
  const code = (name: string) => Number(new RegExp(`#define CALLSTACK_ERROR_${name} (\\d+)`).exec(header)?.[1])
  // The tools need no stack. Without one the first error is that the query is not JSON.
  const [NULL, LENGTH, UTF8, NOT_JSON] = [code("NULL"), code("LENGTH"), code("UTF8"), code("JSON")]
  const freeText = library.func("void callstack_text_free(void *text)")
  const freeContext = library.func("void callstack_context_free(void *context)")
  const freeError = library.func("void callstack_error_free(void *error)")
  const close = library.func("int32_t callstack_close(void *stack, void *error)")
  const open = library.func("callstack_in_memory", "int32_t", [VIEW, "void *", "void *"])
  const push = library.func("callstack_push", "int32_t", ["void *", VIEW, "void *", "void *"])
  const makeContext = library.func("callstack_context", "int32_t", ["void *", VIEW, VIEW, "void *", "void *"])
  const place = new BigUint64Array(1)
  const error = new BigUint64Array(1)
  assert.equal(open(view('{"history": true}'), place, null), 0)
  const [stack] = place
  assert.ok(stack !== undefined)
  // The context whose report is asked for. The other functions see the frame too.
  const context = new BigUint64Array(8)
  assert.equal(push(stack, view('{"title": "Build"}'), null, null), 0)
  const absent: View = { data: null, len: 0 }
  assert.equal(makeContext(stack, view("f1"), absent, context, null), 0)
  let calls = 0
  const scratch = join(folder(), "f1")
  /** A valid text for a parameter. Functions that write files get a temporary folder, not the working directory. */
  const textFor = (parameter: string) => (parameter === "CallstackView folder" ? scratch : "f1")

  for (const [name, parameters] of prototypes) {
    const call = library.func(
      `callstack_${name}`,
      "int32_t",
      parameters.map((parameter) => (isView(parameter) ? VIEW : "void *")),
    )
    const outputs = parameters.map(() => new BigUint64Array(8))
    const attempt = (change: (index: number, parameter: string) => unknown): number => {
      calls++
      const values = parameters.map((parameter, index) => {
        const changed = change(index, parameter)
        if (changed !== undefined) return changed
        if (isStack(parameter)) return stack
        if (isContext(parameter)) return context
        if (isView(parameter)) return view(textFor(parameter))
        return isOutput(parameter) ? outputs[index] : error
      })
      const answer = call(...values)
      if (values.at(-1) !== null) assert.equal(answer === 0, error[0] === 0n, `${name}: code ${answer}`)
      freeError(error)
      parameters.forEach((parameter, index) => {
        if (/^CallstackText/.test(parameter)) freeText(outputs[index])
        if (/^CallstackContext/.test(parameter)) freeContext(outputs[index])
        if (/^Callstack \*\*/.test(parameter)) close(outputs[index], null)
      })
      return answer
    }
    parameters.forEach((parameter, position) => {
      const at = (value: unknown) => attempt((index) => (index === position ? value : undefined))
      if (isStack(parameter)) assert.equal(at(null), name === "tools" ? NOT_JSON : NULL, `${name}: no stack`)
      else if (isContext(parameter)) assert.equal(at(null), NULL, `${name}: no context`)
      else if (isView(parameter)) {
        // An argument before this one may be wrong too, so the code may be any error.
        assert.notEqual(at({ data: null, len: 2 }), 0, `${name}: ${parameter} is NULL with a length`)
        assert.notEqual(at(view([0xff, 0xfe])), 0, `${name}: ${parameter} is not UTF-8`)
        const long = at({ ...view(textFor(parameter)), len: 2n ** 64n - 1n })
        assert.notEqual(long, 0, `${name}: ${parameter} of 2^64 - 1 bytes`)
      } else if (/\*out_stack$/.test(parameter)) assert.equal(at(null), NULL, `${name}: no output for the stack`)
      else at(null)
    })
    // The first text is read first, so its error is the one that is returned.
    const first = parameters.findIndex(isView)
    if (first >= 0) {
      const at = (value: View) => attempt((index) => (index === first ? value : undefined))
      assert.equal(at({ data: null, len: 2 }), NULL, name)
      assert.equal(at(view([0xc3, 0x28])), UTF8, name)
      assert.equal(at({ ...view("f1"), len: 2n ** 63n }), LENGTH, name)
    }
    // With all arguments empty, some functions succeed and others fail; none may crash.
    attempt((_, parameter) =>
      isStack(parameter) || isContext(parameter) ? undefined : isView(parameter) ? absent : null,
    )
  }
  assert.ok(calls > 300, `only ${calls} calls`)
  freeContext(context)
  place[0] = stack
  assert.equal(close(place, null), 0)
})
