// Files that OpenCode's tools change become artifacts of the frame.

import assert from "node:assert/strict"
import { existsSync } from "node:fs"
import { join } from "node:path"
import { test } from "node:test"
import { byTask, call, scenario } from "./harness/index.js"

const PATCH = `*** Begin Patch
*** Add File: src/new.ts
+export const fresh = 1
*** Update File: src/cart.ts
@@
-export const total = 0
+export const total = 1
*** Update File: src/tax.ts
*** Move to: src/taxes.ts
@@
-export const rate = 0
+export const rate = 7
*** Delete File: src/old.ts
*** End Patch`

test("all files of a patch are artifacts, with those that it deletes and renames", async (t) => {
  const { model, server, frames, project } = await scenario(
    t,
    byTask({ "Build a shop": [call("apply_patch", { patchText: PATCH }), { text: "Done" }] }),
    {
      config: { model: "scripted/gpt-5" },
      files: {
        "src/cart.ts": "export const total = 0\n",
        "src/tax.ts": "export const rate = 0\n",
        "src/old.ts": "export const old = 0\n",
      },
    },
  )
  const { sessionID, text } = await server.prompt("Build a shop")
  assert.equal(text, "Done")
  assert.ok(model.work(sessionID)[0]?.tools.has("apply_patch"), "the model has the tool")
  assert.ok(existsSync(join(project.path, "src/taxes.ts")) && !existsSync(join(project.path, "src/old.ts")))
  assert.deepEqual(frames().get("Test")?.artifacts, [
    "src/new.ts",
    "src/cart.ts",
    "src/taxes.ts (renamed from src/tax.ts)",
    "src/old.ts (deleted)",
  ])
})
