//! The command line of the dashboard, as typed.

use super::StoreFile;
use clap::Args;
use std::net::{IpAddr, Ipv4Addr};

const PORT: u16 = 8347;

/// Where the dashboard can be reached.
#[derive(Debug, Args)]
pub(crate) struct WindowPlace {
    /// The dashboard's port; 0 for any that is free
    #[arg(long, value_name = "PORT", default_value_t = PORT)]
    pub(crate) port: u16,
    /// The address at which the dashboard listens. Unless it is a loopback address, browsers need
    /// the token in the address that is printed
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1")]
    pub(crate) bind: IpAddr,
    /// A name under which browsers reach this machine, besides localhost; may be repeated
    #[arg(long = "host", value_name = "NAME")]
    pub(crate) hosts: Vec<String>,
}

impl WindowPlace {
    /// Whether nothing was said about it.
    pub(crate) fn is_usual(&self) -> bool {
        self.port == PORT && self.bind == Ipv4Addr::LOCALHOST && self.hosts.is_empty()
    }
}

#[derive(Debug, Args)]
pub(crate) struct Serve {
    #[command(flatten)]
    pub(crate) store: StoreFile,
    #[command(flatten)]
    pub(crate) window: WindowPlace,
}
