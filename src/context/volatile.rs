//! The volatile part of a context, which changes often: planned children, the position among the siblings,
//! the next action, warnings, suggestions, registers, the task, and the current frame with its newest state.

use std::sync::Arc;

use super::considered::{Considered, Waiting};
use super::cost::{Cost, charge};
use super::fragment::{CUT, DetailLevel, Fragment, TITLE_TOKENS};
use super::select::{Entry, Omission, Section};
use super::settings::{Guidance, Settings};
use super::spending::Spending;
use super::tokens::{TokenCounter, truncate_by};
use super::wording::Wording;
use super::xml::{attribute, content, omitted_blanks, without_long_blanks};
use super::{Advice, Contexts, Conversation, skeleton};
use crate::frame::{FrameStatus, Handle, Registers};
use crate::text::{beginning, one_line};
use crate::tree::{Kind, SiblingOrder, Tree, sibling_order};

/// Maximum number of planned children that are considered. The others are counted.
const SHOWN_PLANNED: usize = 256;
/// Number of planned children that take precedence over the artifacts and decisions of the current frame.
const FIRST_PLANNED: usize = 8;
/// Maximum number of warnings of one kind. The others are counted.
const WARNINGS: usize = 5;
/// Maximum length of what a blocked frame waits for, in tokens.
const REASON_TOKENS: usize = 60;
/// Maximum length of an answer, in tokens, and maximum number of answers that the context of a frame shows.
const ANSWER_TOKENS: usize = 120;
const ANSWERS: usize = 3;
/// Number of characters that are looked at for a short text.
const SHORT_CHARACTERS: usize = 1_000;
/// The siblings that are shown next to the frame: their number, and what the title and the criteria of each
/// may cost, in tokens.
const BESIDE: usize = 3;
const BESIDE_TITLE_TOKENS: usize = 12;
const BESIDE_CRITERIA_TOKENS: usize = 10;
/// Maximum number of blocked siblings that are shown with their reasons.
const BLOCKED_SIBLINGS: usize = 5;
/// Maximum length of the results of a child that has ended in the background, in tokens. Later contexts show
/// as much of them as of the results of other finished children.
const RESULTS_TOKENS: usize = 400;
/// Maximum length of the criteria of a frame above that the conversation has forgotten, in tokens.
const ABOVE_TOKENS: usize = 200;
/// Maximum length of the suggestions, in tokens.
const SUGGESTION_TOKENS: usize = 150;

/// The pieces of the volatile part, in the order of the text.
pub(super) struct Volatile {
    /// The current frame.
    pub(super) handle: Handle,
    wording: Arc<Wording>,
    initial_planning: bool,
    when_to_create_child_frames: bool,
    /// The planned children that are considered.
    planned: Vec<Handle>,
    /// The number of the other planned children.
    other_planned: usize,
    /// True if there is room for the element of the planned children, with their number.
    has_planned: bool,
    planned_elements: Vec<String>,
    position: String,
    blocked_siblings: String,
    beside: String,
    next: String,
    news: String,
    warnings: String,
    answers: String,
    above: String,
    suggestions: String,
    /// True if there is room for the element of the registers, with the number of those that are omitted.
    has_registers: bool,
    registers: Vec<String>,
    omitted_registers: usize,
    task: Task,
    current: Arc<Fragment>,
    detail_level: DetailLevel,
    /// True if the conversation says all of it itself.
    pub(super) says_nothing: bool,
    /// Upper bound of the cost of the volatile part.
    pub(super) cost: Cost,
}

impl Volatile {
    /// Creates the part with only the stub of the current frame, which is always shown.
    pub(super) fn new(
        contexts: &Contexts,
        wording: Arc<Wording>,
        tree: &Tree,
        handle: Handle,
        conversation: Conversation,
    ) -> Self {
        let current = contexts.current_fragment(tree, handle, conversation);
        let cost = contexts.costs.volatile + current.cost(DetailLevel::Stub);
        Self {
            handle,
            wording,
            initial_planning: false,
            when_to_create_child_frames: false,
            planned: Vec::new(),
            other_planned: 0,
            has_planned: false,
            planned_elements: Vec::new(),
            position: String::new(),
            blocked_siblings: String::new(),
            beside: String::new(),
            next: String::new(),
            news: String::new(),
            warnings: String::new(),
            answers: String::new(),
            above: String::new(),
            suggestions: String::new(),
            has_registers: false,
            registers: Vec::new(),
            omitted_registers: 0,
            task: Task::default(),
            current,
            detail_level: DetailLevel::Stub,
            says_nothing: false,
            cost,
        }
    }

