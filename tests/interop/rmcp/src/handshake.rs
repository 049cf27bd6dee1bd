//! The client in the handshake era, as it is by default.

use std::time::Duration;

use rmcp::ServiceExt;
use rmcp::model::{GetPromptRequestParams, LoggingLevel, ReadResourceRequestParams, SetLevelRequestParams};
use rmcp::transport::StreamableHttpClientTransport;
use serde_json::{Value, json};

use crate::checks::{Client, Outcome, Proxy, SAID, Seen, call, check, equal, until};

const CUTS: &str = include_str!("../../cuts.json");
const TOOLS: [&str; 8] = [
    "test_tool_with_progress",
    "test_tool_with_logging",
    "test_sampling",
    "test_elicitation",
    "test_reconnection",
    "test_trigger_tool_change",
    "echo",
    "slow",
];

async fn converse(client: &Client) -> Outcome<()> {
    let server = json!(client.peer_info());
    equal("initialize: protocol version", &server["protocolVersion"], &json!("2025-11-25"));

    let tools: Vec<String> =
        client.list_all_tools().await?.into_iter().map(|tool| tool.name.into()).collect();
    equal("tools/list: first tool", tools[0].as_str(), "test_simple_text");
    let missing: Vec<_> = TOOLS.into_iter().filter(|it| !tools.iter().any(|tool| tool == it)).collect();
    equal("tools/list: all tools", missing, vec![]);

    let text = "quotes \"\", line\r\nbreaks\n, Unicode \u{2028} \u{1f980}";
    let echo = call(client, "echo", json!({"text": text})).await?;
    equal("tools/call echo: the same text", echo.texts, vec![text.to_owned()]);
    let error = call(client, "test_error_handling", json!({})).await?;
    equal("tools/call test_error_handling: is an error result", &error.result["isError"], &json!(true));

    let progress = call(client, "test_tool_with_progress", json!({})).await?;
    equal(
        "tools/call test_tool_with_progress: progress before the result",
        progress.progress,
        vec![0.0, 50.0, 100.0],
    );
    let slow = call(client, "slow", json!({"ms": 600, "steps": 3})).await?;
    equal("tools/call slow: one notification a step", slow.progress, vec![1.0, 2.0, 3.0]);
    check("tools/call slow: progress is sent when made", slow.lead >= Duration::from_millis(200), slow.lead);

    let read = client.read_resource(ReadResourceRequestParams::new("test://static-text")).await?;
    let want = json!("This is the content of the static text resource.");
    equal("resources/read: the text", &json!(read)["contents"][0]["text"], &want);

    let arguments = json!({"arg1": "one", "arg2": "two"}).as_object().cloned().unwrap_or_default();
    let request = GetPromptRequestParams::new("test_prompt_with_arguments").with_arguments(arguments);
    let prompt = json!(client.get_prompt(request).await?);
    let want = json!("Prompt with arguments: arg1='one', arg2='two'");
    equal("prompts/get: the text", &prompt["messages"][0]["content"]["text"], &want);

    let values = client.complete_prompt_simple("test_prompt_with_arguments", "arg1", "test").await;
    check("completion/complete: a list", values.is_ok(), values);
    Ok(())
}

async fn lose_the_standalone_stream(client: &Client, proxy: &Proxy) -> Outcome<()> {
    let changed = || client.service().with(|notes| notes.changed);
    call(client, "test_trigger_tool_change", json!({})).await?;
    call(client, "test_trigger_tool_change", json!({})).await?;
    until(|| changed() >= 2).await;
    equal("GET, cut within a notification: that and the next, once each", changed(), 2);
    equal("GET, cut: resumed once", proxy.labelled("GET resume").await?.len(), 1);
    call(client, "test_trigger_tool_change", json!({})).await?;
    until(|| changed() >= 3).await;
    equal("GET, resumed: delivers", changed(), 3);
    proxy.ask("cut-now?on=GET").await?;
    call(client, "test_trigger_tool_change", json!({})).await?;
    until(|| changed() >= 4).await;
    equal("GET, cut while idle: what was sent meanwhile comes once", changed(), 4);
    Ok(())
}

async fn be_asked(client: &Client, proxy: &Proxy) -> Outcome<()> {
    for (cut, when) in
        [("state", ""), ("cut?on=test_sampling&frames=1&bytes=30", ", cut within the request: resumed")]
    {
        proxy.ask(cut).await?;
        let called = call(client, "test_sampling", json!({"prompt": "Say something"})).await?;
        let name = format!("tools/call test_sampling: the answer came{when}");
        equal(&name, called.texts, vec![format!("LLM response: {SAID}")]);
    }
    let called = call(client, "test_elicitation", json!({"message": "Who are you?"})).await?;
    let came = called.texts.iter().any(|text| text.contains("someone@example.com"));
    check("tools/call test_elicitation: the answer came", came, called.texts);
    let asked = client.service().with(|notes| notes.asked.clone());
    equal("asked once each", json!(asked), json!(["Say something", "Say something", "Who are you?"]));
    Ok(())
}

