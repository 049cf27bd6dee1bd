//! The SDK's own server on message channels, in this process, with the SDK's client before it: what another SDK
//! needs of a transport is all there.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use mcp_http_tokio::channels::{Channel, Receiver, Sender, Unsent};
use mcp_http_tokio::{Config, Json, Server};
use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CallToolResult, ClientRequest, ContentBlock,
    CreateMessageRequestParams, GetExtensions, JsonRpcMessage, ListToolsResult, PaginatedRequestParams,
    ProgressNotificationParam, ProtocolVersion, Request, ServerConfig,
};
use rmcp::service::{
    ClientLifecycleMode, ClientServiceExt, OriginatingRequestId, PeerRequestOptions, RequestContext,
    RxJsonRpcMessage, TxJsonRpcMessage,
};
use rmcp::transport::{StreamableHttpClientTransport, Transport};
use rmcp::{ErrorData, RoleServer, ServerHandler, ServiceExt};
use serde_json::json;

use crate::checks::{Client, Outcome, Proxy, SAID, Seen, call, check, equal, until};

/// The whole bridge: a channel as the SDK's transport.
struct OverChannel {
    recv: Receiver,
    send: Sender,
}

impl Transport<RoleServer> for OverChannel {
    type Error = Unsent;

    fn send(
        &mut self,
        item: TxJsonRpcMessage<RoleServer>,
    ) -> impl Future<Output = Result<(), Unsent>> + Send + 'static {
        let send = self.send.clone();
        // The SDK knows for which call it asks the client something.
        let of = match &item {
            JsonRpcMessage::Request(asked) => asked.request.extensions().get::<OriginatingRequestId>(),
            _ => None,
        };
        let call = of.and_then(|of| send.call(&json!(of.0).into()));
        let message = Json::from(json!(item));
        async move {
            match call {
                Some(call) => send.send_for(&call, message).await,
                None => send.send(message).await,
            }
        }
    }

    async fn receive(&mut self) -> Option<RxJsonRpcMessage<RoleServer>> {
        loop {
            if let Ok(message) = self.recv.recv().await?.message().decode() {
                return Some(message);
            }
        }
    }

    async fn close(&mut self) -> Result<(), Unsent> {
        // Dropping the channel does it.
        Ok(())
    }
}

/// A server as the SDK has them.
#[derive(Clone, Default)]
struct Tools {
    /// Calls of the tool that waits to be cancelled: begun, and cancelled.
    begun: Arc<AtomicUsize>,
    cancelled: Arc<AtomicUsize>,
}

impl ServerHandler for Tools {
    fn get_info(&self) -> ServerConfig {
        let info = json!({
            "protocolVersion": "2025-11-25",
            "capabilities": {"tools": {"listChanged": true}},
            "serverInfo": {"name": "on channels", "version": "1"},
        });
        serde_json::from_value(info).expect("as the schema says")
    }

    async fn list_tools(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        let tool = |name| json!({"name": name, "inputSchema": {"type": "object"}});
        let tools = ["counts", "asks", "changes", "waits"].map(tool);
        Ok(serde_json::from_value(json!({"tools": tools})).expect("as the schema says"))
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let failed = |error: rmcp::ServiceError| ErrorData::internal_error(error.to_string(), None);
        let said = match &*request.name {
            "counts" => {
                let token = context.meta.get_progress_token();
                for (step, token) in [1.0, 2.0, 3.0].into_iter().zip(std::iter::repeat(token)) {
                    let Some(token) = token else { continue };
                    let progress = ProgressNotificationParam::new(token, step);
                    context.peer.notify_progress(progress).await.map_err(failed)?;
                }
                String::from("counted")
            }
            "asks" => {
                let params = json!({
                    "messages": [{"role": "user", "content": {"type": "text", "text": "Say something"}}],
                    "maxTokens": 10,
                });
                let params: CreateMessageRequestParams =
                    serde_json::from_value(params).expect("as the schema says");
                let reply = json!(context.peer.create_message(params).await.map_err(failed)?);
                reply["content"]["text"].as_str().unwrap_or_default().to_owned()
            }
            "changes" => {
                context.peer.notify_tool_list_changed().await.map_err(failed)?;
                String::from("changed")
            }
            "waits" => {
                self.begun.fetch_add(1, Ordering::SeqCst);
                context.ct.cancelled().await;
                self.cancelled.fetch_add(1, Ordering::SeqCst);
                String::from("cancelled")
            }
            other => return Err(ErrorData::invalid_params(format!("no tool: {other}"), None)),
        };
        Ok(CallToolResult::success(vec![ContentBlock::text(said)]).into())
    }
}

