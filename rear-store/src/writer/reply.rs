//! How a caller is told: once, whatever becomes of the writer.

use crate::store::{Answer, SubmitError};

type Tell = Box<dyn FnOnce(Result<Answer, SubmitError>) + Send>;

/// Tells a caller the outcome. One that is dropped, by a panic or with the queue, tells that too.
pub(crate) struct Reply(Option<Tell>);

impl Reply {
    pub(crate) fn new(tell: impl FnOnce(Result<Answer, SubmitError>) + Send + 'static) -> Self {
        Self(Some(Box::new(tell)))
    }

    pub(crate) fn tell(mut self, outcome: Result<Answer, SubmitError>) {
        self.take_and_tell(outcome);
    }

    fn take_and_tell(&mut self, outcome: Result<Answer, SubmitError>) {
        if let Some(tell) = self.0.take() {
            tell(outcome);
        }
    }
}

impl Drop for Reply {
    fn drop(&mut self) {
        self.take_and_tell(Err(SubmitError::Stopped("its writer is gone".to_owned())));
    }
}