    /// Adds pieces in a fixed order, as many as fit into `limit`.
    pub(super) fn fill(
        &mut self,
        contexts: &Contexts,
        tree: &Tree,
        considered: &Considered,
        settings: &Settings,
        advice: Advice<'_>,
        limit: Cost,
    ) {
        let node = tree.node(considered.handle);
        // What the conversation says itself is not repeated after each message.
        let says_place = advice.conversation.says_place;
        if !says_place {
            let index = tree.child_index(considered.handle);
            self.planned = index.all(Kind::Planned).take(SHOWN_PLANNED).collect();
            self.other_planned = index.number(Kind::Planned) - self.planned.len();
        }
        let mut room = Room { counter: &contexts.counts, spending: Spending::new(self.cost, limit) };

        // What is left out is counted, so the elements with the counts come first.
        let planned = self.planned.len() + self.other_planned;
        let [open, close] = [&skeleton::planned_open(planned, planned), skeleton::PLANNED_CLOSE];
        self.has_planned = !self.planned.is_empty()
            && room.spending.spend(Cost::of(open, room.counter) + Cost::of(close, room.counter));
        let registers = node.record().registers.as_ref();
        self.has_registers = registers.is_some_and(|registers| registers.filled().next().is_some())
            && room.spending.spend(self.wording.registers);
        if !says_place {
            self.climb(&mut room, DetailLevel::Compact);
        }
        let task = match advice.conversation.has_criteria || says_place || !node.status().is_unfinished() {
            true => "",
            false => node.record().task.trim(),
        };
        self.show_task(task, settings.budget.current, &mut room);
        room.text(&mut self.above, || above(contexts, tree, advice.above));
        for (child, problem) in advice.news {
            // Without room for the results, the agent still learns that there are some.
            let elements = [RESULTS_TOKENS, 0].map(|tokens| ended_child(contexts, tree, *child, problem, tokens));
            if let Some(fits) = elements.iter().find(|element| room.spend(element)) {
                self.news.push_str(fits);
            }
        }
        if advice.base.is_some() {
            // The stable part shows the finished children of another frame.
            let is_new = |child: &&Handle| advice.news.iter().all(|(other, _)| other != *child);
            for child in considered.children.iter().filter(is_new) {
                let element = ended_child(contexts, tree, *child, "", RESULTS_TOKENS);
                if room.spend(&element) {
                    self.news.push_str(&element);
                }
            }
        }
        room.text(&mut self.warnings, || waiting_warnings(contexts, &self.wording, tree, considered));
        room.text(&mut self.answers, || answers(contexts, tree, considered.handle));
        let is_called = advice.conversation.is_called;
        if !says_place {
            room.text(&mut self.next, || next_action(contexts, &self.wording, tree, considered.handle, is_called));
        }
        let order = sibling_order(tree, considered.handle).filter(|_| !room.spending.is_closed && !says_place);
        if !is_called {
            room.text(&mut self.position, || order.map_or(String::new(), position));
        }
        if order.is_some_and(|order| order.blocked > 0) {
            room.text(&mut self.blocked_siblings, || blocked_siblings(contexts, tree, considered.handle));
        }
        let is_named = self.next.contains("<next-sibling ");
        let named = tree.ready_siblings(considered.handle).next().filter(|_| is_named);
        let has_others = |order: SiblingOrder| order.in_progress + order.planned > 0;
        if order.is_some_and(has_others) && node.status().is_unfinished() {
            room.text(&mut self.beside, || beside(contexts, tree, considered.handle, named));
        }
        let mut more_warnings = String::new();
        room.text(&mut more_warnings, || state_warnings(contexts, &self.wording, tree, considered.handle, says_place));
        self.warnings.push_str(&more_warnings);
        if let Some(registers) = registers.filter(|_| self.has_registers) {
            self.show_registers(registers, &mut room);
        }
        if !advice.suggestions.is_empty() {
            room.text(&mut self.suggestions, || suggestions_element(contexts, advice.suggestions));
        }
        if advice.planning && node.parent().is_none() && node.status().is_open() && node.children().is_empty() {
            self.initial_planning = room.spending.spend(self.wording.initial_planning_cost);
            self.when_to_create_child_frames = settings.guidance == Guidance::Full
                && self.initial_planning
                && room.spending.spend(self.wording.full_guidance);
        }
        if says_place {
            self.says_nothing = self.has_nothing_new();
            self.cost = room.spending.spent;
            return;
        }
        self.show_planned(contexts, tree, &mut room, FIRST_PLANNED);
        let quota = settings.budget.current;
        for detail_level in [DetailLevel::Standard, DetailLevel::Full] {
            if self.current.cost(detail_level).tokens <= quota {
                self.climb(&mut room, detail_level);
            }
        }
        self.show_planned(contexts, tree, &mut room, usize::MAX);
        self.climb(&mut room, DetailLevel::Standard);
        self.climb(&mut room, DetailLevel::Full);
        self.show_task(task, usize::MAX, &mut room);
        self.cost = room.spending.spent;
    }

