//! Threads that work on one op together: fork, parts that are fixed beforehand, join.
//!
//! Threads come from outside and stay by calling [`Pool::serve`]: native ones from [`Threads`], those of the web from
//! workers. Between two tasks a thread looks out for the next one for some microseconds, as ops follow one another
//! closely, then sleeps. What is computed never depends on how many threads there are.

#![allow(unsafe_code)]

mod native;

use std::any::Any;
use std::cell::UnsafeCell;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError, TryLockError};

pub use native::Threads;

/// Most threads that share a task, the caller's among them.
pub const MAX_THREADS: usize = 8;

/// How often a thread looks before it sleeps: 20 to 50 µs, of loads alone on the web and with pauses between natively.
const LOOKS: usize = if cfg!(target_arch = "wasm32") { 40_000 } else { 1500 };

/// The lower bits of [`Pool::call`] hold how many threads the task is for.
const THREADS_BITS: u32 = 8;
const THREADS_MASK: u64 = (1 << THREADS_BITS) - 1;
/// The call that sends every thread home.
const CLOSED: u64 = u64::MAX;

/// A meeting place of threads. Without any, tasks are done by their caller.
#[derive(Debug, Default)]
pub struct Pool {
    /// Threads that serve. Held for the length of a task, and by a thread that comes in: never within a task.
    members: Mutex<usize>,
    /// `members`, to be read at any time.
    member_count: AtomicUsize,
    /// Number of the task and the threads it is for. A new value is what members look out for.
    call: AtomicU64,
    /// Written by who holds `members`, while no member reads it.
    task: UnsafeCell<Option<Task>>,
    /// Members that have yet to finish the task.
    pending: AtomicUsize,
    sleepers: Sleepers,
    /// The caller of the task, once it has slept.
    caller: Sleepers,
    /// What a member's part panicked with.
    panic: Mutex<Option<Box<dyn Any + Send>>>,
    /// Whether a thread is gone in the middle of a task.
    lost: AtomicBool,
}

// SAFETY: all fields but `task` are made for it. `task` is written only by the thread that holds `members` while
// `pending` is 0, and read only by members that `call` names, before they count `pending` down: `call` is stored after
// the write and loaded before the read, `pending` is counted down after the read and seen as 0 before the next write.
unsafe impl Sync for Pool {}
// SAFETY: as above; the pointer in `task` is followed only while its task runs.
unsafe impl Send for Pool {}

#[derive(Clone, Copy, Debug)]
struct Task {
    /// Does one part; outlives the task, for which `Pool::run` waits.
    work: *const Work<'static>,
    parts: usize,
}

type Work<'a> = dyn Fn(usize) + Sync + 'a;

impl Pool {
    /// A pool that nobody serves yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// Threads that would share a task now, the caller's among them.
    pub fn threads(&self) -> usize {
        (self.member_count.load(Ordering::Relaxed) + 1).min(MAX_THREADS)
    }

    /// Calls `work` with every element of `parts`, on several threads at once, and returns when all are done.
    /// If one panics, so does this.
    pub fn for_each<P: Send>(&self, parts: &mut [P], work: impl Fn(&mut P) + Sync) {
        let first = Elements(parts.as_mut_ptr());
        self.run(parts.len(), &|part| {
            // SAFETY: `run` calls this once with each index of `parts`, so no two calls have one element, and it
            // returns before the borrow of `parts` ends. `P` may be sent to another thread.
            work(unsafe { &mut *first.at(part) });
        });
    }

    /// Calls `work` with each number below `parts`, once.
    fn run(&self, parts: usize, work: &Work<'_>) {
        let members = match self.members.try_lock() {
            Ok(members) => members,
            Err(TryLockError::Poisoned(poisoned)) => poisoned.into_inner(),
            // Another caller's task, or a thread that comes in just now.
            Err(TryLockError::WouldBlock) => return (0..parts).for_each(work),
        };
        let threads = (*members + 1).min(parts).min(MAX_THREADS);
        if threads < 2 {
            drop(members);
            return (0..parts).for_each(work);
        }
        let work_pointer = std::ptr::from_ref(work);
        // SAFETY: only the lifetime changes. `Join` below waits, even in a panic, until no member follows the pointer.
        let work_pointer: *const Work<'static> = unsafe { std::mem::transmute(work_pointer) };
        // SAFETY: `members` is held and `pending` is 0, so no one else has it; see `Sync`.
        unsafe { *self.task.get() = Some(Task { work: work_pointer, parts }) };
        self.pending.store(threads - 1, Ordering::SeqCst);
        let number = (self.call.load(Ordering::SeqCst) >> THREADS_BITS) + 1;
        self.call.store(number << THREADS_BITS | threads as u64, Ordering::SeqCst);
        self.sleepers.wake();
        let join = Join(self);
        (0..parts).step_by(threads).for_each(work);
        drop(join);
        drop(members);
        if let Some(panic) = lock(&self.panic).take() {
            resume_unwind(panic);
        }
    }

