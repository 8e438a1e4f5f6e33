//! One line of text after the other with the same model: what was read stays read.

use super::model::TextModel;
use crate::error::{Error, Result};
use crate::generate::Continuation;
use crate::ops::Ops;
use std::{cell::RefCell, rc::Rc};

/// Tokens read by one conversation. What its jobs read it keeps, up to where the next one differs; several at once give
/// what each would alone, but read in turn what the others have put in the place of theirs.
pub struct Session<O: Ops> {
    pub(super) model: Rc<TextModel<O>>,
    pub(super) memory: Shared<O>,
}

/// The memory of a session, which whoever works on it takes for as long.
pub(super) struct Shared<O: Ops>(Rc<RefCell<Option<Memory<O>>>>);

impl<O: Ops> Clone for Shared<O> {
    fn clone(&self) -> Self {
        Self(Rc::clone(&self.0))
    }
}

impl<O: Ops> Shared<O> {
    fn new(memory: Memory<O>) -> Self {
        Self(Rc::new(RefCell::new(Some(memory))))
    }

    /// # Errors
    /// [`Error::Internal`] while another has it: a session's jobs take turns.
    pub(super) fn take(&self) -> Result<Taken<O>> {
        let memory = self.0.borrow_mut().take();
        memory
            .map(|memory| Taken { memory: Some(memory), home: self.clone() })
            .ok_or_else(|| Error::Internal { what: "two users of one session at once".to_owned() })
    }
}

/// The memory of a session, on loan: it goes back when this is dropped, also in the middle of an await.
pub(super) struct Taken<O: Ops> {
    memory: Option<Memory<O>>,
    home: Shared<O>,
}

impl<O: Ops> Taken<O> {
    pub(super) fn parts(&mut self) -> Option<(&mut O, &mut Continuation<O>)> {
        self.memory.as_mut().map(|Memory { ops, continuation }| (ops, continuation))
    }

    /// Keeps it for good.
    pub(super) fn keep(mut self) -> Option<Memory<O>> {
        self.memory.take()
    }
}

impl<O: Ops> Drop for Taken<O> {
    fn drop(&mut self) {
        if let Some(memory) = self.memory.take() {
            *self.home.0.borrow_mut() = Some(memory);
        }
    }
}

/// What a session and its jobs share.
pub(super) struct Memory<O: Ops> {
    pub ops: O,
    pub continuation: Continuation<O>,
}

impl<O: Ops + Clone> Session<O> {
    pub(super) fn new(model: Rc<TextModel<O>>) -> Self {
        let mut ops = model.ops.clone();
        let continuation = Continuation::new(&mut ops, &model.decoder);
        Self { model, memory: Shared::new(Memory { ops, continuation }) }
    }

    /// A session that has read the same, and goes its own way from here.
    ///
    /// # Errors
    /// [`Error::Internal`] in the middle of a job's step.
    pub fn fork(&self) -> Result<Self> {
        let mut ops = self.model.ops.clone();
        let mut taken = self.memory.take()?;
        let continuation = match taken.parts() {
            Some((_, continuation)) => continuation.fork(&mut ops),
            None => Continuation::new(&mut ops, &self.model.decoder),
        };
        let memory = Shared::new(Memory { ops, continuation });
        Ok(Self { model: Rc::clone(&self.model), memory })
    }
}
