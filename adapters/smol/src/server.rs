//! A TCP socket on smol, for the driver's server.

use std::io;
use std::net::SocketAddr;
use std::time::Duration;

use mcp_http_driver::listen::{self, BACKLOG, Bind, Listener};
use smol::net::{AsyncToSocketAddrs, TcpListener, TcpStream};

use crate::io::SmolIo;
use crate::runtime::SmolRuntime;

/// A bound server.
pub type Server = listen::Server<Tcp>;

/// A listening TCP socket.
#[derive(Debug)]
pub struct Tcp(TcpListener);

impl<A: AsyncToSocketAddrs> Bind<A> for Tcp {
    async fn bind(addr: A) -> io::Result<Self> {
        let listener = TcpListener::bind(addr).await?;
        // A burst of connections waits here; the backlog that the runtime asks for is small.
        socket2::SockRef::from(&listener).listen(BACKLOG)?;
        Ok(Tcp(listener))
    }
}

impl Listener for Tcp {
    type Runtime = SmolRuntime;
    type Io = SmolIo<TcpStream>;

    fn local_addr(&self) -> io::Result<SocketAddr> {
        self.0.local_addr()
    }

    async fn accept(&self, write_stall: Duration) -> io::Result<(Self::Io, SocketAddr)> {
        let (stream, peer) = self.0.accept().await?;
        prepare(&stream, write_stall);
        Ok((SmolIo::new(stream), peer))
    }
}

/// Small writes leave at once, and a peer that acknowledges nothing is given up.
fn prepare(stream: &TcpStream, write_stall: Duration) {
    // A socket that refuses an option is served without it.
    let _ = stream.set_nodelay(true);
    #[cfg(target_os = "linux")]
    let _ = socket2::SockRef::from(stream).set_tcp_user_timeout(Some(write_stall));
    #[cfg(not(target_os = "linux"))]
    let _ = write_stall;
}
