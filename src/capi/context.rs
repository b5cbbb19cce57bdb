//! Contexts of the C interface. Their texts are not copied.

use std::ffi::c_void;
use std::ptr;
use std::sync::Arc;

use schemars::JsonSchema;
use serde::Serialize;

use super::code::CallstackCode;
use super::error::{CallstackError, Failure};
use super::guard::{Output, guard, put};
use super::stack::Callstack;
use super::text::{CallstackText, CallstackView, is_possible_list, to_json, views};
use crate::context::{Budget, Context, Report, Settings, changes};

/// The context of a frame: the XML text that its agent reads before the next model call. Use either `xml`, or
/// `stable` and `changing`: both ways have the same information. The texts belong to the context and are not
/// followed by a NUL.
///
/// The caller does not change the fields, and frees the context with `callstack_context_free`. Any thread may
/// read it.
#[repr(C)]
#[derive(Debug)]
pub struct CallstackContext {
    /// The whole context as one XML document, the stable part first.
    pub xml: CallstackView,
    /// The stable part, for the system prompt. Its bytes change only when a frame is added or its status
    /// changes, when a chunk that it shows changes, or when results are delivered or forgotten. So prompt
    /// caches stay valid.
    pub stable: CallstackView,
    /// The volatile part. It belongs after the newest message.
    pub changing: CallstackView,
    /// An upper bound of the number of tokens of `xml`, and of `stable` and `changing` together.
    pub tokens: usize,
    /// What the texts belong to; NULL for an empty context.
    pub owner: *const c_void,
}

impl CallstackContext {
    const EMPTY: Self = Self {
        xml: CallstackView::NONE,
        stable: CallstackView::NONE,
        changing: CallstackView::NONE,
        tokens: 0,
        owner: ptr::null(),
    };
}

impl From<Arc<Context>> for CallstackContext {
    fn from(context: Arc<Context>) -> Self {
        let view = |text: &str| CallstackView::of(text);
        let (xml, stable, changing) = (view(&context.xml), view(&context.stable), view(&context.volatile));
        Self { xml, stable, changing, tokens: context.tokens, owner: Arc::into_raw(context).cast() }
    }
}

/// A context, or none. Nothing is made if the pointer is null.
impl Output for *mut CallstackContext {
    type Value = Option<Arc<Context>>;

    unsafe fn empty(self) {
        // SAFETY: the caller's promise.
        unsafe { put(self, CallstackContext::EMPTY) }
    }

    unsafe fn fill(self, context: Option<Arc<Context>>) {
        if let Some(context) = context.filter(|_| !self.is_null()) {
            // SAFETY: the caller's promise.
            unsafe { put(self, context.into()) }
        }
    }
}

/// The contexts of a list, at `count` places behind each other. Nothing is made if the address is null.
#[derive(Clone, Copy)]
struct ContextList {
    first: *mut CallstackContext,
    count: usize,
}

impl ContextList {
    /// The places that can exist.
    fn places(self) -> impl Iterator<Item = *mut CallstackContext> {
        let is_possible = !self.first.is_null() && is_possible_list::<CallstackContext>(self.count);
        // The places are not used after the last one, so the address may wrap around behind it.
        (0..if is_possible { self.count } else { 0 }).map(move |place| self.first.wrapping_add(place))
    }
}

impl Output for ContextList {
    type Value = Vec<Arc<Context>>;

    unsafe fn empty(self) {
        // SAFETY: the caller's promise, for each place.
        self.places().for_each(|place| unsafe { put(place, CallstackContext::EMPTY) });
    }

    unsafe fn fill(self, contexts: Vec<Arc<Context>>) {
        for (place, context) in self.places().zip(contexts) {
            // SAFETY: the caller's promise.
            unsafe { put(place, context.into()) }
        }
    }
}

/// Frees a context and empties the struct, so a second call does nothing. `context` may be NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn callstack_context_free(context: *mut CallstackContext) {
    // SAFETY: an owner that is not null was made by `From<Arc<Context>>`.
    unsafe {
        let Some(context) = context.as_mut() else { return };
        if !context.owner.is_null() {
            drop(Arc::from_raw(context.owner.cast::<Context>()));
        }
        *context = CallstackContext::EMPTY;
    }
}

/// The report of a context, with its tokens.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "ContextReport")]
pub(super) struct ContextReport<'a> {
    /// An upper bound of the number of tokens of `xml`, and of `stable` and `changing` together.
    tokens: usize,
    #[serde(flatten)]
    report: &'a Report,
}

/// Returns the context of a frame: the XML text that its agent reads before the next model call. It never
/// exceeds its budget. A cache answers calls for the same frame and settings while nothing in the context has
/// changed, for up to 30 seconds.
///
/// - `frame` (FrameRef): the frame.
/// - `settings` (Settings, optional): the budget, and what is shown. Every key is optional.
/// - `out_context` (Context): the context. The caller frees it with `callstack_context_free`.
///
/// Errors: _UNKNOWN_FRAME, _AMBIGUOUS_FRAME, _JSON and _SETTING for the settings; _BUDGET_TOO_SMALL, with the
/// smallest possible budget in the details, as `needed` and `unit` (`"tokens"`: of `total`; `"bytes"`: of
/// `bytes`).
#[unsafe(no_mangle)]
pub unsafe extern "C" fn callstack_context(
    stack: *const Callstack,
    frame: CallstackView,
    settings: CallstackView,
    out_context: *mut CallstackContext,
    error: *mut *mut CallstackError,
) -> CallstackCode {
    // SAFETY: the caller keeps the header's contract.
    unsafe {
        Callstack::read_contexts(stack, out_context, error, |stack, known| {
            let frame = frame.text("frame")?;
            Ok(Some(stack.context(frame, &*known.read(settings)?)?))
        })
    }
}