    /// True if it says only which frame is the current one.
    fn has_nothing_new(&self) -> bool {
        let texts = [&self.news, &self.warnings, &self.answers, &self.above, &self.suggestions];
        texts.iter().all(|text| text.is_empty()) && !self.has_registers && !self.initial_planning
    }

    fn climb(&mut self, room: &mut Room<'_>, detail_level: DetailLevel) {
        if detail_level > self.detail_level
            && room.spending.spend(self.current.cost(detail_level).saturating_sub(self.current.cost(self.detail_level)))
        {
            self.detail_level = detail_level;
        }
    }

    /// Shows as much of the task as fits into a number of tokens and into the room.
    fn show_task(&mut self, task: &str, tokens: usize, room: &mut Room<'_>) {
        if task.is_empty() || self.task.is_whole || room.spending.is_closed {
            return;
        }
        let most = (room.spending.left() + self.task.cost).least_charge();
        let shown = Task::of(&self.wording, task, tokens.min(most), room.counter);
        // A task that is cut takes all the room. With more room it is longer, and nothing comes behind it
        // until it has its maximum length.
        let is_cut = most < tokens && !shown.is_whole;
        if shown.cost.tokens > self.task.cost.tokens && room.spending.spend(shown.cost.saturating_sub(self.task.cost)) {
            self.task = shown;
        }
        room.spending.is_closed |= is_cut;
    }

    /// Adds each register completely or not at all. Those that do not fit are counted.
    fn show_registers(&mut self, registers: &Registers, room: &mut Room<'_>) {
        for (register, value) in registers.filled() {
            let name = register.name();
            let (value, omitted) = without_long_blanks(value);
            let element = format!("<{name}{}>{}</{name}>\n", omitted_blanks(omitted), content(&value));
            if room.spend(&element) {
                self.registers.push(element);
            } else {
                self.omitted_registers += 1;
            }
        }
    }

    fn show_planned(&mut self, contexts: &Contexts, tree: &Tree, room: &mut Room<'_>, most: usize) {
        let total = self.planned.len();
        while !room.spending.is_closed && self.planned_elements.len() < total.min(most) {
            let child = self.planned[self.planned_elements.len()];
            let element = format!("<frame {}/>\n", id_and_title(contexts, tree, child));
            if room.spend(&element) {
                self.planned_elements.push(element);
            }
        }
    }

    /// Writes the pieces without the root element.
    pub(super) fn write_pieces(&self, out: &mut String) {
        if self.initial_planning {
            out.push_str(&self.wording.initial_planning);
        }
        if self.when_to_create_child_frames {
            out.push_str(&self.wording.when_to_create_child_frames);
        }
        if self.has_planned {
            let total = self.planned.len() + self.other_planned;
            let omitted = total - self.planned_elements.len();
            if self.planned_elements.is_empty() {
                out.push_str(&skeleton::planned_omitted(omitted));
            } else {
                out.push_str(&skeleton::planned_open(total, omitted));
                self.planned_elements.iter().for_each(|element| out.push_str(element));
                out.push_str(skeleton::PLANNED_CLOSE);
            }
        }
        out.push_str(&self.position);
        out.push_str(&self.blocked_siblings);
        out.push_str(&self.beside);
        out.push_str(&self.next);
        out.push_str(&self.news);
        out.push_str(&self.warnings);
        out.push_str(&self.answers);
        out.push_str(&self.suggestions);
        if self.has_registers {
            out.push_str(&self.wording.registers_open(self.omitted_registers));
            self.registers.iter().for_each(|element| out.push_str(element));
            out.push_str(skeleton::REGISTERS_CLOSE);
        }
        out.push_str(&self.above);
        out.push_str(&self.task.xml);
        self.current.write(self.detail_level, out);
    }

