//! Connections of the process, which a host and its libraries share. Knows nothing of what they are for.

/// Has all TCP connections of this process to this port of any address send at once what is written to them
/// (`TCP_NODELAY`), for clients of databases that show nobody their sockets and do not ask for it themselves. The network
/// otherwise keeps a packet until the one before it has been acknowledged, for some 40 ms where the other side has
/// nothing to answer yet. A later connection needs another call. Without effect where a process cannot list what it
/// has open.
pub fn send_at_once(port: u16) {
    #[cfg(unix)]
    for open in std::fs::read_dir("/dev/fd").into_iter().flatten().flatten() {
        if let Some(number) = open.file_name().to_str().and_then(|number| number.parse().ok()) {
            unix::send_at_once(number, port);
        }
    }
    #[cfg(not(unix))]
    let _ = port;
}

#[cfg(unix)]
mod unix {
    use std::mem::ManuallyDrop;
    use std::net::TcpStream;
    use std::os::fd::{FromRawFd, RawFd};

    #[allow(unsafe_code, reason = "a number in the list of what is open is no owned socket")]
    pub(super) fn send_at_once(number: RawFd, port: u16) {
        if number < 0 {
            return;
        }
        // SAFETY: it is not -1, and is never closed here. Two calls of the system get the number, which fail on
        // everything that is no TCP connection, and on what has been closed meanwhile; a connection that has got its
        // number since may send at once just as well, and nothing else about it changes.
        let connection = ManuallyDrop::new(unsafe { TcpStream::from_raw_fd(number) });
        if connection.peer_addr().is_ok_and(|peer| peer.port() == port) {
            // It may end at any moment.
            let _ = connection.set_nodelay(true);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io;
    use std::net::{TcpListener, TcpStream};

    use super::*;

    #[test]
    fn connections_to_a_port_send_at_once_and_others_do_not() -> io::Result<()> {
        let one = TcpListener::bind("127.0.0.1:0")?;
        let other = TcpListener::bind("127.0.0.1:0")?;
        let to_one = TcpStream::connect(one.local_addr()?)?;
        let to_other = TcpStream::connect(other.local_addr()?)?;
        send_at_once(one.local_addr()?.port());
        assert_eq!([to_one.nodelay()?, to_other.nodelay()?], [true, false]);
        Ok(())
    }
}
