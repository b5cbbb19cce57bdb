//! Contexts name the tools that the host has, and no others.

use callstack_core::context::Shown;
use callstack_core::frame::{NewChunk, Register};
use callstack_core::{
    Budget, Context, Error, FrameStatus, Guidance, NewFrame, PopStatus, Settings, Stack, ToolNames, ToolRole,
};
use support::set_status;

/// Names that no text holds by chance, and that XML has to escape.
fn nonsense() -> ToolNames {
    ToolRole::ALL.iter().fold(ToolNames::none(), |names, &role| names.name(role, word(role)))
}

fn word(role: ToolRole) -> String {
    format!("zork<&\"{role:?}'>")
}

/// Frames in every state, with a heap and registers that do not fit.
fn project() -> Stack {
    let stack = Stack::in_memory();
    let push = |frame: NewFrame| stack.push(frame).unwrap();
    push(NewFrame::new("New").id("new"));
    push(NewFrame::new("Project").id("root").criteria("All of it works").root());
    let plan = |title: &str| NewFrame::new(title).id(title).below("root");
    for frame in [
        plan("done"),
        plan("later"),
        plan("waiting").depends_on("later"),
        plan("gone"),
        plan("help"),
        plan("vain").depends_on("gone"),
    ] {
        stack.plan(frame).unwrap();
    }
    stack.activate("done").unwrap();
    stack.pop("done", PopStatus::Completed, "Done with project and parser").unwrap();
    stack.invalidate("gone", "not needed").unwrap();
    stack.activate("help").unwrap();
    set_status(&stack, "help", FrameStatus::Blocked, None).unwrap();
    push(NewFrame::new("work").id("work").criteria("The parser of the project works").below("root"));
    stack.plan(NewFrame::new("part").id("part").below("work")).unwrap();
    push(NewFrame::new("stuck").id("stuck").below("root"));
    stack.plan(NewFrame::new("never").id("never").below("stuck").depends_on("later")).unwrap();
    push(NewFrame::new("last").id("last").below("root"));
    push(NewFrame::new("alone").id("alone").root());
    push(NewFrame::new("only").id("only").below("alone"));
    push(NewFrame::new("whole").id("whole").root());
    stack.plan(NewFrame::new("dropped").id("dropped").below("whole")).unwrap();
    stack.invalidate("dropped", "not needed").unwrap();
    for (name, content) in [("long", "word ".repeat(2_000)), ("divided", "a]]>b".into()), ("odd", "\u{1}".into())] {
        stack.heap("root").allocate(NewChunk::new(name).content(content)).unwrap();
    }
    let notes = [(Register::Goal, "short".to_owned()), (Register::Plan, "long note, ".repeat(80))];
    for frame in ["work", "last", "only"] {
        stack.update_registers(frame, notes.clone().into()).unwrap();
    }
    stack
}

/// Contexts of all frames, with every guidance and several budgets.
fn contexts(stack: &Stack, tools: &ToolNames) -> Vec<Context> {
    let mut contexts = Vec::new();
    for frame in stack.read(|tree| tree.handles().collect::<Vec<_>>()).unwrap() {
        for guidance in [Guidance::Full, Guidance::Brief, Guidance::None] {
            for total in [300, 420, 700, 1_500, 20_000] {
                let tools = tools.clone();
                let budget = Budget::of_total(total).heap(100);
                let settings = Settings::default().guidance(guidance).budget(budget).tools(tools);
                contexts.extend(stack.context_uncached(frame, &settings).ok());
            }
        }
    }
    assert!(contexts.len() > 150, "only {} contexts", contexts.len());
    contexts
}

/// The text without the names of its elements.
fn without_elements(context: &Context) -> String {
    ["stack-context", "stack-now", "stack-task-management"]
        .into_iter()
        .fold(context.xml.clone(), |text, element| text.replace(element, ""))
}

fn assert_no_default_name(context: &Context) {
    let text = without_elements(context);
    for word in ["stack_", "stack-"].into_iter().chain(ToolRole::ALL.iter().map(|role| role.tool())) {
        assert!(!text.contains(word), "{word} is in\n{}", context.xml);
    }
    roxmltree::Document::parse(&context.xml).unwrap();
}

