//! The address of a client, as the application knows it.

use std::net::{IpAddr, Ipv6Addr};

/// The address of the client, which the application stores in the extensions of a request. Plugins
/// get it as a fact.
#[derive(Clone, Copy, Debug)]
pub struct ClientAddress(pub IpAddr);

impl ClientAddress {
    /// The addresses that count as one client, by the first of them: an IPv6 network (/64) or one IPv4
    /// address.
    pub fn block(self) -> IpAddr {
        match self.0.to_canonical() {
            IpAddr::V6(address) => {
                let network = u128::from(address) & !u128::from(u64::MAX);
                IpAddr::V6(Ipv6Addr::from(network))
            }
            address => address,
        }
    }
}
