//! Threads that work on one op together: fork, parts that are fixed beforehand, join.
//!
//! Threads come from outside and stay by calling [`Pool::serve`]: native ones from [`Threads`], those of the web from
//! workers. Between two tasks a thread looks out for the next one for some microseconds, as ops follow one another
//! closely, then sleeps. A part goes to whoever takes it first, so a thread that the system keeps waiting holds nobody
//! up; what the parts are, and so what is computed, depends on neither.

#![allow(unsafe_code)]

#[cfg(not(target_arch = "wasm32"))]
mod native;

use std::any::Any;
use std::cell::UnsafeCell;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError, TryLockError};

#[cfg(not(target_arch = "wasm32"))]
pub use native::Threads;

/// Most threads that share a task, the caller's among them.
pub const MAX_THREADS: usize = 8;

/// How often a thread looks before it sleeps: 20 to 50 µs, of loads alone on the web and with pauses between natively.
const LOOKS: usize = if cfg!(target_arch = "wasm32") { 40_000 } else { 1500 };

/// A meeting place of threads. Without any, tasks are done by their caller.
#[derive(Debug, Default)]
pub struct Pool {
    /// Threads that serve. Held for the length of a task, and by a thread that comes in: never within a task.
    members: Mutex<usize>,
    /// `members`, to be read at any time.
    member_count: AtomicUsize,
    /// The [`Ticket`] of the task.
    ticket: AtomicU64,
    /// Written by who holds `members`, while no part is pending.
    task: UnsafeCell<Option<Task>>,
    /// Parts of the task that are not done.
    pending: AtomicUsize,
    closed: AtomicBool,
    sleepers: Sleepers,
    /// The caller of the task, while it waits for parts that others took.
    caller: Sleepers,
    /// What a member's part panicked with.
    panic: Mutex<Option<Box<dyn Any + Send>>>,
    /// Whether a thread is gone in the middle of a task.
    lost: AtomicBool,
}

// SAFETY: all fields but `task` are made for it. `task` is written only by the thread that holds `members`, before it
// stores the task's ticket, and read only by those who then took a part from that ticket. Such a part is pending until
// they are done with it, and nothing is written while one is.
unsafe impl Sync for Pool {}
// SAFETY: as above; the pointer in `task` is followed only while its task runs.
unsafe impl Send for Pool {}

/// Does one part of a task. Outlives the task, for which `Pool::run` waits.
type Task = *const Work<'static>;
type Work<'a> = dyn Fn(usize) + Sync + 'a;

/// Number of a task, its parts, and how many of them are taken: 32, 16 and 16 bits of one atomic word. The number
/// keeps who read the ticket of one task from taking a part of the next.
#[derive(Clone, Copy)]
struct Ticket {
    number: u32,
    parts: u16,
    taken: u16,
}

impl Ticket {
    fn unpack(word: u64) -> Self {
        Self { number: (word >> 32) as u32, parts: (word >> 16) as u16, taken: word as u16 }
    }

    fn pack(self) -> u64 {
        u64::from(self.number) << 32 | u64::from(self.parts) << 16 | u64::from(self.taken)
    }
}

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
        let alone = || (0..parts).for_each(work);
        let members = match self.members.try_lock() {
            Ok(members) => members,
            Err(TryLockError::Poisoned(poisoned)) => poisoned.into_inner(),
            // Another caller's task, or a thread that comes in just now.
            Err(TryLockError::WouldBlock) => return alone(),
        };
        let (Ok(ticket_parts), true) = (u16::try_from(parts), *members > 0 && parts > 1) else {
            drop(members);
            return alone();
        };
        let task = std::ptr::from_ref(work);
        // SAFETY: only the lifetime changes. `Join` below waits, even in a panic, until no part is pending.
        let task: Task = unsafe { std::mem::transmute(task) };
        // SAFETY: `members` is held and no part is pending, so no one else uses it; see `Sync`.
        unsafe { *self.task.get() = Some(task) };
        self.pending.store(parts, Ordering::SeqCst);
        let number = Ticket::unpack(self.ticket.load(Ordering::SeqCst)).number.wrapping_add(1);
        let ticket = Ticket { number, parts: ticket_parts, taken: 0 };
        self.ticket.store(ticket.pack(), Ordering::SeqCst);
        self.sleepers.wake();
        let join = Join(self);
        self.work();
        drop(join);
        drop(members);
        if let Some(panic) = lock(&self.panic).take() {
            resume_unwind(panic);
        }
    }

    /// Makes the calling thread one that shares tasks, until the pool is closed.
    pub fn serve(&self) {
        let mut members = lock(&self.members);
        *members += 1;
        self.member_count.store(*members, Ordering::Relaxed);
        drop(members);
        loop {
            let closed = self.sleepers.wait(|| {
                let ticket = Ticket::unpack(self.ticket.load(Ordering::SeqCst));
                let closed = self.closed.load(Ordering::SeqCst);
                (closed || ticket.taken < ticket.parts).then_some(closed)
            });
            if closed {
                return;
            }
            self.work();
        }
    }

    /// Does parts of the task until all are taken. A panic is kept for who waits for the task.
    fn work(&self) {
        while let Some(part) = self.take_part() {
            // SAFETY: a part was taken and is pending; see `Sync`.
            if let Some(task) = unsafe { *self.task.get() } {
                // SAFETY: `run` waits for the pending part before what the pointer leads to ends.
                let work = unsafe { &*task };
                if let Err(panic) = catch_unwind(AssertUnwindSafe(|| work(part))) {
                    lock(&self.panic).get_or_insert(panic);
                }
            }
            if self.pending.fetch_sub(1, Ordering::SeqCst) == 1 {
                self.caller.wake();
            }
        }
    }

    /// A part that nobody else takes.
    fn take_part(&self) -> Option<usize> {
        let taken = self.ticket.fetch_update(Ordering::SeqCst, Ordering::SeqCst, |word| {
            let ticket = Ticket::unpack(word);
            let next = || Ticket { taken: ticket.taken + 1, ..ticket }.pack();
            (ticket.taken < ticket.parts).then(next)
        });
        taken.ok().map(|word| Ticket::unpack(word).taken.into())
    }

    /// Sends every thread home.
    pub fn close(&self) {
        let mut members = lock(&self.members);
        *members = 0;
        self.member_count.store(0, Ordering::Relaxed);
        self.closed.store(true, Ordering::SeqCst);
        self.sleepers.wake();
    }

    /// Says that a thread ended in the middle of a task, as it does on the web when it traps. Whoever waits for
    /// the task then aborts instead of waiting for ever.
    pub fn lose_thread(&self) {
        self.lost.store(true, Ordering::SeqCst);
        self.caller.wake();
    }
}

/// Waits for the parts that others took when it is dropped.
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

#[cfg(all(test, not(target_arch = "wasm32")))]
mod tests;
