//! Tests of the agent's tools: the table compared with the specification, valid and invalid arguments of
//! every tool, and the texts of the answers.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use callstack_core::session::autonomy::AutonomyLevel;
use callstack_core::session::calls::CallPlace;
use callstack_core::session::{Effect, HostEvent};
use callstack_core::tools::{self, Answer, Tool};
use callstack_core::{FrameStatus, HostSettings, Stack, ToolNames, ToolRole, ToolSet};
use proptest::prelude::*;
use serde_json::{Map, Value, json};

/// The tools of the specification, then the tools that this library adds. Each line has the arguments of a
/// tool, with `?` for optional arguments, and the allowed values.
const INTERFACE: &str = "
stack_frame_push: title string, successCriteria string, successCriteriaCompacted string
stack_frame_pop: frameID? string, status completed|failed|blocked, question? string, results string, resultsCompacted string
stack_status:
stack_tree: showFull? boolean true, rootID? string, showDetails? boolean false
stack_frame_details: frameID string
stack_add_artifact: artifact string
stack_add_decision: decision string
stack_context_info:
stack_context_preview: maxLength? integer 2000
stack_cache_clear: sessionID? string
stack_frame_summarize: note? string
stack_compaction_info:
stack_get_summary: sessionID? string
stack_config: enabled? boolean, autoCompleteOnIdle? boolean, injectParentContext? boolean, propagateSummaries? boolean, minDuration? integer, minMessageCount? integer, idleCompletionDelay? integer, addPattern? string, removePattern? string
stack_stats: reset? boolean, showActive? boolean
stack_subagent_complete: sessionID? string, status? completed|failed|blocked, summary? string
stack_subagent_list: filter? all|active|completed
stack_frame_plan: title string, successCriteria string, successCriteriaCompacted string, parentSessionID? string
stack_frame_plan_children: parentSessionID? string, children array
stack_frame_activate: sessionID string, answer? string
stack_frame_invalidate: sessionID? string, reason string
stack_autonomy: level? manual|suggest|auto, pushThreshold? integer, popThreshold? integer, suggestInContext? boolean, reset? boolean, enableHeuristic? failure_boundary|context_switch|complexity|duration|goal_completion|stagnation|context_overflow, disableHeuristic? failure_boundary|context_switch|complexity|duration|goal_completion|stagnation|context_overflow
stack_should_push: potentialGoal? string, recentMessages? integer, errorCount? integer, tokenCount? integer, recentFileChanges? array
stack_should_pop: successSignals? array, failureSignals? array, noProgressTurns? integer, tokenCount? integer, contextLimit? integer
stack_auto_suggest: enable? boolean, clearPending? boolean, showHistory? boolean
stack_autonomy_stats: reset? boolean
stack_get_state:
stack_frame_log: frameID? string, from? integer, to? integer, search? string, tail? integer
stack_frame_identify: title string, successCriteria string, successCriteriaCompacted? string, frameID? string
stack_heap_alloc: name string, content string, description? string, scope? tree|frame
stack_heap_write: name string, content string
stack_heap_read: name? string
stack_heap_free: name string
stack_frame_answer: frameID string, answer string
stack_frame_activate_ready: frameID? string
stack_wait: frames? array, any? boolean, timeLimit? integer
stack_frame_stop: frameID? string, all? boolean, reason string
stack_frame_edit: sessionID string, title? string, successCriteria? string, successCriteriaCompacted? string, dependsOn? array, parentSessionID? string, before? string
stack_registers_update: R0_GOAL? string, R1_PLAN? string, R2_NEXT? string, R3_PHASE? string, R4_CONSTRAINTS? string, R5_ASSUMPTIONS? string, R6_OPEN_QUESTIONS? string, R7_STATUS? string
";

/// A stack with a root frame for `ses_1`. Its host offers all tools and can create sessions.
struct Host {
    stack: Stack,
    now: Arc<AtomicU64>,
    messages: u32,
}

impl Host {
    fn new() -> Self {
        let now = Arc::new(AtomicU64::new(1_700_000_000_000));
        let count = AtomicU64::new(0);
        let random = Arc::new(move || count.fetch_add(1, Ordering::Relaxed));
        let stack = Stack::with_options(support::options_at(&now).random(random));
        assert_eq!(stack.host().configure(HostSettings::default().tools(ToolSet::all())), []);
        let host = Self { stack, now, messages: 0 };
        host.tell(json!({"kind": "sessionCreated", "sessionID": "ses_1", "title": "Build a shop"}));
        let text = "Build a shop where customers can pay";
        host.tell(json!({"kind": "message", "sessionID": "ses_1", "messageID": "m", "role": "user", "text": text}));
        host
    }

    fn tell(&self, event: Value) -> Vec<Effect> {
        self.stack.host().report(serde_json::from_value::<HostEvent>(event).unwrap())
    }

    fn call(&self, session: &str, name: &str, arguments: Value) -> Answer {
        tools::call(&self.stack, session, name, &arguments.to_string())
    }

    /// The text of an answer, which must not be an error.
    fn good(&self, session: &str, name: &str, arguments: Value) -> String {
        let answer = self.call(session, name, arguments.clone());
        assert!(!answer.is_error, "{name} {arguments}: {:?}", answer.text);
        answer.text.unwrap_or_else(|| panic!("{name} {arguments} has not been answered"))
    }

    fn bad(&self, session: &str, name: &str, arguments: Value) -> String {
        let answer = self.call(session, name, arguments.clone());
        assert!(answer.is_error, "{name} {arguments} should be refused: {:?}", answer.text);
        answer.text.unwrap()
    }