    /// Adds the report's entries of the current frame and of its planned children.
    pub(super) fn report(&self, counter: &dyn TokenCounter, entries: &mut Vec<Entry>) {
        entries.push(Entry {
            handle: self.handle,
            section: Section::CurrentFrame,
            detail_level: self.detail_level,
            score: 100.0,
            tokens: self.current.cost(self.detail_level).tokens,
            log: self.current.log(self.detail_level).cloned(),
            omission: None,
        });
        entries.extend(self.planned.iter().enumerate().map(|(index, child)| {
            let element = self.planned_elements.get(index);
            Entry {
                handle: *child,
                section: Section::PlannedChildren,
                detail_level: if element.is_some() { DetailLevel::Stub } else { DetailLevel::Omitted },
                score: 100.0,
                tokens: element.map_or(0, |element| counter.count(element)),
                log: None,
                omission: element.is_none().then_some(Omission::Budget),
            }
        }));
    }
}

/// The full instruction of the current frame, or its beginning.
#[derive(Default)]
struct Task {
    xml: String,
    cost: Cost,
    is_whole: bool,
}

impl Task {
    /// As much of a task as fits into a number of tokens; nothing if not even its beginning fits.
    fn of(wording: &Wording, task: &str, tokens: usize, counter: &dyn TokenCounter) -> Self {
        let close = "</task>\n";
        let (text, omitted_blanks) = without_long_blanks(task);
        let all = text.chars().count();
        let around = |omitted: usize| charge(&wording.task_open(omitted), counter) + charge(close, counter);
        let cost = |part: &str| charge(&content(part), counter);
        // A whole task needs no attribute; else room for its longest form is kept.
        let (mut shown, _) = truncate_by(&text, tokens.saturating_sub(around(0)), CUT, &cost);
        let is_whole = shown.len() == text.len() && omitted_blanks == 0;
        if !is_whole {
            shown = truncate_by(&text, tokens.saturating_sub(around(all + omitted_blanks)), CUT, &cost).0;
        }
        if shown.is_empty() {
            return Self::default();
        }
        let kept = shown.strip_suffix(CUT).filter(|_| shown.len() != text.len()).unwrap_or(&shown);
        let omitted = all - kept.chars().count() + omitted_blanks;
        let xml = format!("{}{}{close}", wording.task_open(omitted), content(&shown));
        let cost = Cost::of(&xml, counter);
        Self { xml, cost, is_whole }
    }
}

/// The room that is left, with the counter that measures texts.
struct Room<'a> {
    counter: &'a dyn TokenCounter,
    spending: Spending,
}

impl Room<'_> {
    fn spend(&mut self, text: &str) -> bool {
        self.spending.spend(Cost::of(text, self.counter))
    }

    /// Makes a text and stores it in `place` if it fits. Does not make it if there is no room left.
    fn text(&mut self, place: &mut String, make: impl FnOnce() -> String) {
        if !self.spending.is_closed {
            let text = make();
            if self.spend(&text) {
                *place = text;
            }
        }
    }
}

fn id_and_title(contexts: &Contexts, tree: &Tree, handle: Handle) -> String {
    named_within(contexts, tree, handle, TITLE_TOKENS)
}

/// The handle and the title of a frame, cut at a number of tokens.
fn named_within(contexts: &Contexts, tree: &Tree, handle: Handle, tokens: usize) -> String {
    let cost = |part: &str| charge(&attribute(part), &contexts.counts);
    let (title, omitted) = without_long_blanks(tree.node(handle).title());
    let (title, _) = truncate_by(&title, tokens, CUT, &cost);
    format!("id=\"{handle}\" title=\"{}\"{}", attribute(&title), omitted_blanks(omitted))
}

/// Returns the elements `<position>` and `<sibling-status>`.
fn position(order: SiblingOrder) -> String {
    let mut text = format!("<position>Task {} of {}</position>\n<sibling-status", order.position, order.total);
    for (name, count) in [
        ("completed", Some(order.completed)),
        ("in-progress", Some(order.in_progress)),
        ("pending", Some(order.planned)),
        ("blocked", Some(order.blocked).filter(|count| *count > 0)),
        ("failed", Some(order.failed).filter(|count| *count > 0)),
    ] {
        if let Some(count) = count {
            text.push_str(&format!(" {name}=\"{count}\""));
        }
    }
    text.push_str("/>\n");
    text
}

