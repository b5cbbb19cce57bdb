//! The tests of the library through its public interface, in folders by topic. `cargo test -p callstack-tests
//! NAME` runs the tests whose path contains NAME. NAME is, for example, `store::processes` or `golden`.

#[cfg(feature = "capi")]
mod capi;
mod context;
mod fold;
mod hostile;
mod house;
#[cfg(feature = "tools")]
mod memory;
#[cfg(feature = "session")]
mod session;
#[cfg(feature = "sqlite")]
mod store;
#[cfg(feature = "sqlite")]
mod transcript;
mod tree;