/// Returns the contexts of several frames in one call, each as `callstack_context` returns it.
///
/// - `frames` (FrameRef[]): the frames. In C the address of `count` views; may be NULL if `count` is 0.
/// - `settings` (Settings, optional): the budget, and what is shown, in all of them. In C the address of the
///   text; may be NULL.
/// - `out_contexts` (Context[]): the contexts, in the order of the frames. In C the address of `count` contexts.
///   The caller frees each with `callstack_context_free`. All are empty after an error.
///
/// Languages that pay for each struct that they pass by value use it for one frame too: it takes addresses.
///
/// Errors: _UNKNOWN_FRAME, _AMBIGUOUS_FRAME and _BUDGET_TOO_SMALL of the first frame whose context fails, as
/// for `callstack_context`; _JSON and _SETTING for the settings.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn callstack_contexts(
    stack: *const Callstack,
    frames: *const CallstackView,
    count: usize,
    settings: *const CallstackView,
    out_contexts: *mut CallstackContext,
    error: *mut *mut CallstackError,
) -> CallstackCode {
    let out = ContextList { first: out_contexts, count };
    // SAFETY: the caller keeps the header's contract.
    unsafe {
        Callstack::read_contexts(stack, out, error, |stack, known| {
            let settings = known.read(settings.as_ref().copied().unwrap_or(CallstackView::NONE))?;
            let frames = views("frames", frames, count)?.iter().map(|frame| frame.text("frames"));
            let frames = frames.collect::<Result<Vec<&str>, Failure>>()?;
            Ok(stack.contexts(frames, &settings)?)
        })
    }
}

/// Returns which frames and chunks were considered for a context, and how much of each it shows.
///
/// - `context` (Context): a context that is not freed and not empty.
/// - `out_report` (ContextReport): the report.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn callstack_context_report(
    context: *const CallstackContext,
    out_report: *mut CallstackText,
    error: *mut *mut CallstackError,
) -> CallstackCode {
    // SAFETY: the caller keeps the header's contract; an owner that is not null was made by
    // `From<Arc<Context>>`.
    unsafe {
        guard(out_report, error, || {
            let owner = context.as_ref().and_then(|context| context.owner.cast::<Context>().as_ref());
            let context = owner.ok_or(Failure::Null { argument: "context" })?;
            Ok(to_json(&ContextReport { tokens: context.tokens, report: &context.report }))
        })
    }
}

/// Removes the contexts of a frame from the cache.
///
/// - `frame` (FrameRef, optional): the frame. Default: all frames.
///
/// Errors: _UNKNOWN_FRAME, _AMBIGUOUS_FRAME.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn callstack_clear_cache(
    stack: *const Callstack,
    frame: CallstackView,
    error: *mut *mut CallstackError,
) -> CallstackCode {
    // SAFETY: the caller keeps the header's contract.
    unsafe {
        Callstack::read(stack, (), error, |stack| Ok(stack.upkeep().clear_cache(frame.optional_frame("frame")?)?))
    }
}

/// Returns the settings of contexts that follow from the environment: the defaults, replaced by the values of
/// the environment variables `STACK_TOKEN_BUDGET_TOTAL`, `STACK_TOKEN_BUDGET_ANCESTORS`,
/// `STACK_TOKEN_BUDGET_SIBLINGS` and `STACK_TOKEN_BUDGET_CURRENT`, in tokens. A variable that is not a whole
/// number of at least 1 leaves the default.
///
/// - `out_settings` (Settings): the settings.
/// - `out_problems` (text[]): a message for each variable that was ignored.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn callstack_settings(
    out_settings: *mut CallstackText,
    out_problems: *mut CallstackText,
    error: *mut *mut CallstackError,
) -> CallstackCode {
    // SAFETY: the caller keeps the header's contract.
    unsafe {
        guard((out_settings, out_problems), error, || {
            let (budget, problems) = Budget::from_environment();
            let problems: Vec<String> = problems.iter().map(ToString::to_string).collect();
            Ok((to_json(&Settings { budget, ..Settings::default() }), to_json(&problems)))
        })
    }
}

/// Returns what has changed in a volatile part, for a conversation that keeps what it was told: a whole new
/// part would leave the older one beside it.
///
/// - `before` (text): the volatile part that the conversation was told last.
/// - `now` (text): the newest one, of `callstack_session_context` or `callstack_context`.
/// - `out_changes` (text): a block with the elements that are new or different, and the names of those that
///   are gone; `now` itself if that is not longer; empty if nothing has changed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn callstack_context_changes(
    before: CallstackView,
    now: CallstackView,
    out_changes: *mut CallstackText,
    error: *mut *mut CallstackError,
) -> CallstackCode {
    // SAFETY: the caller keeps the header's contract.
    unsafe {
        guard(out_changes, error, || {
            let (before, now) = (before.text("before")?, now.text("now")?);
            Ok(changes(before, now).unwrap_or_default())
        })
    }
}
