//! Clients that do not read what they are sent: a socket that nothing can be written to for too long is closed. And clients
//! that are still sending when they have been answered: they are heard out, or else they would never see the answer.

use std::future::Future;
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
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
    unread: Unread,
    /// Until when it is listened to after the last write.
    heard_out: Option<Instant>,
}

/// Whether the rest of a request may still be under way although it has been answered.
#[derive(Clone, Default)]
pub(crate) struct Unread(Arc<AtomicBool>);

impl Unread {
    pub(crate) fn set(&self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// How long nothing may come before a client that was answered is taken to have stopped sending.
const QUIET: Duration = Duration::from_secs(1);

impl<S> Patient<S> {
    pub(crate) fn new(socket: S, patience: Duration) -> Self {
        Self { socket, patience, until: None, waiting: false, unread: Unread::default(), heard_out: None }
    }

    /// To be set where a request is answered before it has been read.
    pub(crate) fn unread(&self) -> Unread {
        self.unread.clone()
    }

    /// Lets the timer begin anew.
    fn timer(&mut self, wait: Duration) {
        let until = self.until.get_or_insert_with(|| Box::pin(tokio::time::sleep(wait)));
        until.as_mut().reset(Instant::now() + wait);
    }

    /// What a write came to, unless it has waited for too long.
    fn bounded<T>(&mut self, done: Poll<io::Result<T>>, cx: &mut Context<'_>) -> Poll<io::Result<T>> {
        if done.is_ready() {
            self.waiting = false;
            return done;
        }
        if !self.waiting {
            self.waiting = true;
            self.timer(self.patience);
        }
        if let Some(until) = &mut self.until {
            ready!(until.as_mut().poll(cx));
        }
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

impl<S: AsyncRead + AsyncWrite + Unpin> Patient<S> {
    /// Reads what still comes, for as long as it does and a client is waited for. A socket that is closed before resets the
    /// connection, and the client loses the answer with it.
    fn hear_out(&mut self, end: Instant, cx: &mut Context<'_>) -> Poll<()> {
        let mut bytes = [0; 16 << 10];
        let mut quiet = self.waiting;
        loop {
            let mut into = ReadBuf::new(&mut bytes);
            match Pin::new(&mut self.socket).poll_read(cx, &mut into) {
                Poll::Ready(Ok(())) if !into.filled().is_empty() && Instant::now() < end => quiet = false,
                Poll::Ready(_) => return Poll::Ready(()),
                Poll::Pending => break,
            }
        }
        if !quiet {
            self.waiting = true;
            self.timer(QUIET);
        }
        self.until.as_mut().map_or(Poll::Ready(()), |until| until.as_mut().poll(cx))
    }
}

impl<S: AsyncRead + AsyncWrite + Unpin> AsyncWrite for Patient<S> {
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
        if let Some(end) = self.heard_out {
            return self.hear_out(end, cx).map(Ok);
        }
        ready!(Pin::new(&mut self.socket).poll_shutdown(cx))?;
        if !self.unread.0.load(Ordering::Relaxed) {
            return Poll::Ready(Ok(()));
        }
        let end = Instant::now() + self.patience;
        (self.heard_out, self.waiting) = (Some(end), false);
        self.hear_out(end, cx).map(Ok)
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

    #[tokio::test]
    async fn who_still_sends_is_heard_out_and_who_does_not_is_not_waited_for() {
        let patience = Duration::from_secs(30);
        for (pieces, unread) in [(20, true), (0, true), (20, false)] {
            let (ours, mut theirs) = tokio::io::duplex(100);
            let mut ours = Patient::new(ours, patience);
            if unread {
                ours.unread().set();
            }
            let began = Instant::now();
            let closing = tokio::spawn(async move { ours.shutdown().await });
            let mut sent = 0;
            for _ in 0..pieces {
                sent += usize::from(theirs.write_all(&[7; 100]).await.is_ok());
            }
            closing.await.unwrap().unwrap();
            assert_eq!(sent == pieces, unread || pieces == 0);
            assert_eq!(began.elapsed() >= QUIET, unread, "nobody said that it was the end");
        }
    }
}
