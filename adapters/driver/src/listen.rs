//! What every port does around its listening socket: judging the address, accepting, pausing and stopping. The
//! socket itself is the port's.

use std::future::{Future, poll_fn};
use std::io;
use std::net::SocketAddr;
use std::pin::{Pin, pin};
use std::task::{Context, Poll};
use std::time::Duration;

use mcp_http_core::config::{AllowedHosts, Config, ConfigError};

use crate::handler::Handler;
use crate::runtime::{Io, Runtime};
use crate::service::{ServerStats, Service};

pub use crate::server::Server;

/// Connections that may wait to be accepted; systems cap it at their own limit.
pub const BACKLOG: i32 = 1024;

/// How long accepting pauses when the system, or the configuration, has no connection to spare.
const PAUSE: Duration = Duration::from_millis(50);

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

/// A listening socket, as a port to a runtime gives it to its [`Server`].
pub trait Listener: Send + Sync + 'static {
    /// The runtime it belongs to.
    type Runtime: Runtime + Default;
    /// What it accepts.
    type Io: Io;

    /// Where it listens.
    ///
    /// # Errors
    /// The socket has lost its address.
    fn local_addr(&self) -> io::Result<SocketAddr>;

    /// Waits for a connection; with it comes the peer's address. A peer that acknowledges nothing for
    /// `write_stall` is to be given up, where the system can.
    ///
    /// # Errors
    /// The peer was gone before it was accepted, or the system has no descriptor to spare. Neither ends the
    /// server: it pauses and comes again.
    fn accept(
        &self,
        write_stall: Duration,
    ) -> impl Future<Output = io::Result<(Self::Io, SocketAddr)>> + Send;
}

/// How a [`Listener`] is made of an address.
pub trait Bind<A>: Listener + Sized {
    /// Listens there, with room for [`BACKLOG`] connections.
    ///
    /// # Errors
    /// The address is none, is taken, or is not ours.
    fn bind(addr: A) -> impl Future<Output = io::Result<Self>>;
}

/// Judges the address that a server was bound to. A [`Server`] has done so.
///
/// # Errors
/// [`ServeError::HostsUnknown`], when others than this machine can reach it and the configuration does not say
/// by which names.
pub fn check_address(config: &Config, local: SocketAddr) -> Result<(), ServeError> {
    if config.allowed_hosts == AllowedHosts::Loopback && !local.ip().is_loopback() {
        return Err(ServeError::HostsUnknown(local));
    }
    Ok(())
}

/// Serves what `listener` accepts until `stop` is ready, then stops accepting and drains; until `stop_now`,
/// then cuts off what is left. Returns the last counters.
///
/// # Errors
/// What is wrong with `config`.
pub async fn serve_until<H: Handler, L: Listener>(
    listener: L,
    handler: H,
    config: Config,
    runtime: L::Runtime,
    stop: impl Future<Output = ()>,
    stop_now: impl Future<Output = ()>,
) -> Result<ServerStats, ConfigError> {
    let shards = std::thread::available_parallelism().map_or(1, |cores| cores.get().min(64));
    let service = Service::new(handler, config, runtime, u16::try_from(shards).unwrap_or(1))?;
    either(pin!(accept(&listener, &service)), pin!(stop)).await;
    drop(listener);
    if !either(pin!(service.shutdown()), pin!(stop_now)).await {
        service.shutdown_now().await;
    }
    Ok(service.stats())
}

async fn accept<H: Handler, L: Listener>(listener: &L, service: &Service<H, L::Runtime>) {
    let (runtime, write_stall) = (&service.0.runtime, service.config().write_stall);
    loop {
        if !service.is_full()
            && let Ok((io, peer)) = listener.accept(write_stall).await
        {
            runtime.spawn(service.serve_connection(io, Some(peer.to_string())));
            continue;
        }
        runtime.sleep_until(service.0.instant(service.0.now().after(PAUSE))).await;
    }
}

/// Waits for whichever is ready first; whether that was `first`.
async fn either<A: Future, B: Future>(mut first: Pin<&mut A>, mut second: Pin<&mut B>) -> bool {
    poll_fn(|cx: &mut Context<'_>| match first.as_mut().poll(cx) {
        Poll::Ready(_) => Poll::Ready(true),
        Poll::Pending => second.as_mut().poll(cx).map(|_| false),
    })
    .await
}