    /// Calls a tool that runs a frame. The frame runs in this session, which sends a message and pops the
    /// frame if results are given.
    fn run(&mut self, name: &str, arguments: Value, session: &str, results: Option<&str>) -> String {
        let Answer { call: Some(call), effects, .. } = self.call("ses_1", name, arguments.clone()) else {
            panic!("{name} {arguments} runs nothing");
        };
        let creates = |effect: &Effect| matches!(effect, Effect::CreateSession { call: asked, .. } if *asked == call);
        if effects.iter().any(creates) {
            self.tell(json!({"kind": "callStarted", "call": call, "sessionID": session}));
        }
        self.messages += 1;
        let id = format!("m{}", self.messages);
        self.tell(json!({"kind": "message", "sessionID": session, "messageID": id, "role": "user", "text": "Go"}));
        if let Some(results) = results {
            let arguments = json!({"status": "completed", "results": results, "resultsCompacted": results});
            self.good(session, "stack_frame_pop", arguments);
        }
        let mut answered = self.tell(json!({"kind": "callEnded", "call": call}));
        if answered.iter().any(|effect| matches!(effect, Effect::CompactSession { .. })) {
            answered.extend(self.tell(json!({"kind": "sessionCompacted", "sessionID": session, "messages": []})));
        }
        let words = json!([{"id": "last", "role": "assistant", "text": "The lexer works, the parser is half done"}]);
        answered.extend(self.tell(json!({"kind": "sessionMessages", "sessionID": session, "messages": words})));
        let answer = |effect: Effect| match effect {
            Effect::Answer { call: of, text, .. } if of == call => Some(text),
            _ => None,
        };
        let answers: Vec<String> = answered.into_iter().filter_map(answer).collect();
        assert_eq!(answers.len(), 1, "{name} {arguments}: {answers:?}");
        answers[0].clone()
    }
}

fn tool(name: &str) -> Tool {
    tools::list(&ToolNames::default())
        .into_iter()
        .find(|tool| tool.name == name)
        .unwrap_or_else(|| panic!("there is no {name}"))
}

fn properties(tool: &Tool) -> &Map<String, Value> {
    tool.parameters["properties"].as_object().unwrap()
}

fn is_required(tool: &Tool, name: &str) -> bool {
    tool.parameters["required"].as_array().is_some_and(|required| required.iter().any(|other| other == name))
}

#[test]
fn the_table_has_the_interface_of_the_specification() {
    let lines: Vec<&str> = INTERFACE.trim().lines().collect();
    assert_eq!((lines.len(), tools::list(&ToolNames::default()).len()), (39, 39));
    for line in lines {
        let (name, arguments) = line.split_once(':').unwrap();
        let tool = tool(name);
        let mut named = BTreeSet::new();
        for argument in arguments.split(',').map(str::trim).filter(|argument| !argument.is_empty()) {
            let mut words = argument.split(' ');
            let argument = words.next().unwrap();
            let (bare, is_optional) = (argument.trim_end_matches('?'), argument.ends_with('?'));
            let property = properties(&tool).get(bare).unwrap_or_else(|| panic!("{name} has no {bare}"));
            assert_eq!(is_required(&tool, bare), !is_optional, "{name}: {bare}");
            let kind = words.next().unwrap();
            match kind.contains('|') {
                true => assert_eq!(property["enum"], json!(kind.split('|').collect::<Vec<_>>()), "{name}: {bare}"),
                false => assert_eq!(property["type"], kind, "{name}: {bare}"),
            }
            if let Some(default) = words.next() {
                // A default of false is left out.
                let written = property.get("default").cloned().unwrap_or(json!(false));
                assert_eq!(written.to_string(), default, "{name}: {bare}");
            }
            named.insert(bare.to_owned());
        }
        // Arguments that are not in the specification are optional.
        for more in properties(&tool).keys().filter(|key| !named.contains(*key)) {
            assert!(!is_required(&tool, more), "{name} must not require {more}");
        }
    }
}

#[test]
fn schemas_are_as_models_take_them() {
    let mut settings = HostSettings::default().tools(ToolSet::all());
    settings.calls.r#in = CallPlace::Conversation;
    for tool in tools::list(&ToolNames::default()).into_iter().chain(tools::offered(&settings)) {
        assert!(tool.description.len() > 30 && !tool.description.contains('\n'), "{}: {}", tool.name, tool.description);
        assert_eq!(tool.parameters["type"], "object", "{}", tool.name);
        for (name, property) in properties(&tool) {
            assert!(property["description"].as_str().is_some_and(|text| text.len() > 5), "{}: {name}", tool.name);
            assert!(property["type"].is_string(), "{}: {name} has more than one type: {property}", tool.name);
            let text = property.to_string();
            for word in ["null", "$ref", "anyOf", "oneOf", "uint"] {
                assert!(!text.contains(word), "{}: {name}: {text}", tool.name);
            }
        }
    }
}

#[test]
fn the_documents_are_up_to_date() {
    let path = support::root().join("docs/tools.md");
    let text = tools::markdown();
    if std::env::var_os("UPDATE_DOCS").is_some() {
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, &text).unwrap();
    }
    let written = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(written == text, "docs/tools.md differs from the table of tools; UPDATE_DOCS=1 updates it");
}

/// A value that does not have the type of a property.
fn mistyped(property: &Value) -> Value {
    match property["type"].as_str().unwrap() {
        "string" => json!(5),
        "array" => json!("not a list, nor one"),
        _ => json!("many"),
    }
}

