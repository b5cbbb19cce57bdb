//! Drives runs in tests in the way a host does: it records replies that the test defines, and handles their
//! tool calls one by one.

use callstack_core::frame::{MemoryModel, Message, RunSettings, ToolCall};
use callstack_core::memory::{NewRun, Next, Prompt, Reply};
use callstack_core::{Handle, Stack, tools};
use serde_json::Value;

/// A run and its stack.
pub struct Agent {
    pub stack: Stack,
    pub run: Handle,
}

impl Agent {
    pub fn start(stack: Stack, task: &str, memory: MemoryModel) -> Self {
        let settings = RunSettings::default().memory(memory);
        let run = stack.start_run(NewRun::new(task).settings(settings)).unwrap();
        Self { stack, run }
    }

    pub fn next(&self) -> Next {
        self.stack.run(self.run).next().unwrap()
    }

    /// The next prompt of the model.
    pub fn prompt(&self) -> Prompt {
        match self.next() {
            Next::Ask(prompt) => prompt,
            other => panic!("no prompt is next, but {other:?}"),
        }
    }

    /// The agent memory in the prompt, at the end of the newest message.
    pub fn memory(&self) -> String {
        let prompt = self.prompt();
        let newest = prompt.messages.last().unwrap().text();
        newest[newest.find("<memory>").expect("every prompt ends with the memory")..].to_owned()
    }

    /// Executes a step with these tool calls. Calls that do not concern agent memory are answered with their
    /// arguments.
    pub fn step(&self, calls: &[(&str, Value)]) {
        self.reply("", calls);
        self.carry_out();
    }

    pub fn reply(&self, text: &str, calls: &[(&str, Value)]) {
        let call = |(place, (name, arguments)): (usize, &(&str, Value))| {
            // The order of the keys of an object depends on features that other crates enable.
            let mut arguments = arguments.clone();
            arguments.sort_all_objects();
            ToolCall { id: format!("call_{place}"), name: (*name).into(), arguments: arguments.to_string() }
        };
        let calls = calls.iter().enumerate().map(call).collect();
        self.stack.run(self.run).reply(Reply::new(text, calls)).unwrap();
    }

    /// Handles all tool calls until the run needs something else.
    pub fn carry_out(&self) {
        while let Next::Call(call) = tools::advance_run(&self.stack, self.run).unwrap() {
            let answer = format!("{} was done: {}", call.name, call.arguments);
            self.stack.run(self.run).answer(&call.id, answer, false).unwrap();
        }
    }

    /// The newest answers to tool calls in the current conversation; true if the answer is an error.
    pub fn answers(&self) -> Vec<(String, bool)> {
        let prompt = self.prompt();
        let answers = prompt.messages.iter().rev().map_while(|message| match &**message {
            Message::Tool { text, is_error, .. } => {
                let text = text.split("\n\n<memory>").next().unwrap_or_default();
                Some((text.to_owned(), *is_error))
            }
            _ => None,
        });
        let mut answers: Vec<_> = answers.collect();
        answers.reverse();
        answers
    }
}
