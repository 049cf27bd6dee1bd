//! TLS over the loopback: a certificate that is made on the spot, servers behind it with the lab as their handler, and
//! clients that trust it and nothing else.

use std::any::Any;
use std::io::{self, ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::sync::Arc;

use axum::Router;
use hyper_util::rt::{TokioExecutor, TokioIo};
use hyper_util::server::conn::auto::Builder;
use hyper_util::service::TowerToHyperService;
use mcp_http_smol::{SmolIo, SmolRuntime};
use mcp_http_tokio::{Config, Runtime, Service, TokioRuntime, Topic};
use mcp_http_tower::McpService;
use tokio_rustls::rustls::pki_types::{CertificateDer, PrivateKeyDer, PrivatePkcs8KeyDer, ServerName};
use tokio_rustls::rustls::{ClientConfig, ClientConnection, RootCertStore, ServerConfig, StreamOwned};
use tokio_rustls::{TlsAcceptor, TlsConnector};

use super::http2;
use crate::differential_support::lab::Lab;
use crate::differential_support::server::{notify_now, seen};
use crate::differential_support::{Seen, Tested, config};
use crate::socket_support::wait::PATIENCE;
use crate::socket_support::wire::{Other, Wire};

const HTTP1: &[u8] = b"http/1.1";
const HTTP2: &[u8] = b"h2";

/// A server behind TLS.
pub(crate) struct Secure<R: Runtime> {
    pub(crate) addr: SocketAddr,
    pub(crate) lab: Lab,
    service: Service<Lab, R>,
    trusted: CertificateDer<'static>,
    runtime: tokio::runtime::Runtime,
    /// What accepts, while it is held.
    _accepting: Box<dyn Any>,
}

fn certified(protocols: &[&[u8]]) -> (ServerConfig, CertificateDer<'static>) {
    let made = rcgen::generate_simple_self_signed([String::from("127.0.0.1")]).unwrap();
    let key = PrivateKeyDer::Pkcs8(PrivatePkcs8KeyDer::from(made.signing_key.serialize_der()));
    let certificate = made.cert.der().clone();
    let config = ServerConfig::builder().with_no_client_auth();
    let mut config = config.with_single_cert(vec![certificate.clone()], key).unwrap();
    config.alpn_protocols = protocols.iter().map(|protocol| protocol.to_vec()).collect();
    (config, certificate)
}

fn runtime() -> tokio::runtime::Runtime {
    tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap()
}

/// The driver on tokio, over a stream of tokio-rustls.
pub(crate) fn on_tokio(configure: fn(&mut Config)) -> Secure<TokioRuntime> {
    let (tls, trusted) = certified(&[HTTP1]);
    let (runtime, lab, acceptor) = (runtime(), Lab::default(), TlsAcceptor::from(Arc::new(tls)));
    let (addr, service, accepting) = runtime.block_on(async {
        let service = Service::new(lab.clone(), config(configure), TokioRuntime, 2).unwrap();
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let (addr, serving) = (listener.local_addr().unwrap(), service.clone());
        let accepting = tokio::spawn(async move {
            loop {
                let (tcp, _) = listener.accept().await.unwrap();
                let (serving, acceptor) = (serving.clone(), acceptor.clone());
                tokio::spawn(async move {
                    if let Ok(stream) = acceptor.accept(tcp).await {
                        serving.serve_connection(mcp_http_tokio::TokioIo::new(stream), None).await;
                    }
                });
            }
        });
        (addr, service, accepting)
    });
    Secure { addr, lab, service, trusted, runtime, _accepting: Box::new(accepting) }
}

/// The driver on smol, over a stream of futures-rustls.
pub(crate) fn on_smol(configure: fn(&mut Config)) -> Secure<SmolRuntime> {
    let (tls, trusted) = certified(&[HTTP1]);
    let (lab, acceptor) = (Lab::default(), futures_rustls::TlsAcceptor::from(Arc::new(tls)));
    let service = Service::new(lab.clone(), config(configure), SmolRuntime, 2).unwrap();
    let listener = smol::block_on(smol::net::TcpListener::bind("127.0.0.1:0")).unwrap();
    let (addr, serving) = (listener.local_addr().unwrap(), service.clone());
    let accepting = smol::spawn(async move {
        loop {
            let (tcp, _) = listener.accept().await.unwrap();
            let (serving, acceptor) = (serving.clone(), acceptor.clone());
            let serve = async move {
                if let Ok(stream) = acceptor.accept(tcp).await {
                    serving.serve_connection(SmolIo::new(stream), None).await;
                }
            };
            smol::spawn(serve).detach();
        }
    });
    let accepting: smol::Task<()> = accepting;
    Secure { addr, lab, service, trusted, runtime: runtime(), _accepting: Box::new(accepting) }
}

/// The tower service in axum on hyper, over a stream of tokio-rustls, in the version of HTTP that was agreed on.
pub(crate) fn on_hyper(configure: fn(&mut Config)) -> Secure<TokioRuntime> {
    let (tls, trusted) = certified(&[HTTP2, HTTP1]);
    let (runtime, lab, acceptor) = (runtime(), Lab::default(), TlsAcceptor::from(Arc::new(tls)));
    let (addr, service, accepting) = runtime.block_on(async {
        let mcp = McpService::new(lab.clone(), config(configure), TokioRuntime).unwrap();
        let service = mcp.service().clone();
        let app = TowerToHyperService::new(Router::new().nest_service("/mcp", mcp));
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let addr = listener.local_addr().unwrap();
        let accepting = tokio::spawn(async move {
            loop {
                let (tcp, _) = listener.accept().await.unwrap();
                let (app, acceptor) = (app.clone(), acceptor.clone());
                tokio::spawn(async move {
                    if let Ok(stream) = acceptor.accept(tcp).await {
                        let http = Builder::new(TokioExecutor::new());
                        // How a connection ends is its client's to see.
                        _ = http.serve_connection(TokioIo::new(stream), app).await;
                    }
                });
            }
        });
        (addr, service, accepting)
    });
    Secure { addr, lab, service, trusted, runtime, _accepting: Box::new(accepting) }
}

impl<R: Runtime> Secure<R> {
    fn trusting(&self, protocols: &[&[u8]]) -> Arc<ClientConfig> {
        let mut roots = RootCertStore::empty();
        roots.add(self.trusted.clone()).unwrap();
        let mut config = ClientConfig::builder().with_root_certificates(roots).with_no_client_auth();
        config.alpn_protocols = protocols.iter().map(|protocol| protocol.to_vec()).collect();
        Arc::new(config)
    }

    fn name(&self) -> ServerName<'static> {
        ServerName::from(self.addr.ip())
    }

    /// A client that offers these, and has to be given that one.
    fn link(&self, offers: &[&[u8]], given: &[u8]) -> Link {
        let tls = ClientConnection::new(self.trusting(offers), self.name()).unwrap();
        let tcp = TcpStream::connect(self.addr).unwrap();
        tcp.set_read_timeout(Some(PATIENCE)).unwrap();
        tcp.set_write_timeout(Some(PATIENCE)).unwrap();
        tcp.set_nodelay(true).unwrap();
        let mut stream = StreamOwned::new(tls, tcp);
        while stream.conn.is_handshaking() {
            stream.conn.complete_io(&mut stream.sock).unwrap();
        }
        assert_eq!(stream.conn.alpn_protocol(), Some(given));
        Link { stream, reset: false }
    }

    /// A client that would rather speak HTTP/2 and may not.
    pub(crate) fn connect_with_http2_in_vain(&self) -> Wire {
        Wire::over_other(self.link(&[HTTP2, HTTP1], HTTP1))
    }

    /// A client that speaks both; it is HTTP/2.
    pub(crate) fn connect_http2(&self) -> http2::Client {
        let (connector, name) = (TlsConnector::from(self.trusting(&[HTTP2, HTTP1])), self.name());
        http2::Client::over("https", self.addr, async |tcp| {
            let stream = connector.connect(name, tcp).await.unwrap();
            assert_eq!(stream.get_ref().1.alpn_protocol(), Some(HTTP2));
            stream
        })
    }
}