#[test]
fn arguments_that_are_wrong_reach_no_handler() {
    let host = Host::new();
    let revision = host.stack.read(|tree| tree.revision()).unwrap();
    let mut settings = HostSettings::default().tools(ToolSet::all());
    settings.calls.r#in = CallPlace::Conversation;
    let in_conversation = tools::offered(&settings);
    // Agents in one conversation may leave this argument out. So it is not reported as missing
    // elsewhere either.
    let can_be_missing = |tool: &str, argument: &str| {
        in_conversation.iter().any(|other| other.name == tool && !is_required(other, argument))
    };
    for tool in tools::list(&ToolNames::default()) {
        let example = tool.example.as_object().unwrap().clone();
        let refused = |arguments: &str, says: &str| {
            let answer = tools::call(&host.stack, "ses_1", tool.name, arguments);
            let text = answer.text.unwrap();
            assert!(answer.is_error && answer.effects.iter().all(|effect| matches!(effect, Effect::Log { .. })));
            assert!(text.starts_with(&format!("{}: ", tool.name)), "{text}");
            assert!(text.contains(says), "{text} does not say {says}");
            let shown =
                text.split_once(" Example: ").map(|(_, example)| serde_json::from_str::<Value>(example).unwrap());
            assert_eq!(shown.as_ref(), Some(&tool.example), "{text}");
        };
        let with = |key: &str, value: Value| {
            let mut arguments = example.clone();
            arguments.insert(key.to_owned(), value);
            Value::Object(arguments).to_string()
        };
        refused(&with("titel", json!("x")), "unknown field `titel`");
        for (name, property) in properties(&tool) {
            refused(&with(name, mistyped(property)), name);
            if is_required(&tool, name) && !can_be_missing(tool.name, name) {
                let mut arguments = example.clone();
                arguments.remove(name);
                refused(&Value::Object(arguments).to_string(), &format!("missing field `{name}`"));
            }
            if property["type"] == "string" && property["enum"].is_null() {
                refused(&with(name, json!("x".repeat(100_001))), "100001 characters");
            }
            if !property["enum"].is_null() {
                refused(&with(name, json!("perhaps")), "unknown variant `perhaps`");
            }
            if property["type"] == "integer" {
                refused(&with(name, json!(-1)), name);
                refused(&with(name, json!(1e300)), name);
            }
            if property["type"] == "array" {
                refused(&with(name, json!(vec!["x"; 1_001])), "1001 entries");
            }
        }
        for (arguments, says) in [
            ("[]", "not a JSON object"),
            ("null", "not a JSON object"),
            ("{", "not valid JSON"),
            (&format!("{{\"a\": \"{}\"}}", "x".repeat(1 << 20)), "bytes"),
            (&format!("{{\"a\": {}1{}}}", "[".repeat(200), "]".repeat(200)), "not valid JSON"),
        ] {
            refused(arguments, says);
        }
    }
    assert_eq!(host.stack.read(|tree| tree.revision()).unwrap(), revision, "something has changed");
    let answer = host.call("ses_1", "stack_frame_posh", json!({}));
    assert!(answer.is_error && answer.text.unwrap().contains("stack_frame_push"));
}

#[test]
fn a_mistake_deep_inside_is_named_by_its_place() {
    let host = Host::new();
    let child = json!({"title": "A", "successCriteria": "B", "successCriteriaCompacted": "C"});
    let text = host.bad("ses_1", "stack_frame_plan_children", json!({"children": [child, {"title": "A"}]}));
    assert!(text.contains("`children[1]`: missing field `successCriteria`"), "{text}");
}

#[test]
fn optional_arguments_may_be_null() {
    let host = Host::new();
    host.good("ses_1", "stack_get_summary", json!({"sessionID": null}));
    let answer = tools::call(&host.stack, "ses_1", "stack_status", "");
    assert!(
        !answer.is_error && answer.text.unwrap().starts_with("This session works on f1"),
        "no text is no arguments"
    );
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn no_arguments_make_a_tool_panic_or_change_half_of_something(
        index in 0usize..36, values in proptest::collection::vec(any_value(), 9), session in "(ses_1|nobody||💥)"
    ) {
        let host = Host::new();
        let tool = &tools::list(&ToolNames::default())[index];
        let arguments: Map<String, Value> = properties(tool).keys().cloned().zip(values).collect();
        let revision = host.stack.read(|tree| tree.revision()).unwrap();
        let answer = tools::call(&host.stack, &session, tool.name, &Value::Object(arguments).to_string());
        prop_assert!(answer.text.is_some() != answer.call.is_some());
        if answer.is_error {
            prop_assert_eq!(host.stack.read(|tree| tree.revision()).unwrap(), revision);
        }
    }
}

/// A random JSON value, often one that is valid for some argument.
fn any_value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        (0u64..200).prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        ".{0,20}".prop_map(Value::from),
        "(f1|ses|completed|auto|stagnation|all|\\[)".prop_map(Value::from),
    ];
    let child = ("\\PC{0,9}", "\\PC{0,9}", "\\PC{0,9}").prop_map(|(title, criteria, compacted)| {
        json!({"title": title, "successCriteria": criteria, "successCriteriaCompacted": compacted})
    });
    leaf.prop_recursive(2, 8, 4, move |inner| {
        prop_oneof![
            proptest::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            proptest::collection::vec(child.clone(), 0..4).prop_map(Value::from),
            proptest::collection::btree_map("[a-z]{1,6}", inner, 0..3)
                .prop_map(|map: BTreeMap<String, Value>| Value::Object(map.into_iter().collect())),
        ]
    })
}

#[test]
fn a_reset_of_autonomy_returns_to_the_settings_of_the_host() {
    let host = Host::new();
    let mut settings = HostSettings::default().tools(ToolSet::all());
    (settings.autonomy.level, settings.autonomy.push_threshold) = (AutonomyLevel::Manual, 55);
    assert_eq!(host.stack.host().configure(settings.clone()), []);
    host.good("ses_1", "stack_autonomy", json!({"level": "auto", "pushThreshold": 99, "disableHeuristic": "duration"}));
    host.good("ses_1", "stack_autonomy", json!({"reset": true}));
    assert_eq!(host.stack.host().settings().autonomy, settings.autonomy);
    let answer = host.good("ses_1", "stack_autonomy", json!({"reset": true, "popThreshold": 12}));
    assert!(answer.contains("\"manual\"") && answer.contains("55") && answer.contains("12"), "{answer}");
}

