//! A bound server, the same on every runtime: what a port adds is its listening socket.

use std::future::{Future, pending};
use std::net::SocketAddr;

use mcp_http_core::config::Config;

use crate::channels::{self, Channels};
use crate::handler::Handler;
use crate::listen::{self, Bind, Listener, ServeError};
use crate::runtime::Runtime;
use crate::service::ServerStats;

/// A bound server. Each port has a name for the one on its own socket.
#[derive(Debug)]
pub struct Server<L> {
    listener: L,
    config: Config,
    local: SocketAddr,
}

impl<L: Listener> Server<L> {
    /// Binds a TCP socket. An address is whatever the runtime takes for one.
    ///
    /// # Errors
    /// [`ServeError`]: the address is taken or not ours, the configuration cannot work, or the allowed hosts
    /// of an address that is not loopback are missing.
    pub async fn bind<A>(addr: A, config: Config) -> Result<Self, ServeError>
    where
        L: Bind<A>,
    {
        config.check()?;
        let listener = L::bind(addr).await?;
        let local = listener.local_addr()?;
        listen::check_address(&config, local)?;
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

    /// Serves in the background, until what it returns is closed or dropped, and gives each session, and each
    /// call outside one, as a message channel: see [`channels`].
    #[must_use]
    pub fn channels(self) -> Channels {
        let (handler, channels) = channels::open();
        let closed = channels.closed();
        L::Runtime::default().spawn(async move {
            // The configuration was checked.
            let _ = self.serve_until(handler, closed, pending()).await;
        });
        channels
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
        let runtime = L::Runtime::default();
        Ok(listen::serve_until(self.listener, handler, self.config, runtime, stop, stop_now).await?)
    }
}
