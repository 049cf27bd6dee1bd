//! A server behind TLS: any stream that reads and writes can be served. The certificate is made on the spot;
//! try it with `curl --insecure https://127.0.0.1:8443/mcp`.

use std::error::Error;
use std::sync::Arc;

use mcp_http_tokio::{
    Call, Config, ErrorObject, Handler, Initialize, Initialized, Json, Service, TokioIo, TokioRuntime,
};
use tokio::net::{TcpListener, TcpStream};
use tokio::time::timeout;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::ServerConfig;
use tokio_rustls::rustls::pki_types::{PrivateKeyDer, PrivatePkcs8KeyDer};

struct Ping;

impl Handler for Ping {
    async fn initialize(&self, _: Initialize) -> Result<Initialized, ErrorObject> {
        Ok(Initialized::new("ping", "1.0"))
    }

    async fn call(&self, call: Call) -> Result<Json, ErrorObject> {
        match call.method() {
            "ping" => Ok(Json::EMPTY_OBJECT),
            other => Err(ErrorObject::method_not_found(other)),
        }
    }
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let acceptor = TlsAcceptor::from(Arc::new(tls()?));
    let listener = TcpListener::bind("127.0.0.1:8443").await?;
    let service = Service::new(Ping, Config::default(), TokioRuntime, 4)?;
    loop {
        let (tcp, peer) = listener.accept().await?;
        tokio::spawn(serve(service.clone(), acceptor.clone(), tcp, peer.to_string()));
    }
}

/// The handshake has as long as a request's head; a peer that is slower, or speaks no TLS, is let go.
async fn serve(service: Service<Ping, TokioRuntime>, tls: TlsAcceptor, tcp: TcpStream, peer: String) {
    if let Ok(Ok(stream)) = timeout(service.config().header_read, tls.accept(tcp)).await {
        service.serve_connection(TokioIo::new(stream), Some(peer)).await;
    }
}

fn tls() -> Result<ServerConfig, Box<dyn Error>> {
    let made = rcgen::generate_simple_self_signed([String::from("localhost"), String::from("127.0.0.1")])?;
    let key = PrivateKeyDer::Pkcs8(PrivatePkcs8KeyDer::from(made.signing_key.serialize_der()));
    let mut config =
        ServerConfig::builder().with_no_client_auth().with_single_cert(vec![made.cert.der().clone()], key)?;
    config.alpn_protocols = vec![b"http/1.1".to_vec()];
    Ok(config)
}
