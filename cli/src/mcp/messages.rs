//! The messages of a client: how a text becomes a message, and what is answered to a text that is not a
//! message. Every request that has an ID gets an answer, because agents wait for it without a limit. The
//! library does not answer texts that it cannot read. Therefore everything for the library passes through
//! here first.

use std::borrow::Cow;
use std::io;
use std::sync::Arc;
use std::time::Duration;

use callstack_core::text::{from_json, readable_json};
use rmcp::model::{ClientJsonRpcMessage, ClientRequest, ErrorCode, ErrorData, JsonRpcMessage, RequestId};
use rmcp::service::{RoleServer, TxJsonRpcMessage};
use rmcp::transport::Transport;
use serde::Serialize;
use serde_json::error::Category;
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, AsyncRead, AsyncWrite, AsyncWriteExt, BufReader};
use tokio::sync::mpsc::{Receiver, Sender, channel};
use tokio::sync::{Mutex, OwnedMutexGuard};
use tokio::time::{Instant, timeout_at};
use tokio_util::sync::CancellationToken;

/// The longest line that is read, in bytes.
const LONGEST_LINE: usize = 16 << 20;
/// The longest ID with which an answer to an unreadable message is sent, in bytes of JSON.
const LONGEST_ID: usize = 1_024;
/// How many messages of an unreadable batch get an answer.
const MOST_IN_BATCH: usize = 10_000;
/// How many messages wait until the server takes them.
const MOST_WAITING: usize = 64;

/// The beginnings of the names of clients that send the calls of one message in any order.
const SHUFFLES: [&str; 1] = ["copilot-cli"];
/// How long to wait for the other calls of a message of such a client.
const TOGETHER: Duration = Duration::from_millis(20);
/// Where a request of the newest protocol names the client.
const CLIENT_INFO: &str = "io.modelcontextprotocol/clientInfo";

/// A text that is not a message.
#[derive(Debug)]
pub struct Unreadable {
    heads: Heads,
    error: ErrorData,
    /// Why, for the log. It contains nothing of the text.
    logged: String,
}

/// Reads a text as a message, and returns it with the text as it was read. A mark at its beginning is left
/// out; U+FFFD replaces bytes that are not UTF-8, and escapes of half characters.
///
/// # Errors
/// If it is not a message.
pub fn read(bytes: &[u8]) -> Result<(ClientJsonRpcMessage, Cow<'_, str>), Box<Unreadable>> {
    let text = match String::from_utf8_lossy(bytes) {
        Cow::Borrowed(text) => readable_json(text),
        Cow::Owned(text) => Cow::Owned(readable_json(&text).into_owned()),
    };
    match serde_json::from_str(&text) {
        Ok(message) => Ok((with_read_arguments(message, &text), text)),
        Err(error) => {
            let code = if error.is_data() { ErrorCode::INVALID_REQUEST } else { ErrorCode::PARSE_ERROR };
            let message = format!("the message cannot be read, and nothing was done: {error}");
            let mut heads = Heads::default();
            heads.read(text.as_bytes());
            let logged = format!("a message cannot be read: {}", kind(&error));
            Err(Box::new(Unreadable::new(heads, ErrorData::new(code, message, None), logged)))
        }
    }
}

/// Returns a tool call with an object as its arguments. Some hosts send the text of the object instead. Other
/// messages stay as they are.
fn with_read_arguments(message: ClientJsonRpcMessage, text: &str) -> ClientJsonRpcMessage {
    let is_unread_call = matches!(&message, JsonRpcMessage::Request(request)
        if matches!(&request.request, ClientRequest::CustomRequest(other) if other.method == "tools/call"));
    let read = || {
        let mut message: Value = is_unread_call.then(|| from_json(text).ok())??;
        let arguments = &mut message["params"]["arguments"];
        let object: Value = from_json(arguments.as_str()?).ok()?;
        *arguments = object.is_object().then_some(object)?;
        serde_json::from_value(message).ok()
    };
    read().unwrap_or(message)
}

/// The kind of the error for the log, and its place if the parser knows it. The parser's own message may
/// quote the text.
fn kind(error: &serde_json::Error) -> String {
    let kind = match error.classify() {
        Category::Data => "it is JSON of another kind",
        Category::Eof => "it ends too early",
        Category::Io | Category::Syntax => "it is not JSON",
    };
    match error.line() {
        0 => kind.to_owned(),
        line => format!("{kind}, at line {line} column {}", error.column()),
    }
}

