//! What a stack in PostgreSQL does as one in a folder does, and what is its own.

use std::time::Instant;

use callstack_core::{NewFrame, PopStatus, Stack, StackOptions};
use callstack_postgres::OpenUrl;

use crate::server::{Disk, Server};

#[test]
fn speed() {
    let server = Server::start(Disk::Lazy, "");
    let url = format!("{}/shop", server.database());
    let stack = Stack::open_url(&url, StackOptions::default()).unwrap();
    let root = stack.push(NewFrame::new("Build a shop")).unwrap();
    for _ in 0..3 {
        let begun = Instant::now();
        for number in 0..500 {
            let frame = stack.push(NewFrame::new(format!("Part {number}")).below(root)).unwrap();
            stack.pop(frame, PopStatus::Completed, "done").unwrap();
        }
        println!("a command: {:?}", begun.elapsed() / 1000);
        let begun = Instant::now();
        for _ in 0..1000 {
            stack.refresh().unwrap();
        }
        println!("a refresh: {:?}", begun.elapsed() / 1000);
    }
    let other = Stack::open_url(&url, StackOptions::default()).unwrap();
    assert_eq!(other.state(), stack.state());
}