    /// Makes the calling thread one that shares tasks, until the pool is closed.
    pub fn serve(&self) {
        let (index, mut seen) = {
            let mut members = lock(&self.members);
            *members += 1;
            self.member_count.store(*members, Ordering::Relaxed);
            (*members, self.call.load(Ordering::SeqCst))
        };
        loop {
            seen = self
                .sleepers
                .wait(|| Some(self.call.load(Ordering::SeqCst)).filter(|&call| call != seen));
            if seen == CLOSED {
                return;
            }
            let threads = (seen & THREADS_MASK) as usize;
            if index < threads {
                self.share(index, threads);
            }
        }
    }

    /// Does a member's parts of the task that it was called for.
    fn share(&self, index: usize, threads: usize) {
        // SAFETY: `call` named this member, which has not counted `pending` down; see `Sync`.
        if let Some(Task { work, parts }) = unsafe { *self.task.get() } {
            // SAFETY: the caller waits for this member before what the pointer leads to ends.
            let work = unsafe { &*work };
            let outcome = catch_unwind(AssertUnwindSafe(|| {
                (index..parts).step_by(threads).for_each(work);
            }));
            if let Err(panic) = outcome {
                lock(&self.panic).get_or_insert(panic);
            }
        }
        if self.pending.fetch_sub(1, Ordering::SeqCst) == 1 {
            self.caller.wake();
        }
    }

    /// Sends every thread home.
    pub fn close(&self) {
        let mut members = lock(&self.members);
        *members = 0;
        self.member_count.store(0, Ordering::Relaxed);
        self.call.store(CLOSED, Ordering::SeqCst);
        self.sleepers.wake();
    }

    /// Says that a thread ended in the middle of a task, as it does on the web when it traps. Whoever waits for
    /// the task then aborts instead of waiting for ever.
    pub fn lose_thread(&self) {
        self.lost.store(true, Ordering::SeqCst);
        self.caller.wake();
    }
}

/// Waits for the members when it is dropped.
struct Join<'a>(&'a Pool);

impl Drop for Join<'_> {
    fn drop(&mut self) {
        let pool = self.0;
        let lost = pool.caller.wait(|| {
            let lost = pool.lost.load(Ordering::SeqCst);
            (lost || pool.pending.load(Ordering::SeqCst) == 0).then_some(lost)
        });
        if lost {
            std::process::abort();
        }
        if std::thread::panicking() {
            // The caller's own panic goes on; a member's beside it is of no use.
            lock(&pool.panic).take();
        }
    }
}

/// Threads that wait for something.
#[derive(Debug, Default)]
struct Sleepers {
    count: AtomicUsize,
    lock: Mutex<()>,
    changed: Condvar,
}

impl Sleepers {
    /// Returns what `look` finds: for some microseconds it looks without pause, then whenever it is woken.
    fn wait<T>(&self, look: impl Fn() -> Option<T>) -> T {
        for _ in 0..LOOKS {
            if let Some(found) = look() {
                return found;
            }
            std::hint::spin_loop();
        }
        let mut guard = lock(&self.lock);
        // Counted before it looks again: who changes something either sees the count or is seen.
        self.count.fetch_add(1, Ordering::SeqCst);
        let found = loop {
            match look() {
                Some(found) => break found,
                None => guard = self.changed.wait(guard).unwrap_or_else(PoisonError::into_inner),
            }
        };
        self.count.fetch_sub(1, Ordering::SeqCst);
        found
    }

    /// Wakes all of them; called after the change that they wait for.
    fn wake(&self) {
        if self.count.load(Ordering::SeqCst) > 0 {
            drop(lock(&self.lock));
            self.changed.notify_all();
        }
    }
}

/// No value is left half-changed by a panic, so a poisoned lock is as good as another.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The first of some elements that are handed out by index.
struct Elements<P>(*mut P);

impl<P> Elements<P> {
    fn at(&self, index: usize) -> *mut P {
        self.0.wrapping_add(index)
    }
}

// SAFETY: it only hands out pointers; who follows them answers for it, in `Pool::for_each`.
unsafe impl<P: Send> Sync for Elements<P> {}

#[cfg(test)]
mod tests;
