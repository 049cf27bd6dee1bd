//! The client in automatic mode: the stateless era where it is served, else the handshake.

use std::time::{Duration, Instant};

use rmcp::model::{GetPromptRequestParams, ProtocolVersion, ReadResourceRequestParams, SubscriptionFilter};
use rmcp::service::{ClientInitializeError, ClientLifecycleMode, ClientServiceExt};
use rmcp::transport::StreamableHttpClientTransport;
use serde_json::{Value, json};
use tokio::time::timeout;

use crate::checks::{Client, Outcome, Proxy, ROOT, SAID, Seen, call, check, equal, until};

/// What asks the client: the tool, what its answer ends with, how many calls it takes.
const ROUNDS: [(&str, &str, usize); 6] = [
    ("test_input_required_result_elicitation", "Hello, Ann!", 2),
    ("test_input_required_result_sampling", SAID, 2),
    ("test_input_required_result_list_roots", ROOT, 2),
    ("test_input_required_result_request_state", "state-ok", 2),
    ("test_input_required_result_multiple_inputs", "", 2),
    ("test_input_required_result_multi_round", "", 3),
];
const LONG: Duration = Duration::from_secs(5);

async fn connect(url: &str, mode: ClientLifecycleMode) -> Result<Client, ClientInitializeError> {
    Seen::default().serve_with_lifecycle(StreamableHttpClientTransport::from_uri(url), mode).await
}

fn automatic() -> ClientLifecycleMode {
    ClientLifecycleMode::Auto {
        preferred_versions: vec![ProtocolVersion::V_2026_07_28],
        legacy_version: Some(ProtocolVersion::V_2025_11_25),
    }
}

async fn converse(client: &Client) -> Outcome<()> {
    let tools = client.list_all_tools().await?;
    equal("tools/list: first tool", &*tools[0].name, "test_simple_text");
    let text = "quotes \"\", line\r\nbreaks\n, Unicode \u{2028} \u{1f980}";
    let echo = call(client, "echo", json!({"text": text})).await?;
    equal("tools/call echo: the same text", echo.texts, vec![text.to_owned()]);
    let error = call(client, "test_error_handling", json!({})).await?;
    equal("tools/call test_error_handling: is an error result", &error.result["isError"], &json!(true));
    let slow = call(client, "slow", json!({"ms": 600, "steps": 3})).await?;
    equal("tools/call slow: progress in order", slow.progress, vec![1.0, 2.0, 3.0]);
    check("tools/call slow: progress is sent when made", slow.lead >= Duration::from_millis(200), slow.lead);
    let read = client.read_resource(ReadResourceRequestParams::new("test://static-text")).await?;
    let want = json!("This is the content of the static text resource.");
    equal("resources/read: the text", &json!(read)["contents"][0]["text"], &want);
    let arguments = json!({"arg1": "one", "arg2": "\u{4e24}"}).as_object().cloned().unwrap_or_default();
    let request = GetPromptRequestParams::new("test_prompt_with_arguments").with_arguments(arguments);
    let prompt = json!(client.get_prompt(request).await?);
    let want = json!("Prompt with arguments: arg1='one', arg2='\u{4e24}'");
    equal("prompts/get: the text", &prompt["messages"][0]["content"]["text"], &want);
    Ok(())
}

async fn be_asked(client: &Client, proxy: &Proxy) -> Outcome<()> {
    for (name, end, calls) in ROUNDS {
        let called = call(client, name, json!({})).await?;
        let came = called.result["isError"] != true && called.texts.last().is_some_and(|it| it.contains(end));
        check(&format!("{name}: the answers came"), came, called.texts);
        let took = proxy.labelled(&format!("POST tools/call {name}")).await?.len();
        equal(&format!("{name}: calls it took"), took, calls);
    }
    Ok(())
}

async fn hear(client: &Client, proxy: &Proxy) -> Outcome<()> {
    let mut filter = SubscriptionFilter::default();
    filter.tools_list_changed = Some(true);
    let mut stream = client.listen(filter.clone()).await?;
    equal("listen: what was asked for is acknowledged", stream.acknowledged(), &filter);
    equal("listen: one stream", proxy.counted("streams", 1).await?, json!(1));
    for _ in 0..2 {
        call(client, "test_trigger_tool_change", json!({})).await?;
        let told = timeout(LONG, stream.next()).await??.map(|it| json!(it)["method"].take());
        equal("listen: a change is told", told, Some(json!("notifications/tools/list_changed")));
    }
    stream.cancel().await?;
    equal("listen, left: no stream", proxy.counted("streams", 0).await?, json!(0));
    Ok(())
}

