// The API of the scenarios.

export {
  call,
  type Item,
  type Model,
  pop,
  push,
  type Reply,
  type Request,
  startModel,
  type Turn,
  texts,
} from "./model.js"
export { type Person, sitDown } from "./person.js"
export { type PiEvent, type Rpc, serve } from "./rpc.js"
export { type Ended, EXTENSION, framesOf, makeWorld, PI, print, until, type World, type WorldOptions } from "./world.js"