impl Unreadable {
    fn new(mut heads: Heads, error: ErrorData, logged: String) -> Self {
        heads.end();
        Self { heads, error, logged }
    }

    /// The errors for the caller, one for each request of the text that has an ID. No caller waits for an
    /// answer to a notification, or to an answer.
    fn errors(&self) -> impl Iterator<Item = Value> + '_ {
        let requests = self.heads.found.iter().filter(|head| !head.is_answer());
        requests.filter_map(|head| Some(json!({ "jsonrpc": "2.0", "id": head.id()?, "error": self.error })))
    }

    /// The answer to the text as one: an error, or a list of errors for a batch. `None` if no caller waits
    /// for one.
    pub fn answer(&self) -> Option<Value> {
        let errors: Vec<Value> = self.errors().collect();
        match self.heads.is_batch {
            true => (!errors.is_empty()).then_some(Value::Array(errors)),
            false => errors.into_iter().next(),
        }
    }

    /// The errors in place of answers to requests of this server. The server waits for these answers.
    fn failed_answers(&self) -> impl Iterator<Item = ClientJsonRpcMessage> + '_ {
        let answers = self.heads.found.iter().filter(|head| head.is_answer());
        let ids = answers.filter_map(|head| serde_json::from_value::<RequestId>(head.id()?).ok());
        ids.map(|id| ClientJsonRpcMessage::error(self.error.clone(), Some(id)))
    }
}

/// The ID and the kind of a message.
#[derive(Debug, Default)]
struct Head {
    /// As JSON, perhaps cut.
    id: Vec<u8>,
    has_method: bool,
    has_result: bool,
}

impl Head {
    /// True if the message answers a request of this server.
    fn is_answer(&self) -> bool {
        self.has_result && !self.has_method
    }

    /// The ID, if it is a whole text or number.
    fn id(&self) -> Option<Value> {
        // The beginning of a number that was cut would be another number.
        let id = serde_json::from_slice(&self.id).ok().filter(|_| self.id.len() < LONGEST_ID)?;
        matches!(id, Value::String(_) | Value::Number(_)).then_some(id)
    }
}

/// Which requests wait for an answer: the IDs and the kinds of the messages of a text, which is one message
/// or a batch. They are found while the text passes, no matter what else is in it.
#[derive(Debug, Default)]
struct Heads {
    /// The messages that have ended.
    found: Vec<Head>,
    /// The message that is being read.
    open: Option<Head>,
    is_batch: bool,
    /// How many objects and lists are open.
    depth: usize,
    is_in_string: bool,
    is_escaped: bool,
    /// The text or number of the message's object that is being read, as JSON.
    token: Vec<u8>,
    /// The name of the member that is being read, as JSON.
    name: Vec<u8>,
}

impl Heads {
    /// Reads the next bytes of the text.
    fn read(&mut self, bytes: &[u8]) {
        for byte in bytes {
            match *byte {
                byte if self.is_in_string => self.read_in_string(byte),
                b'"' => {
                    self.is_in_string = true;
                    self.keep(b'"');
                }
                begin @ (b'{' | b'[') => {
                    if self.depth == 0 {
                        self.is_batch = begin == b'[';
                    }
                    self.depth += 1;
                    if begin == b'{' && self.depth == self.depth_of_members() {
                        self.open = Some(Head::default());
                    }
                }
                end @ (b'}' | b']' | b',') => {
                    if self.is_among_members() {
                        self.end_member();
                    }
                    if end != b',' {
                        if self.is_among_members() {
                            self.end_message();
                        }
                        self.depth = self.depth.saturating_sub(1);
                    }
                }
                b':' if self.is_among_members() => self.name = std::mem::take(&mut self.token),
                byte if byte.is_ascii_whitespace() => {}
                byte => self.keep(byte),
            }
        }
    }

    fn read_in_string(&mut self, byte: u8) {
        self.keep(byte);
        match byte {
            _ if self.is_escaped => self.is_escaped = false,
            b'\\' => self.is_escaped = true,
            b'"' => self.is_in_string = false,
            _ => {}
        }
    }

