//! What the legs share: the client's handler, its calls, the proxy's control, and the count.

use std::error::Error;
use std::fmt::Debug;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use rmcp::model::{
    CallToolRequestParams, ClientCapabilities, ClientConfig, CreateMessageRequestParams, CreateMessageResult,
    ElicitRequestParams, ElicitResult, ElicitationAction, Implementation, ListRootsResult,
    LoggingMessageNotificationParam, ProgressNotificationParam, SamplingMessage,
};
use rmcp::service::{NotificationContext, RequestContext, RunningService};
use rmcp::{ClientHandler, ErrorData, RoleClient};
use serde_json::{Map, Value, json};

pub type Outcome<T> = Result<T, Box<dyn Error + Send + Sync>>;
pub type Client = RunningService<RoleClient, Seen>;

pub const SAID: &str = "This is a test response from the client";
pub const ROOT: &str = "file:///somewhere";
static PASSED: AtomicUsize = AtomicUsize::new(0);
static FAILED: AtomicUsize = AtomicUsize::new(0);

pub fn check(name: &str, ok: bool, detail: impl Debug) {
    if ok {
        PASSED.fetch_add(1, Ordering::Relaxed);
        println!("ok   {name}");
    } else {
        FAILED.fetch_add(1, Ordering::Relaxed);
        println!("FAIL {name}: {detail:?}");
    }
}

pub fn equal<T: PartialEq + Debug>(name: &str, got: T, want: T) {
    check(name, got == want, format_args!("got {got:?}, want {want:?}"));
}

/// What the server sent of its own accord, and what is answered to it.
#[derive(Clone, Default)]
pub struct Seen(Arc<Mutex<Notes>>);

#[derive(Default)]
pub struct Notes {
    pub progress: Vec<(f64, Instant)>,
    pub logged: Vec<Value>,
    pub changed: usize,
    pub asked: Vec<Value>,
}

impl Seen {
    pub fn with<T>(&self, f: impl FnOnce(&mut Notes) -> T) -> T {
        f(&mut self.0.lock().expect("no holder panics"))
    }
}

impl ClientHandler for Seen {
    fn get_info(&self) -> ClientConfig {
        let capabilities: ClientCapabilities =
            serde_json::from_value(json!({"sampling": {}, "elicitation": {}, "roots": {}}))
                .expect("as the schema says");
        ClientConfig::new(capabilities, Implementation::new("interop", "1"))
    }

    async fn create_message(
        &self,
        params: CreateMessageRequestParams,
        _: RequestContext<RoleClient>,
    ) -> Result<CreateMessageResult, ErrorData> {
        let text = json!(params)["messages"][0]["content"]["text"].clone();
        self.with(|notes| notes.asked.push(text));
        Ok(CreateMessageResult::new(SamplingMessage::assistant_text(SAID), "none".into()))
    }

    async fn create_elicitation(
        &self,
        params: ElicitRequestParams,
        _: RequestContext<RoleClient>,
    ) -> Result<ElicitResult, ErrorData> {
        let params = json!(params);
        self.with(|notes| notes.asked.push(params["message"].clone()));
        let answers = json!({
            "username": "someone", "email": "someone@example.com", "name": "Ann", "color": "blue", "ok": true
        });
        let asked = params["requestedSchema"]["properties"].as_object().into_iter().flatten();
        let content: Map<_, _> = asked.map(|(name, _)| (name.clone(), answers[name].clone())).collect();
        Ok(ElicitResult::new(ElicitationAction::Accept).with_content(content.into()))
    }

    async fn list_roots(&self, _: RequestContext<RoleClient>) -> Result<ListRootsResult, ErrorData> {
        Ok(serde_json::from_value(json!({"roots": [{"uri": ROOT}]})).expect("as the schema says"))
    }

    async fn on_progress(&self, params: ProgressNotificationParam, _: NotificationContext<RoleClient>) {
        self.with(|notes| notes.progress.push((params.progress, Instant::now())));
    }

    async fn on_logging_message(
        &self,
        params: LoggingMessageNotificationParam,
        _: NotificationContext<RoleClient>,
    ) {
        self.with(|notes| notes.logged.push(params.data));
    }

    async fn on_tool_list_changed(&self, _: NotificationContext<RoleClient>) {
        self.with(|notes| notes.changed += 1);
    }
}

/// The proxy's control, and whatever else is asked without the SDK.
pub struct Proxy {
    pub http: reqwest::Client,
    pub base: String,
}

impl Proxy {
    pub fn of(url: &str) -> Proxy {
        Proxy { http: reqwest::Client::new(), base: url.trim_end_matches("/mcp").to_owned() }
    }

    pub async fn get(&self, path: &str) -> Outcome<Value> {
        Ok(self.http.get(format!("{}{path}", self.base)).send().await?.json().await?)
    }

    pub async fn ask(&self, command: &str) -> Outcome<Value> {
        self.get(&format!("/__proxy/{}", command.replace(' ', "%20"))).await
    }

    pub async fn labelled(&self, label: &str) -> Outcome<Vec<Value>> {
        let state = self.ask("state").await?;
        let all = state["exchanges"].as_array().into_iter().flatten();
        Ok(all.filter(|it| it["label"] == label).cloned().collect())
    }

    /// Waits until one of the server's counters has come to a value, for a while; gives its value then.
    pub async fn counted(&self, name: &str, want: u64) -> Outcome<Value> {
        let mut got = Value::Null;
        for _ in 0..100 {
            got = self.get("/__stats").await?[name].take();
            if got == want {
                break;
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        Ok(got)
    }

    /// Those of the server's counters that are not at zero.
    pub async fn left(&self, names: &[&'static str]) -> Outcome<Vec<&'static str>> {
        let stats = self.get("/__stats").await?;
        Ok(names.iter().copied().filter(|name| stats[name] != 0).collect())
    }
}

/// What a call gave: its result, its texts, its progress and how long before the end that began.
pub struct Called {
    pub result: Value,
    pub texts: Vec<String>,
    pub progress: Vec<f64>,
    pub lead: Duration,
}

pub async fn call(client: &Client, name: &'static str, arguments: Value) -> Outcome<Called> {
    let seen = client.service();
    seen.with(|notes| notes.progress.clear());
    let arguments = arguments.as_object().cloned().unwrap_or_default();
    let result = json!(client.call_tool(CallToolRequestParams::new(name).with_arguments(arguments)).await?);
    let end = Instant::now();
    // The SDK runs the handlers of notifications beside the call.
    tokio::time::sleep(Duration::from_millis(20)).await;
    let progress = seen.with(|notes| notes.progress.clone());
    let texts = result["content"].as_array().into_iter().flatten();
    Ok(Called {
        texts: texts.map(|item| item["text"].as_str().unwrap_or_default().to_owned()).collect(),
        result,
        lead: progress.first().map(|first| end - first.1).unwrap_or_default(),
        progress: progress.into_iter().map(|it| it.0).collect(),
    })
}

/// Waits until something is so, for a while.
pub async fn until(met: impl Fn() -> bool) {
    for _ in 0..250 {
        if met() {
            return;
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

/// Says how it went, and ends the process.
pub fn end(outcome: Result<Outcome<()>, impl Debug>) -> ! {
    match outcome {
        Ok(Ok(())) => {}
        Ok(Err(error)) => check("the conversation came to its end", false, error),
        Err(late) => check("the conversation came to its end", false, late),
    }
    let failed = FAILED.load(Ordering::Relaxed);
    println!("{} passed, {failed} failed", PASSED.load(Ordering::Relaxed));
    std::process::exit(i32::from(failed != 0));
}
