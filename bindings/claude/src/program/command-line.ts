// The commands and options of the command line.

import { Command, CommanderError } from "commander"
import { EXIT_HELP, Exit } from "./exit.js"
import { Failure } from "./failure.js"
import { nearestOf } from "./nearest.js"
import {
  addChildOptions,
  addGoalOptions,
  addPlaceOptions,
  addRunOptions,
  type ChildOptions,
  type GoalOptions,
  type PlaceOptions,
  quoted,
  type RunOptions,
} from "./options.js"
import { oneLine } from "./text.js"

/** What the commands do. Each returns the exit code. */
export interface Actions {
  /** `flame GOAL` and `flame run [GOAL]`. */
  run(goal: string, options: RunOptions & GoalOptions): Promise<number>
  resume(options: RunOptions): Promise<number>
  repl(options: RunOptions): Promise<number>
  push(goal: string, options: RunOptions & ChildOptions): Promise<number>
  activate(frame: string, answer: string, options: RunOptions): Promise<number>
  /** A command that `callstack` executes. */
  callstack(command: string, options: PlaceOptions, more: readonly string[]): Promise<number>
}

/**
 * The commands of `callstack` that `flame` has too, with the arguments that they have there: a word means the
 * same in both.
 */
const OF_CALLSTACK = {
  status: "show where the work stands",
  next: "show the frame that should begin next",
  list: "list frames in the order of the plan",
  search: "find frames by the words of their texts",
  tree: "show all frames, or those below a frame",
  plan: "plan frames below the current one, or new roots, and run nothing",
  add: "plan frames, as `plan` does",
  pop: "end a frame with its results",
  done: "complete a frame",
  answer: "answer a frame that waits for you, or list those that do",
  stop: "stop what runs at or below a frame, or all",
  usage: "show requests, tokens and costs",
  show: "show all that is known of a frame",
  log: "show what was said and done in a frame",
  edit: "correct the words of a frame, or its place in the plan",
  retry: "plan another attempt of a failed or blocked frame, with a note on what to do differently",
  invalidate: "take frames out of the plan, with a reason",
  tidy: "remove what was planned and can never begin",
  reopen: "let a completed frame that is wrong continue",
  undo: "take back what a person has done last",
  context: "show what the agent of a frame sees",
  history: "show what has happened",
  ready: "show the planned frames that can begin",
  watch: "show the work live, and steer it",
  view: "show the stack as a page with a flame chart",
}

/** What the command line depends on, in addition to its words. */
export interface Surroundings {
  /** Whether there is a terminal for a dialogue. */
  isInteractive: boolean
  /** The version of the package. */
  version: string
}

const EXAMPLES = `Examples:
  flame "Build a REST API with authentication"    runs the goal as a tree of frames
  flame                                           at a terminal: a dialogue, in which you push, pop and answer
  flame --no-wait --json "Update the docs"        for scripts: JSON on each line, and no questions
  flame answer f3 "Take PostgreSQL"               answers a frame that waits for you
  flame resume                                    continues what was stopped`

/** Reads the command line and does what it says. Returns the exit code. */
export async function runCommandLine(
  words: readonly string[],
  actions: Actions,
  surroundings: Surroundings,
): Promise<number> {
  let code: number = Exit.done
  const program = commandLine(actions, surroundings, (result) => {
    code = result
  })
  try {
    await program.parseAsync([...words], { from: "user" })
    return code
  } catch (error) {
    if (!(error instanceof CommanderError)) throw error
    if (error.exitCode === 0) return Exit.done
    throw misused(error)
  }
}