    /// Ends a text that was cut. A text at the end that is complete can be the ID. A number cannot, because
    /// more digits can be missing.
    fn end(&mut self) {
        if self.is_among_members() && !self.is_in_string && self.token.last() == Some(&b'"') {
            self.end_member();
        }
        self.end_message();
    }

    fn depth_of_members(&self) -> usize {
        if self.is_batch { 2 } else { 1 }
    }

    fn is_among_members(&self) -> bool {
        self.open.is_some() && self.depth == self.depth_of_members()
    }

    fn keep(&mut self, byte: u8) {
        if self.is_among_members() && self.token.len() < LONGEST_ID {
            self.token.push(byte);
        }
    }

    fn end_member(&mut self) {
        let token = std::mem::take(&mut self.token);
        let name = std::mem::take(&mut self.name);
        let Some(open) = &mut self.open else { return };
        match &*name {
            br#""id""# => open.id = token,
            br#""method""# => open.has_method = true,
            br#""result""# | br#""error""# => open.has_result = true,
            _ => {}
        }
    }

    fn end_message(&mut self) {
        let Some(head) = self.open.take() else { return };
        if self.found.len() < MOST_IN_BATCH {
            self.found.push(head);
        }
    }
}

/// The turn of a tool call. Hosts send several calls of one message at once, such as a pop and the next push,
/// and mean them to run one after the other: the next call reaches the server when the turn of the call
/// before it is dropped.
#[derive(Clone)]
pub struct Turn {
    _guard: Arc<OwnedMutexGuard<()>>,
}

/// The pipes to a client and from it, with one message on each line.
pub struct Lines<W> {
    messages: Receiver<ClientJsonRpcMessage>,
    writer: Writer<W>,
}

impl<W: AsyncWrite + Send + Unpin + 'static> Lines<W> {
    /// Reads from one pipe and writes to the other. At the end of the input `gone` is cancelled: calls need
    /// not wait any longer, because no client would get their answers.
    pub fn new(input: impl AsyncRead + Send + Unpin + 'static, output: W, gone: CancellationToken) -> Self {
        let writer = Writer { output: Arc::new(Mutex::new(output)) };
        let (sender, messages) = channel(MOST_WAITING);
        let (input, line) = (BufReader::new(input), Line::Whole(Vec::new()));
        let reader = Reader { input, line, shuffles: None, sender, writer: writer.clone(), turns: Arc::default() };
        // The server gives up its wait for a message whenever it has something else to do. A separate task
        // never does so.
        tokio::spawn(async move {
            reader.run().await;
            gone.cancel();
        });
        Self { messages, writer }
    }
}

impl<W: AsyncWrite + Send + Unpin + 'static> Transport<RoleServer> for Lines<W> {
    type Error = io::Error;

    fn send(&mut self, message: TxJsonRpcMessage<RoleServer>) -> impl Future<Output = io::Result<()>> + Send + 'static {
        let (writer, line) = (self.writer.clone(), line_of(&message));
        async move { writer.write(&line?).await }
    }

    async fn receive(&mut self) -> Option<ClientJsonRpcMessage> {
        self.messages.recv().await
    }

    async fn close(&mut self) -> io::Result<()> {
        self.messages.close();
        Ok(())
    }
}

/// The pipe to a client. It takes one line after the other.
struct Writer<W> {
    output: Arc<Mutex<W>>,
}

impl<W> Clone for Writer<W> {
    fn clone(&self) -> Self {
        Self { output: self.output.clone() }
    }
}

impl<W: AsyncWrite + Unpin> Writer<W> {
    async fn write(&self, line: &[u8]) -> io::Result<()> {
        let mut output = self.output.lock().await;
        output.write_all(line).await?;
        output.flush().await
    }
}

/// A message as a line.
fn line_of(message: &impl Serialize) -> io::Result<Vec<u8>> {
    let mut line = serde_json::to_vec(message)?;
    line.push(b'\n');
    Ok(line)
}

/// A line of the pipe from a client.
enum Line {
    Whole(Vec<u8>),
    /// If a line is too long, only this is kept.
    TooLong(Heads),
}

impl Line {
    fn read(&mut self, part: &[u8]) {
        match self {
            Self::TooLong(heads) => heads.read(part),
            Self::Whole(line) if line.len() + part.len() > LONGEST_LINE => {
                let mut heads = Heads::default();
                heads.read(line);
                heads.read(part);
                *self = Self::TooLong(heads);
            }
            Self::Whole(line) => line.extend_from_slice(part),
        }
    }
}

