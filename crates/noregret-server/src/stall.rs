//! Clients that do not read what they are sent: a socket that nothing can be written to for too long is closed.

use std::future::Future;
use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::time::{Instant, Sleep};

/// A socket whose writes fail when none could be made for as long as a client is waited for. Whoever reads, however
/// seldom there is something to be read, is not cut off: only a write that waits is counted.
pub(crate) struct Patient<S> {
    socket: S,
    patience: Duration,
    /// Until when the write at hand may wait; the timer is kept for the next one.
    until: Option<Pin<Box<Sleep>>>,
    waiting: bool,
}

impl<S> Patient<S> {
    pub(crate) fn new(socket: S, patience: Duration) -> Self {
        Self { socket, patience, until: None, waiting: false }
    }

    /// What a write came to, unless it has waited for too long.
    fn bounded<T>(&mut self, done: Poll<io::Result<T>>, cx: &mut Context<'_>) -> Poll<io::Result<T>> {
        if done.is_ready() {
            self.waiting = false;
            return done;
        }
        let until = self.until.get_or_insert_with(|| Box::pin(tokio::time::sleep(self.patience)));
        if !self.waiting {
            self.waiting = true;
            until.as_mut().reset(Instant::now() + self.patience);
        }
        ready!(until.as_mut().poll(cx));
        Poll::Ready(Err(io::Error::new(io::ErrorKind::TimedOut, "the client does not read what it is sent")))
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for Patient<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        into: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.socket).poll_read(cx, into)
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for Patient<S> {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        let done = Pin::new(&mut self.socket).poll_write(cx, bytes);
        self.bounded(done, cx)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let done = Pin::new(&mut self.socket).poll_write_vectored(cx, bytes);
        self.bounded(done, cx)
    }

    fn is_write_vectored(&self) -> bool {
        self.socket.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        // Of a socket this does nothing, so that it says nothing about the write that waits.
        Pin::new(&mut self.socket).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.socket).poll_shutdown(cx)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tokio::io::{AsyncReadExt, AsyncWriteExt};

    #[tokio::test]
    async fn a_write_fails_that_nobody_reads_and_one_that_is_read_slowly_does_not() {
        let patience = Duration::from_millis(600);
        let (ours, mut theirs) = tokio::io::duplex(100);
        let mut ours = Patient::new(ours, patience);
        let reader = tokio::spawn(async move {
            let mut piece = [0; 100];
            for _ in 0..10 {
                tokio::time::sleep(Duration::from_millis(100)).await;
                theirs.read_exact(&mut piece).await.unwrap();
            }
            theirs
        });
        ours.write_all(&[1; 1000]).await.unwrap();
        let _theirs = reader.await.unwrap();
        // Nothing to be written: nobody is waited for.
        tokio::time::sleep(2 * patience).await;
        ours.write_all(&[1; 100]).await.unwrap();
        let began = Instant::now();
        let error = ours.write_all(&[1]).await.unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::TimedOut);
        assert!(began.elapsed() >= patience);
    }
}
