//! Drives runs as a host does: replies of a model that a test makes up, and their calls one by one.

use callstack_core::frame::{MemoryModel, Message, RunSettings, ToolCall};
use callstack_core::memory::{NewRun, Next, Prompt, Reply};
use callstack_core::{Handle, Stack, tools};
use serde_json::Value;

/// A run in a stack.
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

    /// What the model is asked next.
    pub fn prompt(&self) -> Prompt {
        match self.next() {
            Next::Ask(prompt) => prompt,
            other => panic!("no prompt is next, but {other:?}"),
        }
    }

    /// What the model sees at the end of the newest message.
    pub fn memory(&self) -> String {
        let prompt = self.prompt();
        let newest = prompt.messages.last().unwrap().text();
        newest[newest.find("<memory>").expect("every prompt ends with the memory")..].to_owned()
    }

    /// Does a step with these calls, and answers those that are not about memory with their arguments.
    pub fn step(&self, calls: &[(&str, Value)]) {
        self.reply("", calls);
        self.carry_out();
    }

    pub fn reply(&self, text: &str, calls: &[(&str, Value)]) {
        let call = |(place, (name, arguments)): (usize, &(&str, Value))| {
            // Features of other crates decide in which order objects have their keys.
            let mut arguments = arguments.clone();
            arguments.sort_all_objects();
            ToolCall { id: format!("call_{place}"), name: (*name).into(), arguments: arguments.to_string() }
        };
        let calls = calls.iter().enumerate().map(call).collect();
        self.stack.run(self.run).reply(Reply { text: text.into(), calls }).unwrap();
    }

    /// Deals with all calls that are next.
    pub fn carry_out(&self) {
        while let Next::Call(call) = tools::advance_run(&self.stack, self.run).unwrap() {
            let answer = format!("{} was done: {}", call.name, call.arguments);
            self.stack.run(self.run).answer(&call.id, answer, false).unwrap();
        }
    }

    /// The newest answers to calls in the present conversation, with whether they are refusals.
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