/// This client names the event stream before JSON, and gets what it would rather have.
async fn answered_as_streams(client: &Client, proxy: &Proxy) -> Outcome<()> {
    for (label, want) in [
        ("POST initialize", "application/json"),
        ("POST tools/list", "text/event-stream"),
        ("POST tools/call echo", "text/event-stream"),
    ] {
        let types: Vec<Value> = proxy.labelled(label).await?.iter().map(|it| it["type"].clone()).collect();
        check(&format!("{label}: as {want}"), !types.is_empty() && types.iter().all(|it| it == want), types);
    }
    for (cut, when) in [("frames=1", "before"), ("frames=1&bytes=60", "within")] {
        let before = proxy.labelled("GET resume").await?.len();
        proxy.ask(&format!("cut?on=tools/call echo&{cut}")).await?;
        let echo = call(client, "echo", json!({"text": "at once"})).await?;
        let resumes = proxy.labelled("GET resume").await?.len() - before;
        let name = format!("a call answered at once, cut {when} the answer: resumed");
        equal(&name, (echo.texts, resumes), (vec!["at once".to_owned()], 1));
    }
    Ok(())
}

async fn be_told(client: &Client) -> Outcome<()> {
    let logged = || json!(client.service().with(|notes| notes.logged.clone()));
    client.set_level(SetLevelRequestParams::new(LoggingLevel::Error)).await?;
    call(client, "test_tool_with_logging", json!({})).await?;
    equal("logging/setLevel error: no messages of level info", logged(), json!([]));
    client.set_level(SetLevelRequestParams::new(LoggingLevel::Debug)).await?;
    call(client, "test_tool_with_logging", json!({})).await?;
    let want = json!(["Tool execution started", "Tool processing data", "Tool execution completed"]);
    equal("logging/setLevel debug: all messages in order", logged(), want);
    Ok(())
}

async fn lose_calls(client: &Client, proxy: &Proxy) -> Outcome<()> {
    let cases: Vec<Value> = serde_json::from_str(CUTS)?;
    for case in cases {
        let before = proxy.labelled("GET resume").await?.len();
        let cuts = case["cuts"].as_array().cloned().unwrap_or_default();
        for cut in &cuts {
            proxy.ask(&format!("cut?{}", cut.as_str().unwrap_or_default())).await?;
        }
        let ms = case["ms"].as_u64().unwrap_or(400);
        let called = call(client, "slow", json!({"ms": ms, "steps": 4})).await?;
        let resumes = proxy.labelled("GET resume").await?.len() - before;
        let want = (vec![1.0, 2.0, 3.0, 4.0], vec![format!("Waited {ms} ms; steps: 4.")], cuts.len());
        let name = format!(
            "a call cut {}: nothing lost, nothing doubled",
            case["name"].as_str().unwrap_or_default()
        );
        equal(&name, (called.progress, called.texts, resumes), want);
    }
    equal("the proxy made every cut", &proxy.ask("state").await?["waiting"], &json!([]));

    let before = proxy.labelled("GET resume").await?.len();
    let called = call(client, "test_reconnection", json!({})).await?;
    check("test_reconnection: a result", called.result["isError"] != true, called.texts);
    let resumes = proxy.labelled("GET resume").await?.len() - before;
    equal("test_reconnection: closed by the server, fetched by a GET", resumes, 1);
    Ok(())
}

async fn after_the_end(url: &str, proxy: &Proxy) -> Outcome<()> {
    let deletes = proxy.labelled("DELETE").await?;
    let statuses: Vec<&Value> = deletes.iter().map(|it| &it["status"]).collect();
    equal("one DELETE at the end: 204", json!(statuses), json!([204]));
    let session = deletes.first().and_then(|it| it["session"].as_str()).unwrap_or_default();
    let ping = json!({"jsonrpc": "2.0", "id": 1, "method": "ping"});
    let response = proxy
        .http
        .post(url)
        .header("Accept", "application/json, text/event-stream")
        .header("Mcp-Session-Id", session)
        .header("MCP-Protocol-Version", "2025-11-25")
        .json(&ping)
        .send()
        .await?;
    equal("the ended session answers 404", response.status().as_u16(), 404);
    let left = proxy.left(&["sessions", "calls", "streams", "pending", "gaps", "dropped_notices"]).await?;
    equal("nothing is left (is the server fresh, with --stats?)", left, vec![]);
    let stats = proxy.get("/__stats").await?;
    let counts = json!([stats["created"], stats["committed"], stats["ended"]["deleted"]]);
    equal("one session was created, committed and deleted", counts, json!([1, 1, 1]));
    Ok(())
}

pub async fn run(url: &str) -> Outcome<()> {
    let proxy = Proxy::of(url);
    proxy.ask("cut?on=GET&frames=1&bytes=30").await?;
    let client = Seen::default().serve(StreamableHttpClientTransport::from_uri(url)).await?;
    converse(&client).await?;
    lose_the_standalone_stream(&client, &proxy).await?;
    be_asked(&client, &proxy).await?;
    be_told(&client).await?;
    answered_as_streams(&client, &proxy).await?;
    lose_calls(&client, &proxy).await?;
    client.cancel().await?;
    after_the_end(url, &proxy).await
}
