use std::future::Future;
use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::thread;

use tokio::runtime::{Builder, Handle};
use tokio::sync::oneshot;
use tokio::task::JoinHandle;

use crate::error::Error;

/// A thread with a runtime of its own. What runs here shares nothing with the runtime of the user, which may be
/// blocked, single-threaded, or none of tokio's. Dropping it only signals: the thread ends by itself.
pub(crate) struct Machine {
    handle: Handle,
    _alive: oneshot::Sender<()>,
}

impl Machine {
    pub(crate) fn start(name: &str) -> io::Result<Self> {
        let runtime = Builder::new_current_thread().enable_all().build()?;
        let handle = runtime.handle().clone();
        let (alive, ended) = oneshot::channel();
        thread::Builder::new().name(name.to_owned()).spawn(move || {
            let _ = runtime.block_on(ended);
            // A name that is being looked up must not hold up the end.
            runtime.shutdown_background();
        })?;
        Ok(Self { handle, _alive: alive })
    }

    pub(crate) fn spawn<F>(&self, future: F) -> Task<F::Output>
    where
        F: Future + Send + 'static,
        F::Output: Send + 'static,
    {
        Task(self.handle.spawn(future))
    }

    /// Runs a future for as long as it takes.
    pub(crate) fn detach(&self, future: impl Future<Output = ()> + Send + 'static) {
        drop(self.handle.spawn(future));
    }

    /// Runs a future here, and gives what came of it to whatever runtime awaits it.
    pub(crate) async fn run<T: Send + 'static>(
        &self,
        future: impl Future<Output = Result<T, Error>> + Send + 'static,
    ) -> Result<T, Error> {
        self.spawn(future).await.unwrap_or_else(|| Err(Error::Connection("the call was broken off".to_owned())))
    }
}

/// A task that ends with its handle: who stops waiting, stops the work.
pub(crate) struct Task<T>(JoinHandle<T>);

impl<T> Future for Task<T> {
    /// Nothing where its runtime ended before it, or where it panicked.
    type Output = Option<T>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        Pin::new(&mut self.0).poll(context).map(Result::ok)
    }
}

impl<T> Drop for Task<T> {
    fn drop(&mut self) {
        self.0.abort();
    }
}