#[test]
fn what_the_tools_say() {
    let mut host = Host::new();
    let mut text = String::new();
    let mut show = |name: &str, arguments: &Value, answer: &str| {
        // The order of the keys of an object depends on features that other crates enable.
        let mut arguments = arguments.clone();
        arguments.sort_all_objects();
        let answer = match serde_json::from_str::<Value>(answer) {
            Ok(mut json) => {
                json.sort_all_objects();
                serde_json::to_string_pretty(&json).unwrap()
            }
            Err(_) => answer.to_owned(),
        };
        text.push_str(&format!("== {name} {arguments}\n{answer}\n\n"));
    };
    let children = json!({"children": [
        {"title": "Catalogue", "successCriteria": "Articles can be listed", "successCriteriaCompacted": "list"},
        {"title": "Cart", "successCriteria": "Totals are right", "successCriteriaCompacted": "totals", "dependsOn": ["Catalogue"]},
        {"title": "Search", "successCriteria": "Words are found", "successCriteriaCompacted": "words"},
    ]});
    let steps = [
        ("stack_frame_plan_children", children, None),
        (
            "stack_frame_plan",
            json!({"title": "Stemming", "successCriteria": "Plurals are found", "successCriteriaCompacted": "plurals", "parentSessionID": "f4"}),
            None,
        ),
        ("stack_frame_activate", json!({"sessionID": "f2"}), Some(Some("Articles are in src/catalogue.rs"))),
        (
            "stack_frame_push",
            json!({"title": "Pay", "successCriteria": "Cards work", "successCriteriaCompacted": "cards"}),
            Some(None),
        ),
        ("stack_add_artifact", json!({"artifact": "src/shop.rs"}), None),
        ("stack_add_artifact", json!({"artifact": "src/shop.rs"}), None),
        ("stack_add_decision", json!({"decision": "Prices are integers: cents"}), None),
        ("stack_frame_invalidate", json!({"sessionID": "f4", "reason": "The database searches"}), None),
        ("stack_status", json!({}), None),
        ("stack_tree", json!({"showDetails": true}), None),
        ("stack_tree", json!({"showFull": false}), None),
        ("stack_frame_details", json!({"frameID": "f6"}), None),
        ("stack_context_info", json!({}), None),
        ("stack_context_preview", json!({"maxLength": 60}), None),
        ("stack_cache_clear", json!({}), None),
        ("stack_frame_summarize", json!({"note": "Mind the cents"}), None),
        ("stack_compaction_info", json!({}), None),
        ("stack_get_summary", json!({"sessionID": "f2"}), None),
        ("stack_config", json!({"minDuration": 5, "addPattern": "^review", "removePattern": "subagent"}), None),
        ("stack_stats", json!({"showActive": true, "reset": true}), None),
        ("stack_subagent_list", json!({}), None),
        ("stack_autonomy", json!({"level": "suggest", "pushThreshold": 60, "disableHeuristic": "duration"}), None),
        ("stack_should_push", json!({"potentialGoal": "Draw a logo", "errorCount": 3}), None),
        ("stack_should_pop", json!({"successSignals": ["customers can pay", "all tests pass", "it builds"]}), None),
        ("stack_auto_suggest", json!({"clearPending": true, "showHistory": true}), None),
        ("stack_autonomy_stats", json!({"reset": true}), None),
        ("stack_heap_read", json!({}), None),
        (
            "stack_heap_alloc",
            json!({"name": "prices", "content": "if a < b && c[d[0]]>0", "description": "what a price is", "scope": "tree"}),
            None,
        ),
        ("stack_heap_alloc", json!({"name": "notes", "content": "mine ".repeat(1_000), "scope": "frame"}), None),
        ("stack_heap_write", json!({"name": "notes", "content": "mine\n"}), None),
        ("stack_heap_read", json!({"name": "prices"}), None),
        ("stack_heap_read", json!({}), None),
        ("stack_heap_free", json!({"name": "notes"}), None),
        ("stack_registers_update", json!({"R1_PLAN": "1. sell\n2. rest", "R3_PHASE": "selling ".repeat(10)}), None),
        ("stack_registers_update", json!({}), None),
        (
            "stack_frame_pop",
            json!({"status": "completed", "results": "The shop is open", "resultsCompacted": "open", "anyway": true}),
            None,
        ),
    ];
    for (index, (name, arguments, ends)) in steps.into_iter().enumerate() {
        host.now.fetch_add(1_000, Ordering::Relaxed);
        let answer = match ends {
            Some(results) => host.run(name, arguments.clone(), &format!("ses_c{index}"), results),
            None => host.good("ses_1", name, arguments.clone()),
        };
        show(name, &arguments, &answer);
    }
    for (name, arguments) in [
        ("stack_frame_activate", json!({"sessionID": "f99"})),
        ("stack_frame_activate", json!({"sessionID": "f2"})),
        ("stack_frame_pop", json!({"status": "completed", "results": "", "resultsCompacted": ""})),
        ("stack_frame_plan", json!({"title": " ", "successCriteria": "", "successCriteriaCompacted": ""})),
        ("stack_frame_plan", json!({"title": "A"})),
        ("stack_config", json!({"addPattern": "("})),
        ("stack_autonomy", json!({"pushThreshold": 101})),
        ("stack_heap_alloc", json!({"name": "prices", "content": "again"})),
        ("stack_heap_alloc", json!({"name": "x".repeat(101), "content": ""})),
        ("stack_heap_alloc", json!({"name": "x", "content": "", "description": "two\nlines"})),
        ("stack_heap_alloc", json!({"name": "x", "content": "", "scope": "world"})),
        ("stack_heap_read", json!({"name": "cent"})),
        ("stack_heap_free", json!({"name": "cent"})),
        ("stack_registers_update", json!({"R8": "x"})),
    ] {
        show(name, &arguments, &host.bad("ses_1", name, arguments.clone()));
    }
    show("stack_add_decision", &json!({}), &host.bad("nobody", "stack_add_decision", json!({"decision": "x"})));
    support::assert_golden("tools/answers.txt", &text);
}

