//! Which addresses requests may be sent to: those of the public internet, and the networks that a site allows beside
//! them. Resolves no name.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use ipnet::{IpNet, Ipv4Net, Ipv6Net};

/// The addresses of IPv4 that are not public, see the registry of IANA for special purposes.
const RESERVED: [Ipv4Net; 15] = [
    v4([0, 0, 0, 0], 8),
    v4([10, 0, 0, 0], 8),
    v4([100, 64, 0, 0], 10),
    v4([127, 0, 0, 0], 8),
    v4([169, 254, 0, 0], 16),
    v4([172, 16, 0, 0], 12),
    v4([192, 0, 0, 0], 24),
    v4([192, 0, 2, 0], 24),
    v4([192, 88, 99, 0], 24),
    v4([192, 168, 0, 0], 16),
    v4([198, 18, 0, 0], 15),
    v4([198, 51, 100, 0], 24),
    v4([203, 0, 113, 0], 24),
    v4([224, 0, 0, 0], 4),
    v4([240, 0, 0, 0], 4),
];

/// All public addresses of IPv6 are in this network. Addresses of IPv4 in another form are not.
const GLOBAL: Ipv6Net = v6([0x2000, 0], 3);

/// Those in it that are not public.
const RESERVED_OF_GLOBAL: [Ipv6Net; 4] =
    [v6([0x2001, 0], 23), v6([0x2001, 0xdb8], 32), v6([0x2002, 0], 16), v6([0x3fff, 0], 20)];

const fn v4(address: [u8; 4], prefix: u8) -> Ipv4Net {
    let [a, b, c, d] = address;
    Ipv4Net::new_assert(Ipv4Addr::new(a, b, c, d), prefix)
}

const fn v6(begin: [u16; 2], prefix: u8) -> Ipv6Net {
    let [a, b] = begin;
    Ipv6Net::new_assert(Ipv6Addr::new(a, b, 0, 0, 0, 0, 0, 0), prefix)
}

/// The networks that a site allows although they are not public.
#[derive(Clone, Debug, Default)]
pub(super) struct Networks(Vec<IpNet>);

impl Networks {
    pub(super) fn new(networks: Vec<IpNet>) -> Self {
        Self(networks)
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Whether requests may be sent to an address. Without encryption they may only within the networks.
    pub(super) fn allow(&self, address: IpAddr, is_encrypted: bool) -> bool {
        self.contain(address) || (is_encrypted && is_public(address))
    }

    /// An address of IPv4 in the form of IPv6 counts as what it leads to.
    fn contain(&self, address: IpAddr) -> bool {
        let address = address.to_canonical();
        self.0.iter().any(|network| network.contains(&address))
    }
}

fn is_public(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(address) => !RESERVED.iter().any(|network| network.contains(&address)),
        IpAddr::V6(address) => {
            GLOBAL.contains(&address)
                && !RESERVED_OF_GLOBAL.iter().any(|network| network.contains(&address))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn allowed(networks: &[&str], address: &str, is_encrypted: bool) -> Option<bool> {
        let networks = networks.iter().map(|network| network.parse());
        let networks = Networks(networks.collect::<Result<_, _>>().ok()?);
        Some(networks.allow(address.parse().ok()?, is_encrypted))
    }

    #[test]
    fn the_first_and_the_last_address_of_each_reserved_network_are_refused() {
        for (first, last) in [
            ("0.0.0.0", "0.255.255.255"),
            ("10.0.0.0", "10.255.255.255"),
            ("100.64.0.0", "100.127.255.255"),
            ("127.0.0.0", "127.255.255.255"),
            ("169.254.0.0", "169.254.255.255"),
            ("172.16.0.0", "172.31.255.255"),
            ("192.0.0.0", "192.0.0.255"),
            ("192.0.2.0", "192.0.2.255"),
            ("192.88.99.0", "192.88.99.255"),
            ("192.168.0.0", "192.168.255.255"),
            ("198.18.0.0", "198.19.255.255"),
            ("198.51.100.0", "198.51.100.255"),
            ("203.0.113.0", "203.0.113.255"),
            ("224.0.0.0", "255.255.255.255"),
            ("::", "1fff:ffff:ffff:ffff:ffff:ffff:ffff:ffff"),
            ("::1", "::ffff:8.8.8.8"),
            ("64:ff9b::8.8.8.8", "::ffff:127.0.0.1"),
            ("2001::", "2001:1ff:ffff:ffff:ffff:ffff:ffff:ffff"),
            ("2001:db8::", "2001:db8:ffff:ffff:ffff:ffff:ffff:ffff"),
            ("2002::", "2002:ffff:ffff:ffff:ffff:ffff:ffff:ffff"),
            ("3fff::", "3fff:fff:ffff:ffff:ffff:ffff:ffff:ffff"),
            ("4000::", "ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff"),
            ("fc00::1", "fe80::1"),
        ] {
            assert_eq!(allowed(&[], first, true), Some(false), "{first}");
            assert_eq!(allowed(&[], last, true), Some(false), "{last}");
        }
    }

    #[test]
    fn the_addresses_beside_them_are_public() {
        for address in [
            "1.0.0.0",
            "9.255.255.255",
            "11.0.0.0",
            "100.63.255.255",
            "100.128.0.0",
            "126.255.255.255",
            "128.0.0.0",
            "169.253.255.255",
            "169.255.0.0",
            "172.15.255.255",
            "172.32.0.0",
            "192.0.1.0",
            "192.0.3.0",
            "192.88.98.255",
            "192.167.255.255",
            "192.169.0.0",
            "198.17.255.255",
            "198.20.0.0",
            "198.51.99.255",
            "203.0.114.0",
            "223.255.255.255",
            "2000::",
            "2001:200::",
            "2001:db7:ffff::",
            "2001:db9::",
            "2003::",
            "3fff:1000::",
        ] {
            assert_eq!(allowed(&[], address, true), Some(true), "{address}");
            assert_eq!(allowed(&[], address, false), Some(false), "{address} needs encryption");
        }
    }

    #[test]
    fn networks_of_the_site_are_allowed_also_without_encryption() {
        let networks = ["127.0.0.0/8", "fd00::/8", "203.0.113.7/32"];
        for address in ["127.0.0.1", "::ffff:127.0.0.1", "fd12::1", "203.0.113.7"] {
            for is_encrypted in [true, false] {
                assert_eq!(allowed(&networks, address, is_encrypted), Some(true), "{address}");
            }
        }
        for address in ["10.0.0.1", "::1", "fc00::1", "203.0.113.8", "::ffff:10.0.0.1"] {
            assert_eq!(allowed(&networks, address, true), Some(false), "{address}");
        }
    }
}