/// Returns an element for each of the first blocked siblings, with the reason.
fn blocked_siblings(contexts: &Contexts, tree: &Tree, handle: Handle) -> String {
    let Some(parent) = tree.node(handle).parent() else { return String::new() };
    let blocked = tree.child_index(parent).all(Kind::Blocked).filter(|sibling| *sibling != handle);
    let element = |sibling: Handle| {
        let (frame, reason) = (id_and_title(contexts, tree, sibling), reason(contexts, tree, sibling));
        format!("<blocked-sibling {frame}>{reason}</blocked-sibling>\n")
    };
    blocked.take(BLOCKED_SIBLINGS).map(element).collect()
}

/// Returns the siblings that are worked on now, and the next ones that are planned, with their criteria in
/// short, so that the agent of this frame does not do their work. `named`: a sibling that is named elsewhere.
fn beside(contexts: &Contexts, tree: &Tree, handle: Handle, named: Option<Handle>) -> String {
    let Some(parent) = tree.node(handle).parent() else { return String::new() };
    let (index, order) = (tree.child_index(parent), tree.node(handle).order());
    let is_newest = |sibling: &Handle| *sibling != handle && tree.node(*sibling).retried_as().is_none();
    let running = index.all(Kind::InProgress).filter(is_newest);
    // Those behind the frame come first: they are next.
    let behind = index.from(Kind::Planned, order);
    let before = index.all(Kind::Planned).take_while(|sibling| tree.node(*sibling).order() < order);
    let planned = behind.chain(before).filter(is_newest).filter(|sibling| Some(*sibling) != named);
    let element = |sibling: Handle| {
        let node = tree.node(sibling);
        let criteria = short(contexts, node.record().dense_criteria(), BESIDE_CRITERIA_TOKENS);
        let status = if node.status() == FrameStatus::InProgress { " status=\"in_progress\"" } else { "" };
        let named = named_within(contexts, tree, sibling, BESIDE_TITLE_TOKENS);
        match criteria.is_empty() {
            true => format!("<frame {named}{status}/>\n"),
            false => format!("<frame {named}{status}>{criteria}</frame>\n"),
        }
    };
    let shown: String = running.chain(planned).take(BESIDE).map(element).collect();
    if shown.is_empty() { shown } else { format!("<beside>\n{shown}</beside>\n") }
}

/// Returns what a blocked frame waits for, and whether it was answered, for XML on one line.
fn reason(contexts: &Contexts, tree: &Tree, handle: Handle) -> String {
    let frame = tree.node(handle).record();
    let reason = short(contexts, frame.waits_for(), REASON_TOKENS);
    let reason = if reason.is_empty() { "no reason was given".to_owned() } else { reason };
    match frame.pending_answer() {
        Some(answer) => format!("{reason} (answered: {})", short(contexts, answer, ANSWER_TOKENS)),
        None => reason,
    }
}

/// Returns the newest answers that an open frame has got, with their questions, oldest first.
fn answers(contexts: &Contexts, tree: &Tree, handle: Handle) -> String {
    let frame = tree.node(handle).record();
    if !frame.status.is_open() {
        return String::new();
    }
    let answered = frame.questions.iter().rev().filter_map(|asked| Some((asked, asked.answer.as_deref()?)));
    let mut elements: Vec<String> = answered
        .take(ANSWERS)
        .map(|(asked, answer)| {
            let [question, answer] = [(&*asked.question, REASON_TOKENS), (answer, ANSWER_TOKENS)]
                .map(|(text, tokens)| short(contexts, text, tokens));
            format!("<answered>\n<question>{question}</question>\n<answer>{answer}</answer>\n</answered>\n")
        })
        .collect();
    elements.reverse();
    elements.concat()
}

/// Returns an element for each frame above whose criteria the conversation does not have any more.
fn above(contexts: &Contexts, tree: &Tree, frames: &[Handle]) -> String {
    let element = |frame: &Handle| {
        let criteria = short(contexts, tree.node(*frame).record().dense_criteria(), ABOVE_TOKENS);
        format!("<above {}>{criteria}</above>\n", id_and_title(contexts, tree, *frame))
    };
    frames.iter().map(element).collect()
}