#[test]
fn a_pop_without_an_id_is_that_of_the_session() {
    let mut host = Host::new();
    host.run(
        "stack_frame_push",
        json!({"title": "Pay", "successCriteria": "", "successCriteriaCompacted": ""}),
        "ses_2",
        Some("Done"),
    );
    assert_eq!(host.stack.frame("ses_2").unwrap().status, FrameStatus::Completed);
    assert_eq!(host.stack.frame("ses_1").unwrap().status, FrameStatus::InProgress, "the root goes on");
}

#[test]
fn calls_have_a_depth_limit() {
    let mut host = Host::new();
    let settings = HostSettings::default().calls(serde_json::from_value(json!({"maxDepth": 1})).unwrap());
    assert_eq!(host.stack.host().configure(settings), []);
    let task = json!({"title": "Pay", "successCriteria": "", "successCriteriaCompacted": ""});
    host.run("stack_frame_push", task.clone(), "ses_2", None);
    let frames = host.stack.read(|tree| tree.len()).unwrap();
    let text = host.bad("ses_2", "stack_frame_push", task);
    assert!(
        text.starts_with("stack_frame_push: no frame can be started below frame f2, because the maximum depth is 1"),
        "{text}"
    );
    assert_eq!(host.stack.read(|tree| tree.len()).unwrap(), frames, "nothing is planned that cannot be begun");
}

#[test]
fn in_the_background_the_answer_comes_at_once() {
    let host = Host::new();
    let task = json!({"title": "Pay", "successCriteria": "", "successCriteriaCompacted": "", "background": true});
    let answer = host.call("ses_1", "stack_frame_push", task);
    assert!(answer.text.unwrap().starts_with("f2 (Pay) is being started in the background"));
    assert!(answer.effects.iter().any(|effect| matches!(effect, Effect::CreateSession { .. })));
}

#[test]
fn subagents_are_finished_by_hand() {
    let host = Host::new();
    let subagent = |id: &str| {
        host.tell(json!({"kind": "sessionCreated", "sessionID": id, "parentID": "ses_1", "title": "look (@general subagent)"}));
    };
    let text = host.bad("ses_1", "stack_subagent_complete", json!({}));
    assert!(text.contains("has no frame"), "{text}");
    subagent("ses_a");
    assert_eq!(
        host.good("ses_1", "stack_subagent_complete", json!({"summary": "Three modules"})),
        "f2 (look (@general subagent)) is completed."
    );
    assert_eq!(host.stack.frame("ses_a").unwrap().results.as_deref(), Some("Three modules"));
    subagent("ses_b");
    subagent("ses_c");
    let text = host.bad("ses_1", "stack_subagent_complete", json!({}));
    assert!(text.contains("ses_b") && text.contains("ses_c"), "{text}");
    host.good("ses_b", "stack_subagent_complete", json!({"status": "failed"}));
    assert_eq!(host.stack.frame("ses_b").unwrap().status, FrameStatus::Failed);
    let active: Value =
        serde_json::from_str(&host.good("ses_1", "stack_subagent_list", json!({"filter": "active"}))).unwrap();
    assert_eq!(active.as_array().unwrap().iter().map(|subagent| &subagent["sessionID"]).collect::<Vec<_>>(), ["ses_c"]);
}

#[test]
fn suggestions_are_in_the_context_unless_switched_off() {
    let host = Host::new();
    let volatile = || host.stack.host().context("ses_1").unwrap().unwrap().context.volatile.clone();
    assert!(!volatile().contains("STACK SUGGESTION"));
    host.good("ses_1", "stack_should_pop", json!({"tokenCount": 99_000}));
    assert!(
        volatile().contains("<suggestions>\n[STACK SUGGESTION: finish f1 with stack_frame_pop (100 % sure;"),
        "{}",
        volatile()
    );
    host.good("ses_1", "stack_auto_suggest", json!({"enable": false}));
    assert!(!volatile().contains("STACK SUGGESTION"));
    host.good("ses_1", "stack_auto_suggest", json!({"enable": true}));
    assert!(volatile().contains("STACK SUGGESTION"));
    host.now.fetch_add(5 * 60_000, Ordering::Relaxed);
    assert!(!volatile().contains("STACK SUGGESTION"), "after five minutes it is gone");
    host.good("ses_1", "stack_autonomy", json!({"level": "manual"}));
    host.good("ses_1", "stack_should_pop", json!({"tokenCount": 99_000}));
    assert!(!volatile().contains("STACK SUGGESTION"), "manual: nothing is suggested");
}

#[test]
fn at_the_level_auto_tools_act() {
    let mut host = Host::new();
    host.good("ses_1", "stack_autonomy", json!({"level": "auto"}));
    let goal = json!({"potentialGoal": "Draw a logo in three colours for the front page", "errorCount": 5});
    let answer = host.run("stack_should_push", goal, "ses_2", Some("The logo is in logo.svg"));
    assert!(answer.starts_with("f2 (Draw a logo in three colours) is completed.\nResults: The logo"), "{answer}");
    let text = host.good("ses_1", "stack_should_pop", json!({"successSignals": ["a", "b", "c"]}));
    assert!(text.contains("The level is auto"), "{text}");
    let effects = host.tell(json!({"kind": "sessionIdle", "sessionID": "ses_1"}));
    assert!(effects.contains(&Effect::CompactSession { session_id: "ses_1".into() }), "{effects:?}");
    let summary = json!([{"id": "s", "role": "assistant", "summary": true, "text": "The shop has a logo and a cart"}]);
    host.tell(json!({"kind": "sessionCompacted", "sessionID": "ses_1", "messages": summary}));
    let frame = host.stack.frame("ses_1").unwrap();
    assert_eq!(
        (frame.status, frame.results.as_deref()),
        (FrameStatus::Completed, Some("The shop has a logo and a cart"))
    );
    assert_eq!(host.stack.host().settings().autonomy.level, AutonomyLevel::Auto);
}

