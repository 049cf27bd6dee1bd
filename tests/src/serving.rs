//! The same server on each runtime there is a port for: for `everything`, and for tests that compare them.

use std::future::Future;
use std::net::SocketAddr;
use std::time::Duration;

use axum::Router;
use axum::serve::ListenerExt;
use clap::ValueEnum;
use mcp_http_tokio::listen::check_address;
use mcp_http_tokio::{Config, Handler, ServeError, ServerStats, TokioRuntime};
use mcp_http_tower::McpService;
use tokio::net::TcpListener;
use tokio::sync::oneshot;
use tokio::time::timeout;

/// How long connections without a request may take to close, once nothing else is left.
const CLOSING: Duration = Duration::from_millis(500);

/// A runtime, and the port to it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Which {
    /// mcp-http-tokio
    Tokio,
    /// mcp-http-smol
    Smol,
    /// mcp-http-tower in axum, whose HTTP stack is hyper
    Axum,
}

/// A bound server.
#[derive(Debug)]
pub struct Bound(Port);

#[derive(Debug)]
enum Port {
    Tokio(mcp_http_tokio::Server),
    Smol(mcp_http_smol::Server),
    Axum(TcpListener, Box<Config>),
}

impl Bound {
    /// Binds a TCP socket.
    ///
    /// # Errors
    /// Those of the ports' own servers.
    pub async fn bind(which: Which, addr: &str, config: Config) -> Result<Bound, ServeError> {
        let port = match which {
            Which::Tokio => Port::Tokio(mcp_http_tokio::Server::bind(addr, config).await?),
            Which::Smol => Port::Smol(mcp_http_smol::Server::bind(addr, config).await?),
            Which::Axum => {
                config.check()?;
                let listener = TcpListener::bind(addr).await?;
                check_address(&config, listener.local_addr()?)?;
                Port::Axum(listener, Box::new(config))
            }
        };
        Ok(Bound(port))
    }

    /// The bound address.
    ///
    /// # Errors
    /// The socket has lost it.
    pub fn local_addr(&self) -> Result<SocketAddr, ServeError> {
        match &self.0 {
            Port::Tokio(server) => Ok(server.local_addr()),
            Port::Smol(server) => Ok(server.local_addr()),
            Port::Axum(listener, _) => Ok(listener.local_addr()?),
        }
    }

    /// Serves until `stop`, then drains until `stop_now`. Returns the last counters.
    ///
    /// # Errors
    /// Those of the ports' own servers.
    pub async fn serve_until(
        self,
        handler: impl Handler,
        stop: impl Future<Output = ()>,
        stop_now: impl Future<Output = ()>,
    ) -> Result<ServerStats, ServeError> {
        match self.0 {
            Port::Tokio(server) => server.serve_until(handler, stop, stop_now).await,
            Port::Smol(server) => server.serve_until(handler, stop, stop_now).await,
            Port::Axum(listener, config) => {
                let mcp = McpService::new(handler, *config, TokioRuntime)?;
                serve_axum(listener, mcp, stop, stop_now).await
            }
        }
    }
}

async fn serve_axum<H: Handler>(
    listener: TcpListener,
    mcp: McpService<H, TokioRuntime>,
    stop: impl Future<Output = ()>,
    stop_now: impl Future<Output = ()>,
) -> Result<ServerStats, ServeError> {
    let service = mcp.service().clone();
    let listener = listener.tap_io(|tcp| {
        // A socket that refuses the option is served without it.
        _ = tcp.set_nodelay(true);
    });
    let (close, closing) = oneshot::channel::<()>();
    let closing = async {
        _ = closing.await;
    };
    let app = Router::new().fallback_service(mcp);
    let mut serving = tokio::spawn(axum::serve(listener, app).with_graceful_shutdown(closing).into_future());
    stop.await;
    // It has ended already if nobody listens.
    _ = close.send(());
    tokio::select! {
        () = service.shutdown() => {}
        () = stop_now => service.shutdown_now().await,
    }
    // Who sends no request, or reads no answer, is not waited for.
    if timeout(CLOSING, &mut serving).await.is_err() {
        serving.abort();
    }
    Ok(service.stats())
}