function commandLine(
  actions: Actions,
  { isInteractive, version }: Surroundings,
  done: (code: number) => void,
): Command {
  const program = new Command("flame")
    .description("Runs a goal as a tree of frames, each in a session of its own.")
    .usage('[options] "GOAL"\n       flame [options] COMMAND')
    .argument("[goal...]", "what is to be done, as one argument; without it, at a terminal, a dialogue begins")
    .version(version, "-V, --version", "write the version")
    .enablePositionalOptions()
    .exitOverride()
    .configureOutput({ writeErr: () => undefined })
    .addHelpText("after", `\n${EXIT_HELP}\n\n${EXAMPLES}\n\n\`flame COMMAND --help\` explains a command.`)
  addRunOptions(addGoalOptions(addPlaceOptions(program))).action(async (goal: string[]) => {
    const options: RunOptions & GoalOptions = program.opts()
    if (goal.length === 0 && !isInteractive) throw nothingToDo()
    const [words = "", ...more] = goal
    if (goal.length > 0 && (more.length > 0 || !/\s/.test(words.trim()))) throw noCommand(goal, program)
    done(goal.length === 0 ? await actions.repl(options) : await actions.run(words, options))
  })

  /** Adds a command. Its options may also come before its name. */
  function add<Options extends PlaceOptions>(
    usage: string,
    description: string,
    kind: "place" | "goal" | "child" | "run" | "run goal" | "run child",
    action: (values: (string | string[] | undefined)[], options: Options) => Promise<number>,
  ): Command {
    const command = addPlaceOptions(program.command(usage).description(description))
    if (kind.includes("goal")) addGoalOptions(command)
    if (kind.includes("child")) addChildOptions(command)
    if (kind.includes("run")) addRunOptions(command)
    return command.action(async () => {
      done(await action(command.processedArgs, merged(program, command)))
    })
  }

  const joined = (words: string | string[] | undefined) => [words ?? []].flat().join(" ")
  add<RunOptions & GoalOptions>(
    "run [goal...]",
    "run a goal as a new root, or a root that was planned",
    "run goal",
    ([goal], options) => actions.run(joined(goal), options),
  )
  add<RunOptions>("resume", "resume everything that was stopped, interrupted or answered", "run", (_, options) =>
    actions.resume(options),
  )
  add<RunOptions>("repl", "hold a dialogue, in which you push, pop and answer while frames run", "run", (_, options) =>
    actions.repl(options),
  )
  add<RunOptions & ChildOptions>(
    "push <goal...>",
    "run a new frame below the current one, or below --parent",
    "run child",
    ([goal], options) => actions.push(joined(goal), options),
  )
  add<RunOptions>(
    "activate <frame> [answer...]",
    "run a planned frame, or resume one that is blocked or was interrupted",
    "run",
    ([frame, answer], options) => actions.activate(joined(frame), joined(answer), options),
  )
  for (const [word, description] of Object.entries(OF_CALLSTACK)) {
    add(`${word} [arguments...]`, `${description}, by \`callstack ${word}\``, "place", ([more], options) =>
      actions.callstack(word, options, [more ?? []].flat()),
    )
      .allowUnknownOption()
      // The help is that of `callstack`.
      .helpOption(false)
  }
  return program
}

/** The options of a command, including those before its name. */
function merged<Options>(program: Command, command: Command): Options {
  const own = Object.entries(command.opts()).filter(([name]) => command.getOptionValueSource(name) !== "default")
  return { ...program.opts(), ...Object.fromEntries(own) } as Options
}

function misused(cause: CommanderError): Failure {
  const message = cause.message.replace(/^error: /, "")
  return new Failure(Exit.usage, "arguments", message, { next: "`flame --help` explains the commands", cause })
}

function nothingToDo(): Failure {
  return new Failure(Exit.usage, "arguments", "there is no goal, and no terminal for a dialogue", {
    next: '`flame "GOAL"` runs a goal, `flame --help` explains the commands',
  })
}

/** Words without a command may be a mistyped command, which must not begin a run. */
function noCommand([word = "", ...others]: readonly string[], program: Command): Failure {
  const nearest = nearestOf(
    word,
    program.commands.map((command) => command.name()),
  )
  const help = nearest === undefined ? "`flame --help` lists the commands" : `perhaps it is \`flame ${nearest}\``
  const goal = others.length === 0 ? `flame run ${quoted(word)}` : 'flame "GOAL", with the goal as one argument'
  return new Failure(Exit.usage, "arguments", `there is no command \`${oneLine(word)}\``, {
    next: `${help}; if it is a goal: ${goal}`,
  })
}