#[test]
fn without_a_context_there_is_nothing_to_show() {
    let host = Host::new();
    assert!(host.good("nobody", "stack_context_preview", json!({})).starts_with("This session has no context"));
    assert!(host.good("nobody", "stack_context_info", json!({})).contains("\"cache\""));
    assert!(host.good("nobody", "stack_status", json!({})).starts_with("This session has no frame."));
}

#[test]
fn what_happens_to_frames_is_logged() {
    let mut host = Host::new();
    let messages = |effects: Vec<Effect>| -> Vec<String> {
        let lines = effects.into_iter().filter_map(|effect| match effect {
            Effect::Log { message, .. } => Some(message),
            _ => None,
        });
        lines.collect()
    };
    let task = json!({"title": "Pay", "successCriteria": "", "successCriteriaCompacted": ""});
    assert_eq!(messages(host.call("ses_1", "stack_frame_plan", task.clone()).effects), ["Frame planned"]);
    let Answer { call, effects, .. } = host.call("ses_1", "stack_frame_activate", json!({"sessionID": "f2"}));
    assert_eq!(messages(effects), [""; 0]);
    let started = host.tell(json!({"kind": "callStarted", "call": call, "sessionID": "ses_2"}));
    assert_eq!(messages(started), ["Frame activated"]);
    host.stack.host().context("ses_2").unwrap();
    assert!(host.stack.host().deadline().is_some_and(|deadline| deadline <= host.now.load(Ordering::Relaxed)));
    assert_eq!(messages(host.stack.host().poll()), ["Context generated"]);
    let done = json!({"status": "completed", "results": "Done", "resultsCompacted": ""});
    assert_eq!(messages(host.call("ses_2", "stack_frame_pop", done).effects), ["Frame completed"]);
    host.run("stack_frame_push", task, "ses_3", None);
    let gone = host.call("ses_1", "stack_frame_invalidate", json!({"sessionID": "ses_3", "reason": "no need"})).effects;
    assert_eq!(messages(gone), ["Frame invalidated"]);
    assert_eq!(messages(host.stack.host().poll()), [""; 0]);
}