impl<R: Runtime> Tested for Secure<R> {
    fn connect(&self) -> Wire {
        Wire::over_other(self.link(&[HTTP1], HTTP1))
    }

    fn until(&self, line: &str, times: usize) {
        self.lab.until(line, times);
    }

    fn open(&self, gate: &str) {
        self.lab.open(gate);
    }

    fn notify(&self, session: usize, number: u64) {
        notify_now(&self.lab.session(session), number);
    }

    fn end_session(&self, session: usize) {
        self.lab.session(session).end();
    }

    fn publish(&self, topic: &Topic) -> usize {
        self.lab.publish(topic)
    }

    fn begin_stop(&self) {
        let service = self.service.clone();
        self.runtime.spawn(async move { service.shutdown().await });
    }

    fn stop(self: Box<Self>) -> Seen {
        self.runtime.block_on(self.service.shutdown());
        seen(&self.lab, &self.service.stats())
    }
}

/// A client's connection.
struct Link {
    stream: StreamOwned<ClientConnection, TcpStream>,
    reset: bool,
}

impl Other for Link {
    fn write(&mut self, bytes: &[u8]) {
        // The server may have closed before it has read everything.
        _ = self.stream.write_all(bytes).and_then(|()| self.stream.flush());
    }

    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        self.stream.read(into).map_err(|error| match error.kind() {
            // Without the last word of TLS, an end is no good one.
            ErrorKind::UnexpectedEof => ErrorKind::ConnectionReset.into(),
            _ => error,
        })
    }

    fn reset(mut self: Box<Self>) {
        self.reset = true;
        let same = self.stream.sock.try_clone().unwrap();
        tokio::net::TcpSocket::from_std_stream(same).set_zero_linger().unwrap();
    }
}

impl Drop for Link {
    fn drop(&mut self) {
        if !self.reset {
            self.stream.conn.send_close_notify();
            // The server may be gone.
            _ = self.stream.flush();
        }
    }
}
