//! Accepting connections on a TCP socket, and stopping.

use std::future::{Future, pending};
use std::io;
use std::net::SocketAddr;
use std::time::Duration;

use mcp_http_driver::{AllowedHosts, Config, ConfigError, Handler, ServerStats, Service};
use tokio::net::{TcpListener, TcpStream, ToSocketAddrs};
use tokio::time::sleep;

use crate::io::TokioIo;
use crate::runtime::TokioRuntime;

/// How long accepting pauses when the system, or the configuration, has no connection to spare.
const PAUSE: Duration = Duration::from_millis(50);

/// A bound server.
#[derive(Debug)]
pub struct Server {
    listener: TcpListener,
    config: Config,
    local: SocketAddr,
}

/// Why a server could not start.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ServeError {
    /// The configuration cannot work.
    #[error(transparent)]
    Config(#[from] ConfigError),
    /// The address could not be bound.
    #[error("cannot listen: {0}")]
    Bind(#[from] io::Error),
    /// The address can be reached from other machines, and nobody said by which names.
    #[error(
        "{0} is not a loopback address: list the hosts that are to be served in `allowed_hosts`, or allow any"
    )]
    HostsUnknown(SocketAddr),
}

impl Server {
    /// Binds a TCP socket.
    ///
    /// # Errors
    /// [`ServeError`]: the address is taken or not ours, the configuration cannot work, or the allowed hosts
    /// of an address that is not loopback are missing.
    pub async fn bind(addr: impl ToSocketAddrs, config: Config) -> Result<Self, ServeError> {
        config.check()?;
        let listener = TcpListener::bind(addr).await?;
        let local = listener.local_addr()?;
        if config.allowed_hosts == AllowedHosts::Loopback && !local.ip().is_loopback() {
            return Err(ServeError::HostsUnknown(local));
        }
        Ok(Server { listener, config, local })
    }

    /// The bound address.
    #[must_use]
    pub fn local_addr(&self) -> SocketAddr {
        self.local
    }

    /// The endpoint's URL.
    #[must_use]
    pub fn url(&self) -> String {
        format!("http://{}{}", self.local, self.config.path)
    }

    /// Serves for ever.
    ///
    /// # Errors
    /// [`ServeError::Config`], which [`bind`](Server::bind) would have given already.
    pub async fn serve<H: Handler>(self, handler: H) -> Result<(), ServeError> {
        self.serve_until(handler, pending(), pending()).await.map(|_| ())
    }

    /// Serves until `stop` is ready, then stops accepting and drains; until `stop_now`, then cuts off what
    /// is left. Returns the last counters.
    ///
    /// # Errors
    /// As [`serve`](Server::serve).
    pub async fn serve_until<H: Handler>(
        self,
        handler: H,
        stop: impl Future<Output = ()>,
        stop_now: impl Future<Output = ()>,
    ) -> Result<ServerStats, ServeError> {
        let shards = std::thread::available_parallelism().map_or(1, |cores| cores.get().min(64));
        let stall = self.config.write_stall;
        let service = Service::new(handler, self.config, TokioRuntime, u16::try_from(shards).unwrap_or(1))?;
        tokio::select! {
            () = accept(&self.listener, &service, stall) => {}
            () = stop => {}
        }
        drop(self.listener);
        tokio::select! {
            () = service.shutdown() => {}
            () = stop_now => service.shutdown_now().await,
        }
        Ok(service.stats())
    }
}

async fn accept<H: Handler>(listener: &TcpListener, service: &Service<H, TokioRuntime>, stall: Duration) {
    loop {
        if service.is_full() {
            sleep(PAUSE).await;
            continue;
        }
        match listener.accept().await {
            Ok((stream, peer)) => {
                prepare(&stream, stall);
                tokio::spawn(service.serve_connection(TokioIo(stream), Some(peer.to_string())));
            }
            // The peer was gone before it was accepted, or descriptors are short: neither ends the server.
            Err(_) => sleep(PAUSE).await,
        }
    }
}

/// Small writes leave at once, and a peer that acknowledges nothing is given up.
fn prepare(stream: &TcpStream, stall: Duration) {
    // A socket that refuses an option is served without it.
    let _ = stream.set_nodelay(true);
    #[cfg(target_os = "linux")]
    let _ = socket2::SockRef::from(stream).set_tcp_user_timeout(Some(stall));
    #[cfg(not(target_os = "linux"))]
    let _ = stall;
}