/// Returns the element of a child that has ended in the background, with its results. It is empty for a
/// blocked child, because a warning tells of it.
fn ended_child(contexts: &Contexts, tree: &Tree, handle: Handle, problem: &str, results_tokens: usize) -> String {
    let frame = tree.node(handle).record();
    let text = match frame.status {
        FrameStatus::Blocked | FrameStatus::InProgress => return String::new(),
        FrameStatus::Planned if problem.is_empty() => return String::new(),
        FrameStatus::Planned => problem,
        FrameStatus::Invalidated => frame.invalidation_reason.as_deref().unwrap_or_default(),
        FrameStatus::Completed | FrameStatus::Failed => frame.dense_results(),
    };
    let cost = |part: &str| charge(&content(part), &contexts.counts);
    let (text, _) = truncate_by(text.trim(), results_tokens, CUT, &cost);
    let (named, status) = (id_and_title(contexts, tree, handle), frame.status);
    format!("<ended-child {named} status=\"{status}\">{}</ended-child>\n", content(&text))
}

/// Returns the handle and the title of a frame, for the content of an element.
fn named(contexts: &Contexts, tree: &Tree, handle: Handle) -> String {
    format!("{handle} ({})", short(contexts, tree.node(handle).title(), TITLE_TOKENS))
}

/// Returns a text on one line, cut to `tokens`, for the content of an element.
fn short(contexts: &Contexts, text: &str, tokens: usize) -> String {
    let cost = |part: &str| charge(&content(part), &contexts.counts);
    let text = one_line(beginning(text, SHORT_CHARACTERS));
    content(&truncate_by(&text, tokens, CUT, &cost).0).into_owned()
}

fn next_action(contexts: &Contexts, wording: &Wording, tree: &Tree, handle: Handle, is_called: bool) -> String {
    let node = tree.node(handle);
    let mut pointer = String::new();
    let action = match node.status() {
        FrameStatus::Planned => match waits_for(tree, handle) {
            Some(dependency) if is_lost(tree, dependency) => {
                let status = tree.node(dependency).status();
                let step = next_step(wording, handle, dependency, status);
                format!("This frame is planned. It waits for {dependency}, which is {status}{step}.")
            }
            Some(dependency) => format!("This frame is planned. It can begin when {dependency} is completed."),
            None => wording.begin_this(handle),
        },
        FrameStatus::Invalidated => format!("This frame is out of the plan: {}", go_on_above(tree, handle)),
        FrameStatus::Completed | FrameStatus::Failed => {
            format!("This frame is {}: {}", node.status(), go_on_above(tree, handle))
        }
        FrameStatus::InProgress | FrameStatus::Blocked => {
            let index = tree.child_index(handle);
            let child_that_is = |kind| index.all(kind).next();
            let ready = tree.ready_children(handle, None).next();
            if let Some(child) = child_that_is(Kind::InProgress) {
                let record = tree.node(child).record();
                wording.child_in_progress(
                    child,
                    record.held_by().map(|holder| holder.kind).filter(|kind| kind.is_running()),
                    record.is_interrupted(),
                )
            } else if let Some(child) = child_that_is(Kind::Answered) {
                wording.answer_child(child, true)
            } else if let Some(child) = ready {
                pointer = format!("<first-child {}/>\n", id_and_title(contexts, tree, child));
                wording.begin_child(child)
            } else if let Some(child) = child_that_is(Kind::Blocked) {
                // An answered child comes first.
                match tree.node(child).record().is_salvaged() {
                    true => wording.resume_child(child),
                    false => wording.answer_child(child, false),
                }
            } else if let Some((child, dependency)) = first_waiting(tree, handle) {
                let status = tree.node(dependency).status();
                let step = next_step(wording, child, dependency, status);
                format!("No planned child can begin: {child} waits for {dependency}, which is {status}{step}.")
            } else if node.status() == FrameStatus::Blocked {
                match node.record().pending_answer() {
                    Some(_) => "This frame is blocked, and has its answer: it can resume.".to_owned(),
                    None => "This frame is blocked: end your turn; it resumes when it is answered.".to_owned(),
                }
            } else if node.parent().is_none() && node.record().placeholder {
                // It has only what the person said last: nothing that could be met for good.
                return String::new();
            } else {
                let next = if is_called { None } else { tree.ready_siblings(handle).next() };
                let mut above = tree.ancestors(handle).map(|above| (above, tree.node(above).status()));
                let above = above.find(|(_, status)| status.is_unfinished());
                if let Some(next) = next {
                    pointer = format!("<next-sibling {}/>\n", id_and_title(contexts, tree, next));
                }
                wording.finish_this(!node.record().dense_criteria().is_empty(), next, above, is_called)
            }
        }
    };
    format!("<next-action>{action}</next-action>\n{pointer}")
}