/// The pipe from a client.
struct Reader<R, W> {
    input: BufReader<R>,
    /// The line that is being read.
    line: Line,
    /// Whether the client sends the calls of one message in any order. `None`: it has not said its name.
    shuffles: Option<bool>,
    sender: Sender<ClientJsonRpcMessage>,
    writer: Writer<W>,
    /// Locked by the turn of a call.
    turns: Arc<Mutex<()>>,
}

impl<R: AsyncRead + Unpin, W: AsyncWrite + Unpin> Reader<R, W> {
    /// Reads until the client closes the pipe, or the server takes no more messages.
    async fn run(mut self) {
        let mut is_open = true;
        while is_open {
            let Some(line) = self.next().await else { return };
            let mut lines = vec![line];
            if self.may_be_shuffled(&lines[0]) {
                let end = Instant::now() + TOGETHER;
                while lines.len() < MOST_WAITING {
                    let Ok(line) = timeout_at(end, self.next()).await else { break };
                    is_open = line.is_some();
                    let Some(line) = line else { break };
                    lines.push(line);
                }
                lines.sort_by_cached_key(rank);
            }
            for line in lines {
                let passed = match line {
                    Line::Whole(line) if line.trim_ascii().is_empty() => Some(()),
                    Line::Whole(line) => self.pass_on(&line).await,
                    Line::TooLong(heads) => {
                        let message =
                            format!("the message has more than {LONGEST_LINE} bytes, and nothing was done: send less");
                        let error = ErrorData::new(ErrorCode::INVALID_REQUEST, message.clone(), None);
                        self.refuse(Box::new(Unreadable::new(heads, error, message))).await
                    }
                };
                if passed.is_none() {
                    return;
                }
            }
        }
    }

    /// The next line; `None` at the end of the input. If a read is given up, nothing is lost.
    async fn next(&mut self) -> Option<Line> {
        loop {
            let read = match self.input.fill_buf().await {
                Ok(read) => read,
                Err(error) => {
                    tracing::error!("the input cannot be read: {error}");
                    return None;
                }
            };
            let is_end = read.is_empty();
            let line_end = read.iter().position(|byte| *byte == b'\n');
            self.line.read(&read[..line_end.unwrap_or(read.len())]);
            let length = line_end.map_or(read.len(), |end| end + 1);
            self.input.consume(length);
            if line_end.is_some() || is_end {
                let line = std::mem::replace(&mut self.line, Line::Whole(Vec::new()));
                let is_empty = matches!(&line, Line::Whole(line) if line.is_empty());
                return (!is_end || !is_empty).then_some(line);
            }
        }
    }

    /// True for a tool call of a client that sends the calls of one message in any order.
    fn may_be_shuffled(&mut self, line: &Line) -> bool {
        if self.shuffles == Some(false) {
            return false;
        }
        let Some(message) = message_of(line) else { return false };
        let params = &message["params"];
        let client =
            [&params["clientInfo"], &params["_meta"][CLIENT_INFO]].into_iter().find_map(|it| it["name"].as_str());
        if let Some(client) = client {
            self.shuffles = Some(SHUFFLES.iter().any(|start| client.starts_with(start)));
        }
        self.shuffles == Some(true) && message["method"] == "tools/call"
    }

    /// Gives the message of a line to the server, or refuses it. `None` if the server takes no more.
    async fn pass_on(&mut self, line: &[u8]) -> Option<()> {
        match read(line) {
            Ok((message, _)) => self.deliver(message).await,
            Err(unreadable) => match batch(line) {
                Some(messages) => {
                    for message in messages {
                        match read(message.to_string().as_bytes()) {
                            Ok((message, _)) => self.deliver(message).await?,
                            Err(unreadable) => self.refuse(unreadable).await?,
                        }
                    }
                    Some(())
                }
                None => self.refuse(unreadable).await,
            },
        }
    }

    /// Gives a message to the server: a tool call in its turn. `None` if the server takes no more.
    async fn deliver(&mut self, mut message: ClientJsonRpcMessage) -> Option<()> {
        if let JsonRpcMessage::Request(request) = &mut message
            && let ClientRequest::CallToolRequest(call) = &mut request.request
        {
            call.extensions.insert(Turn { _guard: Arc::new(self.turns.clone().lock_owned().await) });
        }
        self.sender.send(message).await.ok()
    }