#[test]
fn every_variable_of_the_specification_sets_what_it_says() {
    let variables = [
        ("STACK_TOOLS", "stack_tree, stack_status", "tools", json!(["stack_status", "stack_tree"])),
        ("STACK_TOKEN_BUDGET_TOTAL", "9000", "context.budget.total", json!(9000)),
        ("STACK_TOKEN_BUDGET_ANCESTORS", "1", "context.budget.ancestors", json!(1)),
        ("STACK_TOKEN_BUDGET_SIBLINGS", "2", "context.budget.siblings", json!(2)),
        ("STACK_TOKEN_BUDGET_CURRENT", "3", "context.budget.current", json!(3)),
        ("STACK_SUBAGENT_ENABLED", "no", "subagents.enabled", json!(false)),
        ("STACK_SUBAGENT_MIN_DURATION", "4", "subagents.minDuration", json!(4)),
        ("STACK_SUBAGENT_MIN_MESSAGES", "5", "subagents.minMessageCount", json!(5)),
        ("STACK_SUBAGENT_AUTO_COMPLETE", "0", "subagents.autoCompleteOnIdle", json!(false)),
        ("STACK_SUBAGENT_IDLE_DELAY", "6", "subagents.idleCompletionDelay", json!(6)),
        ("STACK_SUBAGENT_PATTERNS", "^a, b$", "subagents.patterns", json!(["^a", "b$"])),
        ("STACK_AUTONOMY_LEVEL", "Auto", "autonomy.level", json!("auto")),
        ("STACK_PUSH_THRESHOLD", "7", "autonomy.pushThreshold", json!(7)),
        ("STACK_POP_THRESHOLD", "8", "autonomy.popThreshold", json!(8)),
        ("STACK_SUGGEST_IN_CONTEXT", "off", "autonomy.suggestInContext", json!(false)),
        ("STACK_ENABLED_HEURISTICS", "stagnation", "autonomy.enabledHeuristics", json!(["stagnation"])),
    ];
    let defaults = json!(HostSettings::default());
    for (variable, value, path, expected) in &variables {
        let look_up = |name: &str| (name == *variable).then(|| (*value).to_owned());
        let (settings, problems) = HostSettings::from_variables(look_up, "{}");
        assert_eq!(problems, [], "{variable}");
        let pointer = format!("/{}", path.replace('.', "/"));
        let mut settings = json!(settings);
        assert_eq!(settings.pointer(&pointer), Some(expected), "{variable}");
        *settings.pointer_mut(&pointer).unwrap() = defaults.pointer(&pointer).unwrap().clone();
        assert_eq!(settings, defaults, "{variable} sets something else as well");
    }
    // An invalid variable is reported, and the other variables are used.
    let one_bad = |name: &str| match name {
        "STACK_TOKEN_BUDGET_SIBLINGS" => Some("many".to_owned()),
        _ => name.starts_with("STACK_TOKEN_BUDGET_").then(|| "777".to_owned()),
    };
    let (settings, problems) = HostSettings::from_variables(one_bad, "{}");
    let budget = settings.context.budget;
    assert_eq!((budget.total, budget.ancestors, budget.siblings, budget.current), (777, 777, 1500, 777));
    assert_eq!(problems.len(), 1, "{problems:?}");
    // The host's settings override the environment, key by key.
    let all = |name: &str| {
        variables.iter().find(|(variable, ..)| *variable == name).map(|(_, value, ..)| (*value).to_owned())
    };
    let (settings, problems) =
        HostSettings::from_variables(all, r#"{"context": {"budget": {"total": 5000}}, "calls": {"timeLimit": 9}}"#);
    assert_eq!(problems, []);
    assert_eq!((settings.context.budget.total, settings.context.budget.ancestors), (5000, 1));
    assert_eq!((settings.calls.time_limit, settings.calls.max_depth), (9, 5));
}

#[test]
fn the_log_tells_what_a_context_costs_and_whether_it_was_there() {
    let host = Host::new();
    let _log = host.stack.host().poll();
    let tokens = host.stack.host().context("ses_1").unwrap().unwrap().context.tokens;
    host.stack.host().context("ses_1").unwrap();
    let told = host.stack.host().poll().into_iter().map(|effect| match effect {
        Effect::Log { message, data, .. } => (message, data["tokens"].clone(), data["cached"].clone()),
        other => panic!("{other:?}"),
    });
    let line = |cached: bool| ("Context generated".to_owned(), json!(tokens), json!(cached));
    assert_eq!(told.collect::<Vec<_>>(), [line(false), line(true)]);
}

/// All kinds of texts that agents of a host get. The host offers these tools under these names. The texts are
/// contexts, answers, errors, prompts and descriptions.
fn texts_with(set: ToolSet, names: &ToolNames) -> Vec<String> {
    let settings = json!({
        "tools": set,
        "context": {"tools": names, "budget": {"heap": 100}, "heapCeiling": 50},
        "autonomy": {"level": "suggest", "pushThreshold": 1, "popThreshold": 1},
    });
    let (settings, problems) = HostSettings::from_variables(|_| None, &settings.to_string());
    assert!(problems.is_empty() && settings.context.tools == *names && settings.tools == set, "{problems:?}");
    let mut host = Host::new();
    assert!(host.stack.host().configure(settings.clone()).is_empty());
    assert_eq!(host.stack.host().settings(), settings);
    let task = |title: &str| json!({"title": title, "successCriteria": "ok", "successCriteriaCompacted": "ok"});
    let context = |host: &Host| host.stack.host().context("ses_1").unwrap().unwrap().context.xml.replace("stack-", "");
    let effects = |effects: Vec<Effect>| effects.iter().map(|effect| json!(effect).to_string()).collect::<Vec<_>>();
    let mut texts = vec![
        context(&host),
        host.good("ses_1", "stack_frame_plan", task("Cart")),
        host.good("ses_1", "stack_frame_plan_children", json!({"children": [task("Pay")]})),
        host.bad("ses_1", "stack_frame_plan", json!({"title": 5})),
        host.bad("ses_1", "stack_config", json!({"enabled": 5})),
        host.bad("ses_1", "fly", json!({})),
        host.good("ses_1", "stack_should_push", json!({"potentialGoal": "Draw a logo", "errorCount": 5})),
        host.good("ses_1", "stack_should_pop", json!({"successSignals": ["all tests pass"], "tokenCount": 99_000})),
        host.good("ses_1", "stack_heap_alloc", json!({"name": "long", "content": "word ".repeat(2_000)})),
        host.bad("ses_1", "stack_heap_alloc", json!({"name": "long", "content": ""})),
        host.good("ses_1", "stack_heap_alloc", json!({"name": "odd", "content": "\u{1}"})),
        host.good("ses_1", "stack_heap_read", json!({})),
        host.good("ses_1", "stack_registers_update", json!({"R1_PLAN": "long note, ".repeat(80)})),
        host.bad("ses_1", "stack_frame_activate", json!({"sessionID": "f99"})),
        host.bad("nobody", "stack_add_decision", json!({"decision": "x"})),
        context(&host),
    ];
    let mut narrow = settings.clone();
    narrow.context.budget.total = 700;
    assert!(host.stack.host().configure(narrow).is_empty());
    texts.push(context(&host));
    assert!(host.stack.host().configure(settings.clone()).is_empty());
    let mut begin = task("Search");
    begin["background"] = json!(true);
    texts.push(host.good("ses_1", "stack_frame_push", begin));
    // Frames whose results were salvaged, that were resumed, and that were finished with long results.
    let salvaged = host.run("stack_frame_push", task("Logo"), "ses_2", None);
    assert!(salvaged.contains("[auto-completed: its session ended without "), "{salvaged}");
    let resumed = host.call("ses_1", "stack_frame_activate", json!({"sessionID": "ses_2"}));
    texts.extend(effects(resumed.effects));
    host.tell(json!({"kind": "callAborted", "call": resumed.call.unwrap()}));
    texts.push(host.run("stack_frame_push", task("Essay"), "ses_3", Some(&"long ".repeat(10_000))));
    let failed = host.call("ses_1", "stack_frame_push", task("Never"));
    texts.extend(effects(host.tell(json!({"kind": "callEnded", "call": failed.call.unwrap(), "error": "no session"}))));
    let started = host.call("ses_1", "stack_frame_push", task("Last"));
    texts.extend(effects(
        host.tell(json!({"kind": "callStarted", "call": started.call.unwrap(), "sessionID": "ses_4"})),
    ));
    texts.push(salvaged);
    // A checkpoint, and the end of the frame.
    texts.push(host.good("ses_1", "stack_frame_summarize", json!({"note": "the cents"})));
    texts.extend(effects(host.tell(json!({"kind": "sessionIdle", "sessionID": "ses_1"}))));
    let compacting = effects(host.tell(json!({"kind": "sessionCompacting", "sessionID": "ses_1"})));
    assert!(compacting.iter().any(|effect| effect.contains("compactionPrompt")), "{compacting:?}");
    texts.extend(compacting);
    texts.push(host.good("ses_1", "stack_frame_invalidate", json!({"sessionID": "f2", "reason": "no need"})));
    let done = json!({"status": "completed", "results": "open", "resultsCompacted": "open", "anyway": true});
    texts.push(host.good("ses_1", "stack_frame_pop", done));
    texts.push(context(&host));
    let offered = tools::offered(&settings);
    assert!(offered.iter().map(|tool| tool.name).eq(set.names()));
    texts.extend(offered.iter().flat_map(|tool| [tool.description.clone(), tool.parameters.to_string()]));
    texts
}

/// The names of tools of this library that a text mentions.
fn mentioned(text: &str) -> BTreeSet<&'static str> {
    let is_part = |character: char| character.is_ascii_alphanumeric() || character == '_';
    let words: BTreeSet<&str> = text.split(|character| !is_part(character)).collect();
    ToolSet::all().names().filter(|name| words.contains(name)).collect()
}