/// Returns a frame that a planned one waits for: the first one that cannot be completed, or else the first
/// one.
fn waits_for(tree: &Tree, handle: Handle) -> Option<Handle> {
    lost(tree, handle).or_else(|| needs(tree, handle).next())
}

/// Returns the first planned child that waits for another frame, with that one; first those that wait in
/// vain.
fn first_waiting(tree: &Tree, parent: Handle) -> Option<(Handle, Handle)> {
    let waiting = |child: Handle| waits_for(tree, child).map(|dependency| (child, dependency));
    in_vain(tree, parent).0.next().or_else(|| tree.child_index(parent).all(Kind::Planned).find_map(waiting))
}

/// The planned children of a frame that wait in vain, each with the first frame that it waits for in vain, and
/// the number of these children.
fn in_vain(tree: &Tree, parent: Handle) -> (impl Iterator<Item = (Handle, Handle)> + '_, usize) {
    let is_planned = tree.node(parent).status() == FrameStatus::Planned;
    // All children of a planned frame wait for what it waits for.
    let kind = if is_planned && lost(tree, parent).is_some() { Kind::Planned } else { Kind::Lost };
    let with_lost = |child| lost(tree, child).map(|dependency| (child, dependency));
    let index = tree.child_index(parent);
    (index.all(kind).filter_map(with_lost), index.number(kind))
}

/// The dependencies of a frame and of the planned frames above it that are not completed.
fn needs(tree: &Tree, handle: Handle) -> impl Iterator<Item = Handle> + '_ {
    tree.needs(handle).map(|(_, dependency)| dependency)
}

/// Returns the first frame that a planned one waits for in vain.
fn lost(tree: &Tree, handle: Handle) -> Option<Handle> {
    needs(tree, handle).find(|dependency| is_lost(tree, *dependency))
}

/// True if a frame has ended without being completed.
fn is_lost(tree: &Tree, handle: Handle) -> bool {
    tree.node(handle).record().lost_because().is_some()
}

fn go_on_above(tree: &Tree, handle: Handle) -> String {
    match tree.node(handle).parent().and_then(|parent| tree.nearest_open(parent)) {
        Some(above) => format!("end your turn; {above} resumes."),
        None => match tree.unfinished_below(handle).find(|below| tree.node(*below).status().is_open()) {
            Some(below) => format!("{below} below it is still {}. Finish or invalidate it.", tree.node(below).status()),
            None => "its tree is done.".to_owned(),
        },
    }
}

fn waiting_warnings(contexts: &Contexts, wording: &Wording, tree: &Tree, considered: &Considered) -> String {
    let waiting = &considered.waiting_for;
    warnings(waiting.iter().copied(), waiting.len(), |Waiting { dependent, dependency }| {
        let who = match dependent == considered.handle {
            true => "This frame".to_owned(),
            false => format!("Its ancestor {dependent}"),
        };
        waiting_warning(contexts, wording, tree, &who, dependent, dependency)
    })
}

/// Says that a frame, which is called `who`, depends on one that is not completed: why that is so, and what
/// to do if it cannot be completed any more.
fn waiting_warning(
    contexts: &Contexts,
    wording: &Wording,
    tree: &Tree,
    who: &str,
    dependent: Handle,
    dependency: Handle,
) -> String {
    let node = tree.node(dependency);
    let is_planned = tree.node(dependent).status() == FrameStatus::Planned;
    let why = match node.record().lost_because() {
        Some(reason) => {
            let reason = short(contexts, reason, REASON_TOKENS);
            let reason = if reason.is_empty() { "no reason was given".to_owned() } else { reason };
            match is_planned {
                true => format!(": {reason} ({})", remedy(wording, tree, dependent, dependency)),
                false => format!(": {reason} (do without its results, or finish as failed)"),
            }
        }
        None if node.status() == FrameStatus::Blocked => format!(": {}", reason(contexts, tree, dependency)),
        None => ".".to_owned(),
    };
    format!("{who} depends on {}, which is {}{why}", named(contexts, tree, dependency), node.status())
}