#[test]
fn contexts_name_the_tools_of_the_host() {
    let stack = project();
    let contexts = contexts(&stack, &nonsense());
    contexts.iter().for_each(assert_no_default_name);
    let named_in_contexts = [
        ToolRole::Push,
        ToolRole::Pop,
        ToolRole::Activate,
        ToolRole::PlanChildren,
        ToolRole::HeapRead,
        ToolRole::UpdateRegisters,
        ToolRole::Edit,
    ];
    for role in named_in_contexts {
        let escaped = callstack_core::context::escape(&word(role)).into_owned();
        assert!(contexts.iter().any(|context| context.xml.contains(&escaped)), "{role:?} is never named");
    }
    // The trees are such that every sentence with a name is there.
    let texts: String = contexts.iter().map(|context| context.xml.as_str()).collect();
    for part in [
        "Nothing is planned yet",
        "This frame is planned",
        "Begin the next planned child",
        "No planned child can begin",
        "; next is ",
        " resumes.",
        "which ends the whole task",
        "<rule>When done",
        "<when-to-create-child-frames>",
        "Chunks without text did not fit",
        "stand as U+FFFD",
        "<registers omitted=",
        "is out of the plan",
        "which is invalidated: not needed (",
        "This frame depends on",
        "is blocked",
    ] {
        assert!(texts.contains(part), "no context has {part:?}");
    }
    let is_omitted = |context: &Context| context.report.chunks.iter().any(|chunk| chunk.shown == Shown::Omitted);
    assert!(contexts.iter().any(is_omitted));
}

#[test]
fn contexts_without_names_are_plain_sentences() {
    let stack = project();
    let contexts = contexts(&stack, &ToolNames::none());
    contexts.iter().for_each(assert_no_default_name);
    let texts: String = contexts.iter().map(|context| context.xml.as_str()).collect();
    for part in [
        "Use it in place of any to-do list.",
        "When done, finish this frame with full results",
        "Push a child frame for work that",
        "plan each as a child frame, with criteria that can be checked; then start the first.",
        "This frame is planned: begin it.",
        "Begin the next planned child, f",
        "then finish this frame; next is f",
        "then finish this frame, which ends the whole task.",
        "<note>Chunks without text did not fit into this context.</note>",
        "note=\"characters that XML cannot hold (1) stand as U+FFFD\"",
        "<registers omitted=\"1\">",
    ] {
        assert!(texts.contains(part), "no context has {part:?}");
    }
    assert!(!texts.contains("with  ") && !texts.contains("call ;") && !texts.contains("()"));
}

#[test]
fn a_prefix_stands_before_every_name() {
    let stack = project();
    let (plain, prefixed) =
        (contexts(&stack, &ToolNames::default()), contexts(&stack, &ToolNames::with_prefix("mcp__host__")));
    let names = |context: &Context| context.xml.matches("stack_").count();
    assert!(plain.iter().any(|context| names(context) > 5));
    for context in prefixed {
        let with_prefix = context.xml.matches("mcp__host__stack_").count();
        assert_eq!(with_prefix, names(&context), "{}", context.xml);
    }
}

#[test]
fn the_cache_tells_vocabularies_apart() {
    let stack = project();
    let settings = |tools: ToolNames| Settings::default().tools(tools);
    // More than are kept, each twice.
    for _ in 0..2 {
        for number in 0..12 {
            let tools = ToolNames::with_prefix(format!("host{number}__"));
            let context = stack.context("work", &settings(tools.clone())).unwrap();
            assert!(context.xml.contains(&format!("host{number}__stack_")), "{}", context.xml);
            assert_eq!(*context, stack.context_uncached("work", &settings(tools)).unwrap());
        }
    }
    assert_eq!(stack.upkeep().cache_statistics().hits, 12);
}

#[test]
fn names_that_no_tool_can_have_are_refused() {
    let stack = project();
    for name in ["", "two\nlines", &"x".repeat(65)] {
        let tools = ToolNames::default().name(ToolRole::Pop, name);
        let problem = stack.context("work", &Settings::default().tools(tools)).unwrap_err();
        assert!(matches!(&problem, Error::Setting { name, .. } if name == "tools.pop"), "{problem}");
    }
    let problem = Settings::from_json(r#"{"tools": {"prefix": "a\tb"}}"#).unwrap_err();
    assert!(matches!(&problem, Error::Setting { name, .. } if name == "tools.prefix"), "{problem}");
    let settings = Settings::from_json(r#"{"tools": "none"}"#).unwrap();
    assert_eq!(settings.tools, ToolNames::none());
    assert_eq!(Settings::from_json(&serde_json::to_string(&settings).unwrap()).unwrap(), settings);
    assert!(Settings::from_json(r#"{"tools": {"pusch": "x"}}"#).is_err());
}