async fn serve(tools: Tools) -> Outcome<String> {
    let mut config = Config::default();
    config.stats_path = Some("/__stats".into());
    let server = Server::bind("127.0.0.1:0", config).await?;
    let url = server.url();
    let mut channels = server.channels();
    tokio::spawn(async move {
        while let Some(Channel { session, recv, send }) = channels.accept().await {
            let tools = tools.clone();
            tokio::spawn(async move {
                match tools.serve(OverChannel { recv, send }).await {
                    Ok(serving) => _ = serving.waiting().await,
                    // After `server/discover` the SDK waits for more than a channel of one call brings.
                    Err(_) if session.is_none() => {}
                    Err(error) => check("the SDK's server starts", false, error),
                }
            });
        }
    });
    Ok(url)
}

/// Gives a call up when the server has it.
async fn give_up(client: &Client, tools: &Tools) -> Outcome<()> {
    let counts = || [&tools.begun, &tools.cancelled].map(|count| count.load(Ordering::SeqCst));
    let [begun, cancelled] = counts();
    let waits = Request::new(CallToolRequestParams::new("waits"));
    let options = PeerRequestOptions::default();
    let handle = client.send_cancellable_request(ClientRequest::CallToolRequest(waits), options).await?;
    until(|| counts()[0] > begun).await;
    handle.cancel(Some("enough".into())).await?;
    until(|| counts()[1] > cancelled).await;
    equal("a call given up: the SDK's server hears of it", counts(), [begun + 1, cancelled + 1]);
    Ok(())
}

/// What is so in both eras.
async fn converse(client: &Client, tools: &Tools) -> Outcome<()> {
    let listed: Vec<String> = client.list_all_tools().await?.into_iter().map(|it| it.name.into()).collect();
    equal("tools/list", listed, ["counts", "asks", "changes", "waits"].map(String::from).to_vec());
    let mut counts = call(client, "counts", json!({})).await?;
    // The SDK's client handles what comes at once in any order.
    counts.progress.sort_by(f64::total_cmp);
    let want = (vec![1.0, 2.0, 3.0], vec![String::from("counted")]);
    equal("progress, then the result", (counts.progress, counts.texts), want);
    let missing = call(client, "missing", json!({})).await;
    check("an error comes as an error", missing.is_err(), "a result");
    give_up(client, tools).await
}

async fn in_a_session(url: &str, tools: &Tools) -> Outcome<()> {
    let client = Seen::default().serve(StreamableHttpClientTransport::from_uri(url)).await?;
    let server = json!(client.peer_info());
    equal("initialize: who answers", &server["serverInfo"]["name"], &json!("on channels"));
    converse(&client, tools).await?;
    let asks = call(&client, "asks", json!({})).await?;
    equal("the client is asked within a call", asks.texts, vec![SAID.to_owned()]);
    call(&client, "changes", json!({})).await?;
    let changed = || client.service().with(|notes| notes.changed);
    until(|| changed() == 1).await;
    equal("a notice of no call comes on the GET stream", changed(), 1);
    client.cancel().await?;
    Ok(())
}

async fn without_a_session(url: &str, tools: &Tools) -> Outcome<()> {
    let version = ProtocolVersion::V_2026_07_28;
    let mode = ClientLifecycleMode::Auto { preferred_versions: vec![version.clone()], legacy_version: None };
    let transport = StreamableHttpClientTransport::from_uri(url);
    let client = Seen::default().serve_with_lifecycle(transport, mode).await?;
    equal("the stateless era was picked", &json!(client.peer_info())["protocolVersion"], &json!(version));
    converse(&client, tools).await?;
    client.cancel().await?;
    Ok(())
}

pub async fn run() -> Outcome<()> {
    let tools = Tools::default();
    let url = serve(tools.clone()).await?;
    let http = Proxy::of(&url);
    in_a_session(&url, &tools).await?;
    equal("the client's DELETE ended the session", http.counted("sessions", 0).await?, json!(0));
    without_a_session(&url, &tools).await?;
    equal("no call is left", http.counted("calls", 0).await?, json!(0));
    equal("nothing is left", http.left(&["sessions", "pending", "calls", "streams"]).await?, vec![]);
    let stats = http.get("/__stats").await?;
    let counts = json!([stats["created"], stats["committed"], stats["ended"]["deleted"]]);
    equal("one session was created, committed and deleted", counts, json!([1, 1, 1]));
    Ok(())
}