/// Returns the end of a next action, after the status of a dependency that a planned frame waits for: what to
/// do if the dependency cannot be completed any more.
fn next_step(wording: &Wording, dependent: Handle, dependency: Handle, status: FrameStatus) -> String {
    match status {
        FrameStatus::Failed => format!(". To try {dependency} again, {}", wording.retry(dependency)),
        FrameStatus::Invalidated => format!(": {}", wording.rewire(dependent)),
        _ => String::new(),
    }
}

/// Says all that helps a planned frame that depends on one that cannot be completed any more. Only a failed
/// dependency can be retried.
fn remedy(wording: &Wording, tree: &Tree, dependent: Handle, dependency: Handle) -> String {
    let rewire = wording.rewire(dependent);
    match tree.node(dependency).status() {
        FrameStatus::Failed => format!("to try {dependency} again, {}; or {rewire}", wording.retry(dependency)),
        _ => rewire,
    }
}

/// Returns warnings about blocked and interrupted children, about planned children that wait in vain, about
/// the child that finished last if it has failed and none of these waits for it, and about a parent that is
/// not open although the frame is.
fn state_warnings(contexts: &Contexts, wording: &Wording, tree: &Tree, handle: Handle, says_place: bool) -> String {
    let node = tree.node(handle);
    let index = tree.child_index(handle);
    let mut text = warnings(index.all(Kind::Blocked), index.number(Kind::Blocked), |child| {
        format!("Child {} is blocked: {}", named(contexts, tree, child), reason(contexts, tree, child))
    });
    text.push_str(&warnings(index.all(Kind::Interrupted), index.number(Kind::Interrupted), |child| {
        let why = tree.node(child).record().interruption();
        format!("Child {} was interrupted: {}.", named(contexts, tree, child), short(contexts, &why, REASON_TOKENS))
    }));
    let (in_vain, number) = in_vain(tree, handle);
    let in_vain: Vec<(Handle, Handle)> = in_vain.take(if says_place { 0 } else { WARNINGS }).collect();
    let number = if says_place { 0 } else { number };
    text.push_str(&warnings(in_vain.iter().copied(), number, |(child, dependency)| {
        let who = format!("Child {}", named(contexts, tree, child));
        waiting_warning(contexts, wording, tree, &who, child, dependency)
    }));
    let is_explained = |child: Handle| in_vain.iter().any(|(_, dependency)| *dependency == child);
    let has_failed = |child: &Handle| {
        node.status().is_open() && tree.node(*child).status() == FrameStatus::Failed && !is_explained(*child)
    };
    if let Some(child) = node.finished_children().next_back().filter(has_failed) {
        let (named, retry) = (named(contexts, tree, child), wording.retry(child));
        text.push_str(&format!("<warning>Child {named} has failed. To try it again, {retry}.</warning>\n"));
    }
    let parent = node.parent().map(|parent| (parent, tree.node(parent).status()));
    // Workers do the parts of a planned frame before the frame.
    let is_part = |status| status == FrameStatus::Planned && node.record().worker().is_some();
    let is_odd = |status: FrameStatus| node.status().is_open() && !status.is_open() && !is_part(status);
    if let Some((parent, status)) = parent.filter(|(_, status)| is_odd(*status)) {
        let state = if status == FrameStatus::Planned { "not activated yet" } else { status.as_str() };
        text.push_str(&format!("<warning>The parent {parent} is {state}.</warning>\n"));
    }
    text
}

fn suggestions_element(contexts: &Contexts, suggestions: &str) -> String {
    let cost = |part: &str| charge(&content(part), &contexts.counts);
    let (suggestions, omitted) = without_long_blanks(suggestions);
    let (shown, _) = truncate_by(&suggestions, SUGGESTION_TOKENS, CUT, &cost);
    format!("<suggestions{}>\n{}\n</suggestions>\n", omitted_blanks(omitted), content(&shown))
}

/// Says the first of several causes, and the number of the others.
fn warnings<T>(causes: impl Iterator<Item = T>, number: usize, say: impl Fn(T) -> String) -> String {
    let mut text: String = causes.take(WARNINGS).map(|cause| format!("<warning>{}</warning>\n", say(cause))).collect();
    if number > WARNINGS {
        text.push_str(&format!("<warning>And {} more of these.</warning>\n", number - WARNINGS));
    }
    text
}
