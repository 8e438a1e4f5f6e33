//! Queues of work whose items have to be done one after the other, several queues at a time.

use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

/// Several queues, each of what one owner has to do.
pub struct Queues<Owner, Item> {
    queues: Mutex<State<Owner, Item>>,
    changed: Condvar,
}

struct State<Owner, Item> {
    queues: Vec<Queue<Owner, Item>>,
    is_stopped: bool,
}

struct Queue<Owner, Item> {
    owner: Owner,
    /// The next one is the last.
    waiting: Vec<Item>,
    is_taken: bool,
}

impl<Owner: Copy, Item> Queues<Owner, Item> {
    /// Queues of their owners' items; the last item of each comes first.
    pub fn new(queues: impl IntoIterator<Item = (Owner, Vec<Item>)>) -> Self {
        let queue = |(owner, waiting)| Queue { owner, waiting, is_taken: false };
        let queues = queues.into_iter().map(queue).collect();
        Self { queues: Mutex::new(State { queues, is_stopped: false }), changed: Condvar::new() }
    }

    /// The place of a queue that nobody works on, the one with the most items, its owner and its next item; waits for
    /// one. None if nothing is left, or if the work was stopped.
    pub fn take(&self) -> Option<(usize, Owner, Item)> {
        let mut state = self.state();
        loop {
            if state.is_stopped || state.queues.iter().all(|queue| queue.waiting.is_empty()) {
                return None;
            }
            let free = state.queues.iter_mut().enumerate().filter(|(_, queue)| !queue.is_taken);
            let longest = free.max_by_key(|(_, queue)| queue.waiting.len());
            if let Some((place, queue)) = longest
                && let Some(item) = queue.waiting.pop()
            {
                queue.is_taken = true;
                return Some((place, queue.owner, item));
            }
            state = self.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// The queue's item is done. One that failed stops the work.
    pub fn give_back(&self, place: usize, is_good: bool) {
        let mut state = self.state();
        if let Some(queue) = state.queues.get_mut(place) {
            queue.is_taken = false;
        }
        state.is_stopped |= !is_good;
        self.changed.notify_all();
    }

    /// Nothing more is to be taken.
    pub fn stop(&self) {
        self.state().is_stopped = true;
        self.changed.notify_all();
    }

    fn state(&self) -> MutexGuard<'_, State<Owner, Item>> {
        self.queues.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::thread;

    #[test]
    fn items_of_one_queue_come_one_after_the_other_and_the_longest_queue_first() {
        let queues = Queues::new([("a", vec![2, 1]), ("b", vec![3, 2, 1])]);
        assert_eq!(queues.take(), Some((1, "b", 1)));
        assert_eq!(queues.take(), Some((0, "a", 1)));
        thread::scope(|scope| {
            // All are taken: whoever asks waits.
            let next = scope.spawn(|| queues.take());
            queues.give_back(1, true);
            assert_eq!(next.join().unwrap(), Some((1, "b", 2)));
        });
        queues.give_back(0, true);
        assert_eq!(queues.take(), Some((0, "a", 2)));
        queues.give_back(1, true);
        assert_eq!(queues.take(), Some((1, "b", 3)));
        assert_eq!(queues.take(), None);
    }

    #[test]
    fn a_failure_stops_the_work_also_of_those_who_wait() {
        let queues = Queues::new([((), vec![2, 1])]);
        assert_eq!(queues.take(), Some((0, (), 1)));
        thread::scope(|scope| {
            let next = scope.spawn(|| queues.take());
            queues.give_back(0, false);
            assert_eq!(next.join().unwrap(), None);
        });
        assert_eq!(queues.take(), None);
    }
}