/// Drops a call, before its stream has begun or after; nothing but the closed connection tells the server.
async fn give_up(client: &Client, proxy: &Proxy) -> Outcome<()> {
    for (when, arguments) in [
        (", before anything has come", json!({"ms": 9000, "steps": 1})),
        (", when an event has come", json!({"ms": 9000, "steps": 900})),
    ] {
        let start = Instant::now();
        client.service().with(|notes| notes.progress.clear());
        let has_begun = || client.service().with(|notes| !notes.progress.is_empty());
        let streams = arguments["steps"] != 1;
        let on_its_way = async {
            let calls = proxy.counted("calls", 1).await;
            until(|| !streams || has_begun()).await;
            calls
        };
        let calls = tokio::select! {
            _ = call(client, "slow", arguments) => Err("it ended".into()),
            calls = on_its_way => calls,
        }?;
        equal(&format!("a call given up{when}: was on its way"), calls, json!(1));
        equal(&format!("a call given up{when}: streamed"), has_begun(), streams);
        equal(
            &format!("a call given up{when}: the server has none"),
            proxy.counted("calls", 0).await?,
            json!(0),
        );
        let took = start.elapsed();
        check(&format!("a call given up{when}: long before its end"), took < Duration::from_secs(6), took);
    }
    Ok(())
}

/// There is nothing to come back to, so both sides have to end it.
async fn lose_a_call(client: &Client, proxy: &Proxy) -> Outcome<()> {
    proxy.ask("cut?on=slow&frames=2").await?;
    let lost = timeout(LONG, call(client, "slow", json!({"ms": 9000, "steps": 90}))).await;
    let lost = lost.map(|it| it.map(|called| called.result));
    check("a call cut on its way: fails", matches!(lost, Ok(Err(_))), lost);
    equal("a call cut on its way: the server has none", proxy.counted("calls", 0).await?, json!(0));
    let ended = proxy.labelled("POST tools/call slow").await?.last().map(|it| it["ended"].clone());
    equal("a call cut on its way: was cut", ended, Some(json!("cut")));
    Ok(())
}

async fn stateless(url: &str, proxy: &Proxy) -> Outcome<()> {
    let client = connect(url, automatic()).await?;
    equal("the version", &json!(client.peer_info())["protocolVersion"], &json!("2026-07-28"));
    converse(&client).await?;
    be_asked(&client, proxy).await?;
    hear(&client, proxy).await?;
    give_up(&client, proxy).await?;
    lose_a_call(&client, proxy).await?;
    client.cancel().await?;
    let state = proxy.ask("state").await?;
    let exchanges = state["exchanges"].as_array().cloned().unwrap_or_default();
    let is_old =
        |it: &Value| ["POST initialize", "GET", "GET resume", "DELETE"].iter().any(|old| it["label"] == *old);
    equal("nothing of the handshake era", exchanges.iter().any(is_old), false);
    equal("no session id", exchanges.iter().all(|it| it["session"].is_null()), true);
    let left = proxy.left(&["created", "calls", "streams", "exchanges"]).await?;
    equal("no session, no call, no stream", left, vec![]);
    equal("one server/discover", proxy.labelled("POST server/discover").await?.len(), 1);
    Ok(())
}

async fn handshake(url: &str, proxy: &Proxy) -> Outcome<()> {
    let client = connect(url, automatic()).await?;
    equal("the version", &json!(client.peer_info())["protocolVersion"], &json!("2025-11-25"));
    let discovers: Vec<Value> =
        proxy.labelled("POST server/discover").await?.iter().map(|it| it["status"].clone()).collect();
    equal("server/discover was tried, and refused", json!(discovers), json!([400]));
    converse(&client).await?;
    call(&client, "test_trigger_tool_change", json!({})).await?;
    let changed = || client.service().with(|notes| notes.changed);
    until(|| changed() > 0).await;
    equal("the GET stream: a change is told", changed(), 1);
    let called = call(&client, "test_sampling", json!({"prompt": "Say something"})).await?;
    equal("test_sampling: the answer came", called.texts, vec![format!("LLM response: {SAID}")]);
    client.cancel().await?;
    let deletes: Vec<Value> = proxy.labelled("DELETE").await?.iter().map(|it| it["status"].clone()).collect();
    equal("one DELETE at the end: 204", json!(deletes), json!([204]));
    equal("nothing is left", proxy.left(&["sessions", "calls", "streams", "pending"]).await?, vec![]);
    Ok(())
}

/// Connects in a mode that the server does not serve.
async fn refused(url: &str, mode: ClientLifecycleMode, what: &str, served: &str) {
    let error = connect(url, mode).await.err().map(|error| format!("{error:?}"));
    check(
        &format!("{what}: refused, and told what is served"),
        error.iter().any(|it| it.contains(served)),
        error,
    );
}

pub async fn run(url: &str, eras: &str) -> Outcome<()> {
    let proxy = Proxy::of(url);
    if eras == "handshake" {
        return handshake(url, &proxy).await;
    }
    stateless(url, &proxy).await?;
    if eras == "stateless" {
        refused(url, ClientLifecycleMode::Initialize, "initialize", "2026-07-28").await;
    }
    Ok(())
}
