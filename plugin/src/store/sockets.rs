//! How what is written to a server is sent: at once. Without that option the network keeps a packet until the one before
//! it has been acknowledged, for 40 ms where the server has nothing to answer yet: after the end of a statement that is
//! no longer kept, and within a statement that is longer than a packet.
//!
//! The driver sets the option in no release of 0.9 so far, and shows nobody its sockets. So the connections are found
//! among those of the process. Independent of engines.

/// Has all connections of this process to servers at this port send at once. Where the system refuses that, as in
/// containers without `CAP_SYS_PTRACE`, they stay as they are.
pub(super) fn send_at_once(port: u16) {
    #[cfg(target_os = "linux")]
    if let Err(error) = linux::send_at_once(port) {
        tracing::debug!(%error, port, "what is written to the database may be sent late");
    }
    #[cfg(not(target_os = "linux"))]
    let _ = port;
}

#[cfg(target_os = "linux")]
mod linux {
    use std::fs;
    use std::net::SocketAddr;
    use std::os::fd::{AsFd, OwnedFd};

    use rustix::io;
    use rustix::net::{getpeername, sockopt};
    use rustix::process::{PidfdFlags, PidfdGetfdFlags, getpid, pidfd_getfd, pidfd_open};

    pub(super) fn send_at_once(port: u16) -> std::io::Result<()> {
        let own = pidfd_open(getpid(), PidfdFlags::empty())?;
        for entry in fs::read_dir("/proc/self/fd")? {
            let Ok(path) = entry.map(|entry| entry.path()) else { continue };
            let is_socket = fs::read_link(&path)
                .is_ok_and(|target| target.as_os_str().as_encoded_bytes().starts_with(b"socket:"));
            let number = path.file_name().and_then(|name| name.to_str()?.parse().ok());
            let (true, Some(number)) = (is_socket, number) else { continue };
            match pidfd_getfd(&own, number, PidfdGetfdFlags::empty()) {
                Ok(copy) => set(copy, port)?,
                // It has been closed.
                Err(io::Errno::BADF) => {}
                Err(refused) => return Err(refused.into()),
            }
        }
        Ok(())
    }

    /// Sets the option if this is a connection to that port.
    fn set(copy: OwnedFd, port: u16) -> io::Result<()> {
        if sockopt::socket_type(copy.as_fd()) == Err(io::Errno::NOTSOCK) {
            // The number has become that of a file meanwhile. Closing a copy of that would end the locks of the process
            // on it.
            std::mem::forget(copy);
            return Ok(());
        }
        let peer = getpeername(copy.as_fd()).ok().flatten();
        let peer = peer.and_then(|peer| SocketAddr::try_from(peer).ok());
        if peer.is_some_and(|peer| peer.port() == port) {
            sockopt::set_tcp_nodelay(copy.as_fd(), true)?;
        }
        Ok(())
    }
}
