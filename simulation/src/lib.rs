//! A simulated world around the library: machines with wrong clocks, processes that crash, freeze and come back
//! late, a store that loses answers, and actors who all want something at the same time. The whole world runs in
//! one thread, from one seed, and a seed that breaks a rule is repeated to the byte.
//!
//! - [`medium`]: the simulated store, with the contract of SQLite in a folder and of PostgreSQL.
//! - [`clock`]: the time, and the clocks of machines.
//! - `actors`: workers, people, conversations, hosts, importers, keepers. They use the library as programs do.
//! - [`setting`]: what a world is made of.
//! - [`world`]: the steps of the actors, and what was committed and acknowledged.
//! - `process`: a process that has the stack open, and what strikes its calls.
//! - `adversary`: strikes where nothing has struck yet.
//! - [`schedule`]: the steps of a world, made from a seed, written, and shrunk.
//! - [`oracle`]: what must hold at every step, by a model that reads only events.
//! - [`run`]: whole runs, through the storm and until everything is done.
//! - [`scale`]: how much work the stacks of one server take.
//!
//! The approach is that of FoundationDB (Zhou et al. 2021, "FoundationDB: A Distributed Unbundled Transactional Key
//! Value Store", section 4) and of TigerBeetle: the code under test is the real one, and everything around it is
//! simulated.

mod actors;
mod adversary;
pub mod clock;
pub mod medium;
pub mod oracle;
pub mod plans;
mod process;
pub mod run;
pub mod scale;
pub mod schedule;
pub mod setting;
pub mod story;
pub mod world;
