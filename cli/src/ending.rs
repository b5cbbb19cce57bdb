//! The signals that end a program that serves.

use crate::exit::Exit;

/// Waits for a signal that ends the program.
#[cfg(unix)]
pub async fn ended() -> Exit {
    use tokio::signal::unix::{SignalKind, signal};

    let (Ok(mut ended), Ok(mut interrupted)) = (signal(SignalKind::terminate()), signal(SignalKind::interrupt()))
    else {
        return std::future::pending().await;
    };
    tokio::select! {
        _ = ended.recv() => Exit::Done,
        _ = interrupted.recv() => Exit::Interrupted,
    }
}

#[cfg(not(unix))]
pub async fn ended() -> Exit {
    match tokio::signal::ctrl_c().await {
        Ok(()) => Exit::Interrupted,
        Err(_) => std::future::pending().await,
    }
}
