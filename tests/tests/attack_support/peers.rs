//! Peers that do not behave, many at a time.

use std::io::{ErrorKind, Read};
use std::net::{SocketAddr, TcpStream};
use std::thread::scope;
use std::time::Duration;

use crate::socket_support::wire::{Lost, Wire};

/// Between two bytes of a peer that drips.
const DRIP: Duration = Duration::from_millis(10);

/// As many as come in a hundred seconds; no deadline of these tests is near that.
const DRIPS_MAX: usize = 10_000;

/// So many peers at a time; returns how many.
#[track_caller]
pub(crate) fn many(peers: usize, peer: impl Fn(usize) + Sync) -> usize {
    scope(|threads| {
        let threads: Vec<_> = (0..peers)
            .map(|number| {
                let peer = &peer;
                threads.spawn(move || peer(number))
            })
            .collect();
        threads.into_iter().for_each(|thread| thread.join().unwrap());
    });
    peers
}

/// Sends `first` at once, then `then` over and over, a byte at a time, until the server says something.
#[track_caller]
pub(crate) fn drip(addr: SocketAddr, first: &[u8], then: &[u8]) -> Wire {
    let mut wire = Wire::to(addr);
    wire.send(first);
    for byte in then.iter().cycle().take(DRIPS_MAX) {
        // What became of the connection is for the reader to say.
        if wire.try_send([*byte]).is_err() || wire.read_for(DRIP) != Err(Lost::Silent) {
            return wire;
        }
    }
    panic!("a peer that drips is listened to for ever");
}

/// Sends `first`, then `then` over and over, up to `bytes_max`, or until the server takes no more.
#[track_caller]
pub(crate) fn pour(addr: SocketAddr, first: &[u8], then: &[u8], bytes_max: usize) -> Wire {
    let mut wire = Wire::to(addr);
    wire.send(first);
    let much = then.repeat((64 * 1024_usize).div_ceil(then.len()));
    for _ in 0..bytes_max.div_ceil(much.len()) {
        if wire.try_send(&much).is_err() {
            break;
        }
    }
    wire
}

/// Takes one byte off the socket and no more; `false` once there is none to come.
pub(crate) fn sip(stream: &mut TcpStream) -> bool {
    match stream.read(&mut [0]) {
        Ok(read) => read == 1,
        Err(error) => matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut),
    }
}