#[test]
fn texts_mention_only_tools_that_are_offered() {
    let list = |names: &[&str]| names.iter().fold(ToolSet::none(), |set, name| set.with(name));
    let without = |missing: &str| list(&ToolSet::all().names().filter(|name| *name != missing).collect::<Vec<_>>());
    let mut sets = vec![
        ToolSet::standard(),
        ToolSet::all(),
        ToolSet::none(),
        list(&["stack_frame_push", "stack_frame_pop"]),
        list(&["stack_add_artifact"]),
        ToolSet::standard().with("stack_get_state"),
    ];
    sets.extend(ToolRole::ALL.iter().map(|role| without(role.tool())));
    let mut seen = BTreeSet::new();
    for set in sets {
        for text in texts_with(set, &ToolNames::default()) {
            let mentioned = mentioned(&text);
            let missing: Vec<_> = mentioned.iter().filter(|name| !set.contains(name)).collect();
            assert!(missing.is_empty(), "{missing:?} are not offered, but {set:?} is told:\n{text}");
            seen.extend(mentioned);
        }
    }
    for role in ToolRole::ALL {
        assert!(seen.contains(role.tool()), "no text mentions {role:?}, so this test shows nothing about it");
    }
}

#[test]
fn tools_that_are_not_offered_can_be_called() {
    let host = Host::new();
    assert_eq!(host.stack.host().configure(HostSettings::default()), []);
    assert!(!ToolSet::standard().contains("stack_context_info"));
    assert!(host.good("ses_1", "stack_context_info", json!({})).contains("stableTokens"));
    // The messages about their problems do not name these tools, because the agent does not have them.
    assert!(host.bad("ses_1", "stack_context_preview", json!({"maxLength": -1})).starts_with("`maxLength`: "));
    let unknown = host.bad("ses_1", "stack_frame_posh", json!({}));
    assert!(mentioned(&unknown).into_iter().eq(ToolSet::standard().names().collect::<BTreeSet<_>>()), "{unknown}");
}

#[test]
fn texts_name_the_tools_of_the_host() {
    let word = |role: ToolRole| format!("zork{role:?}");
    let nonsense = ToolRole::ALL.iter().fold(ToolNames::none(), |names, &role| names.name(role, word(role)));
    let texts = texts_with(ToolSet::all(), &nonsense);
    for text in &texts {
        assert!(!text.contains("stack_"), "{text}");
    }
    for &role in ToolRole::ALL {
        assert!(texts.iter().any(|text| text.contains(&word(role))), "{role:?}");
    }
    let texts = texts_with(ToolSet::all(), &ToolNames::none());
    for text in &texts {
        assert!(!text.contains("stack_"), "{text}");
    }
    for part in [
        "f2 (Cart) is planned.",
        "Begin with f3.",
        "until it is freed.",
        "Agents use the drawn tree.",
        "STACK SUGGESTION: finish f1 (",
        "without finishing its frame",
        "finish the frame: your caller sees these results",
        "continue from it, and finish it.",
        "Next: activate f5 to resume where it stopped, or retry it; invalidate it to give it up.",
        "activate it to try again.",
        "… (cut)",
    ] {
        assert!(texts.iter().any(|text| text.contains(part)), "no text has {part:?}: {texts:#?}");
    }
    let prefixed = texts_with(ToolSet::all(), &ToolNames::with_prefix("mcp__host__"));
    for text in &prefixed {
        let names = text.matches("stack_").count();
        assert_eq!(names, text.matches("mcp__host__stack_").count(), "{text}");
    }
    assert!(prefixed.iter().any(|text| text.starts_with("mcp__host__stack_config: ")), "{prefixed:#?}");
}

#[test]
fn names_that_no_tool_can_have_are_reported() {
    let host = Host::new();
    let mut settings = HostSettings::default();
    settings.context.tools = ToolNames::default().name(ToolRole::Pop, "two\nlines");
    let problems = host.stack.host().configure(settings);
    assert!(problems.len() == 1 && problems[0].to_string().contains("tools.pop"), "{problems:?}");
    assert!(host.stack.host().settings().context.tools.is_default());
    let json = r#"{"context": {"tools": {"pop": ""}, "heapCeiling": 7}}"#;
    let (settings, problems) = HostSettings::from_variables(|_| None, json);
    assert_eq!((settings.context.heap_ceiling, problems.len()), (7, 1), "{problems:?}");
    assert!(settings.context.tools.is_default());
}

/// The o200k tokens of tools in the format of chat completions, as OpenCode sends them with each request.
#[cfg(feature = "tokenizer")]
fn tokens(tools: &[Tool]) -> usize {
    use callstack_core::context::{O200k, TokenCounter};
    let tokens = |tool: &Tool| {
        let Tool { name, description, parameters, .. } = tool;
        let function = json!({"name": name, "description": description, "parameters": parameters});
        O200k.count(&json!({"type": "function", "function": function}).to_string())
    };
    tools.iter().map(tokens).sum()
}

#[test]
#[cfg(feature = "tokenizer")]
fn the_tools_cost_few_tokens() {
    let cost = |set| tokens(&tools::offered(&HostSettings::default().tools(set)));
    let (standard, all) = (cost(ToolSet::standard()), cost(ToolSet::all()));
    let edit = cost(ToolSet::none().with("stack_frame_edit"));
    assert!(edit <= 170, "stack_frame_edit has {edit} tokens");
    assert!(standard <= 1_700, "the standard tools have {standard} tokens");
    assert!(all <= 4_500, "all tools have {all} tokens");
}