    /// Answers to a text that is not a message. `None` if the server takes no more messages.
    async fn refuse(&mut self, unreadable: Box<Unreadable>) -> Option<()> {
        tracing::warn!("{}", unreadable.logged);
        for line in unreadable.errors().filter_map(|error| line_of(&error).ok()) {
            // It fails if the client has gone, and then no client waits.
            let _ = self.writer.write(&line).await;
        }
        for message in unreadable.failed_answers() {
            self.sender.send(message).await.ok()?;
        }
        Some(())
    }
}

fn message_of(line: &Line) -> Option<Value> {
    let Line::Whole(line) = line else { return None };
    from_json(&String::from_utf8_lossy(line)).ok()
}

/// The place of a call among the calls of one message, no matter in which order they arrive. What is recorded
/// is recorded in the frame that a pop ends, and a frame that begins comes after that end.
fn rank(line: &Line) -> u8 {
    let message = message_of(line).unwrap_or_default();
    match message["params"]["name"].as_str() {
        Some("record" | "heap") => 0,
        Some("pop") => 1,
        _ => 2,
    }
}

/// The messages of a batch, which is a list of messages in one line, as in the version 2025-03-26. Each
/// message is answered separately.
fn batch(line: &[u8]) -> Option<Vec<Value>> {
    let messages: Vec<Value> = from_json(&String::from_utf8_lossy(line)).ok()?;
    (!messages.is_empty()).then_some(messages)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The ID of the answer to an unreadable text, and the code of its error.
    fn answered(text: &[u8]) -> Option<(Value, i64)> {
        let answer = read(text).unwrap_err().answer()?;
        Some((answer["id"].clone(), answer["error"]["code"].as_i64().unwrap()))
    }

    #[test]
    fn what_has_an_id_gets_an_answer_with_it() {
        let deep = format!(r#"{{"params": {}{}, "id": "a\"b"}}"#, "[".repeat(200), "]".repeat(200));
        for (text, id, code) in [
            (r#"{"jsonrpc": "2.0", "id": 7, "method": "ping", "params": {"#, json!(7), -32_700),
            (r#"{"method": "ping" "id": 5, }"#, Value::Null, 0),
            (r#"{"id": 5, "method": "ping" "#, json!(5), -32_700),
            (r#"{"id": 1.5, "jsonrpc": "2.0", "method": "ping"}"#, json!(1.5), -32_600),
            (r#"{"id": 7, "jsonrpc": "2.0", "method": 5}"#, json!(7), -32_600),
            (r#"{"id": 7, "jsonrpc": "2.0", "method": "ping", "result": {}}"#, json!(7), -32_600),
            (r#"{"method": "ping", "id": "a""#, json!("a"), -32_700),
            (r#"{"params": {"id": 9}, "x": "\"id\": 8, ", "id": -3, "method": tru}"#, json!(-3), -32_700),
            (&deep, json!("a\"b"), -32_700),
        ] {
            let expected = (!id.is_null()).then_some((id, code));
            assert_eq!(answered(text.as_bytes()), expected, "{text}");
        }
    }

    #[test]
    fn what_has_no_id_or_is_an_answer_gets_none() {
        let long = format!(r#"{{"id": {}, "method": }}"#, "9".repeat(5_000));
        for text in [
            "{",
            "null",
            "\u{0}",
            r#"{"params": {"id": 9}, "method": }"#,
            r#"{"id": {"id": 9}, "method": }"#,
            r#"{"id": [9], "method": }"#,
            r#"{"id": true, "method": }"#,
            r#"{"id": 9, "result": }"#,
            r#"{"method": "ping", "id": 12"#,
            r#"{"method": "ping", "id": "a\""#,
            r#"{"method": "ping", "id""#,
            r#"[[{"id": 9, "method": }]]"#,
            r#"[{"id": 9, "result": }, "id", {"method": }]"#,
            &long,
        ] {
            assert_eq!(answered(text.as_bytes()), None, "{text}");
        }
        for text in [r#"{"id": 9, "result": }"#, r#"[{"id": 8, "method": "ping"}, {"id": 9, "result": }]"#] {
            let unreadable = read(text.as_bytes()).unwrap_err();
            let [failed] = &*unreadable.failed_answers().collect::<Vec<_>>() else { panic!("{text}") };
            assert!(matches!(failed, ClientJsonRpcMessage::Error(error) if error.id == Some(RequestId::Number(9))));
        }
    }

    #[test]
    fn each_message_of_an_unreadable_batch_gets_an_answer() {
        let deep = format!(r#"[{{"id": 1, "params": {}{}}}, {{"id": "b"}}]"#, "[".repeat(200), "]".repeat(200));
        for (text, ids) in [
            (r#"[{"id": 1, "method": "ping"}, {"id": "b", "method": tru}]"#, json!([1, "b"])),
            (r#" [ {"method": "ping", "params": [{"id": 9}], "id": 1}, {"id": "b""#, json!([1, "b"])),
            (
                r#"[{"id": 1, "method": "ping"}, {"method": "note"}, {"id": 3, "result": {}}, {"id": "b"}"#,
                json!([1, "b"]),
            ),
            (&deep, json!([1, "b"])),
        ] {
            let answer = read(text.as_bytes()).unwrap_err().answer().unwrap_or_else(|| panic!("{text}"));
            let answered: Vec<Value> = answer.as_array().unwrap().iter().map(|answer| answer["id"].clone()).collect();
            assert_eq!(Value::Array(answered), ids, "{text}");
        }
    }

    #[test]
    fn marks_half_characters_and_broken_bytes_are_repaired() {
        let call = |title: &[u8]| {
            let (begin, end) = (
                &b"{\"jsonrpc\": \"2.0\", \"id\": 2, \"method\": \"tools/call\", \"params\": {\"name\": \""[..],
                &b"\"}}"[..],
            );
            read(&[begin, title, end].concat()).map(|(_, text)| text.into_owned()).unwrap()
        };
        assert!(call(br"a \ud83d").contains(r"a \ufffd"));
        assert!(call(b"a \xff").contains("a \u{fffd}"));
        let marked = "\u{feff}{\"jsonrpc\": \"2.0\", \"id\": 1, \"method\": \"ping\"}";
        let (_, text) = read(marked.as_bytes()).unwrap();
        assert!(text.starts_with('{') && matches!(text, Cow::Borrowed(_)), "what is whole is not copied");
    }

    #[test]
    fn the_log_has_the_kind_of_an_error_and_nothing_of_the_text() {
        let error = serde_json::from_str::<bool>(r#""secret""#).unwrap_err();
        assert!(error.to_string().contains("secret"), "the parser quotes the text");
        assert_eq!(kind(&error), "it is JSON of another kind, at line 1 column 8");
        for (text, logged) in [
            (r#"{"method": "secret""#, "a message cannot be read: it ends too early, at line 1 column 19"),
            (r#"{"method": secret}"#, "a message cannot be read: it is not JSON, at line 1 column 12"),
        ] {
            assert_eq!(read(text.as_bytes()).unwrap_err().logged, logged);
        }
    }

    #[tokio::test]
    async fn lines_that_are_too_long_are_refused_and_the_next_one_is_read() {
        let long = format!(r#"[{{"id": 3}}, {{"method": "ping", "params": "{}", "id": 4}}]"#, "x".repeat(LONGEST_LINE));
        let text = format!("{long}\n{}\n", r#"{"jsonrpc": "2.0", "id": 5, "method": "ping"}"#);
        let (input, output) = (io::Cursor::new(text.into_bytes()), tokio::io::duplex(1 << 16));
        let gone = CancellationToken::new();
        let (ours, mut theirs) = output;
        let mut lines = Lines::new(input, ours, gone.clone());
        let message = lines.receive().await.unwrap();
        assert!(matches!(message, ClientJsonRpcMessage::Request(request) if request.id == RequestId::Number(5)));
        assert!(lines.receive().await.is_none());
        gone.cancelled().await;
        drop(lines);
        let mut written = String::new();
        tokio::io::AsyncReadExt::read_to_string(&mut theirs, &mut written).await.unwrap();
        let answers: Vec<Value> = written.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        let answers: Vec<_> = answers.iter().map(|answer| (&answer["id"], &answer["error"]["code"])).collect();
        assert_eq!(answers, [(&json!(3), &json!(-32_600)), (&json!(4), &json!(-32_600))]);
    }
}
