//! A TCP socket on smol, and a server on it.

use std::future::{Future, pending};
use std::io;
use std::net::SocketAddr;
use std::time::Duration;

use mcp_http_driver::channels::Channels;
use mcp_http_driver::listen::{self, Listener};
use mcp_http_driver::{Config, Handler, ServeError, ServerStats};
use smol::net::{AsyncToSocketAddrs, TcpListener, TcpStream};

use crate::io::SmolIo;
use crate::runtime::SmolRuntime;

/// A bound server.
#[derive(Debug)]
pub struct Server {
    listener: TcpListener,
    config: Config,
    local: SocketAddr,
}

impl Server {
    /// Binds a TCP socket.
    ///
    /// # Errors
    /// [`ServeError`]: the address is taken or not ours, the configuration cannot work, or the allowed hosts
    /// of an address that is not loopback are missing.
    pub async fn bind(addr: impl AsyncToSocketAddrs, config: Config) -> Result<Self, ServeError> {
        config.check()?;
        let listener = TcpListener::bind(addr).await?;
        // A burst of connections waits here; the backlog that the runtime asks for is small.
        socket2::SockRef::from(&listener).listen(listen::BACKLOG)?;
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
    /// call outside one, as a message channel: see [`channels`](mcp_http_driver::channels).
    #[must_use]
    pub fn channels(self) -> Channels {
        let (handler, channels) = mcp_http_driver::channels::open();
        let closed = channels.closed();
        let serving = async move {
            // The configuration was checked.
            let _ = self.serve_until(handler, closed, pending()).await;
        };
        smol::spawn(serving).detach();
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
        let tcp = Tcp { listener: self.listener, stall: self.config.write_stall };
        Ok(listen::serve_until(tcp, handler, self.config, SmolRuntime, stop, stop_now).await?)
    }
}

struct Tcp {
    listener: TcpListener,
    stall: Duration,
}

impl Listener for Tcp {
    type Runtime = SmolRuntime;
    type Io = SmolIo<TcpStream>;

    async fn accept(&self) -> io::Result<(Self::Io, SocketAddr)> {
        let (stream, peer) = self.listener.accept().await?;
        prepare(&stream, self.stall);
        Ok((SmolIo::new(stream), peer))
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
