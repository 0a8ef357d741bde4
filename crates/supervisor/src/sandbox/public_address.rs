//! Which addresses mean the same everywhere, so that a name that leads to one leads out.

use std::net::{IpAddr, Ipv4Addr};

/// Is it an address that means the same everywhere? Those of this machine, of private networks, of the link (and with them the
/// services by which clouds hand out credentials) and those with a meaning of their own are not.
#[must_use]
pub fn is_public(place: IpAddr) -> bool {
    match place.to_canonical() {
        IpAddr::V4(place) => is_public_v4(place),
        IpAddr::V6(place) => {
            let [first, second, ..] = place.segments();
            let is_own = place.is_loopback() || place.is_unspecified() || place.is_multicast();
            let is_local =
                (first & 0xfe00) == 0xfc00 || (first & 0xffc0) == 0xfe80 || (first & 0xffc0) == 0xfec0;
            // An IPv4 address inside of another one: translated, or tunnelled.
            let [.., a, b, c, d] = place.octets();
            let [_, _, e, f, g, h, ..] = place.octets();
            let inside = match (first, second) {
                (0x64, 0xff9b) => Some(Ipv4Addr::new(a, b, c, d)),
                (0x2002, _) => Some(Ipv4Addr::new(e, f, g, h)),
                _ => None,
            };
            !is_own && !is_local && inside.is_none_or(is_public_v4)
        }
    }
}

fn is_public_v4(place: Ipv4Addr) -> bool {
    let [a, b, c, _] = place.octets();
    let is_own = place.is_loopback() || place.is_private() || place.is_link_local() || a == 0;
    let is_special = matches!((a, b, c), (100, 64..=127, _) | (192, 0, 0) | (198, 18..=19, _)) || a >= 224;
    !is_own && !is_special
}
