//! The pool on threads of this machine.

use super::{MAX_THREADS, Pool, Threads};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

/// Every element is visited once, whatever the numbers of threads and parts are.
#[test]
fn every_part_is_done_once() {
    for threads in 1..=4 {
        let crew = Threads::start(threads);
        let pool = crew.pool();
        assert_eq!(pool.threads(), threads);
        for parts in (0..2 * MAX_THREADS).chain([100]) {
            let mut counts = vec![0; parts];
            for round in 1..=20 {
                pool.for_each(&mut counts, |count| *count += 1);
                assert!(
                    counts.iter().all(|&count| count == round),
                    "{threads} threads, {parts} parts"
                );
            }
        }
    }
}

#[test]
fn parts_run_at_the_same_time_on_threads_of_their_own() {
    let crew = Threads::start(3);
    let arrived = AtomicUsize::new(0);
    let mut threads = [None; 3];
    // Each part waits for the two others: on fewer threads this would never end.
    crew.pool().for_each(&mut threads, |thread| {
        arrived.fetch_add(1, Ordering::SeqCst);
        while arrived.load(Ordering::SeqCst) < 3 {
            std::thread::yield_now();
        }
        *thread = Some(std::thread::current().id());
    });
    let [a, b, c] = threads;
    assert!(a != b && b != c && a != c && threads.iter().all(Option::is_some));
}

#[test]
fn tasks_follow_one_another_whether_the_threads_sleep_or_not() {
    let crew = Threads::start(4);
    let pool = crew.pool();
    let mut sums = [0u64; 4];
    for round in 0..3000u64 {
        pool.for_each(&mut sums, |sum| *sum += round);
        if round % 500 == 0 {
            // Longer than they look out for the next task.
            std::thread::sleep(Duration::from_millis(5));
        }
    }
    assert_eq!(sums, [2999 * 3000 / 2; 4]);
}

#[test]
fn a_panic_of_any_part_reaches_the_caller_and_the_pool_goes_on() {
    let crew = Threads::start(3);
    let pool = crew.pool();
    for bad in 0..6 {
        let mut parts: Vec<usize> = (0..6).collect();
        let outcome = catch_unwind(AssertUnwindSafe(|| {
            pool.for_each(&mut parts, |part| {
                assert_ne!(*part, bad, "part {bad}");
            });
        }));
        let panic = outcome.unwrap_err();
        let text = panic.downcast_ref::<String>().unwrap();
        assert!(text.contains(&format!("part {bad}")), "{text}");
        let mut ones = [0; 6];
        pool.for_each(&mut ones, |one| *one += 1);
        assert_eq!(ones, [1; 6]);
    }
}

#[test]
fn callers_at_the_same_time_and_tasks_within_tasks_are_done_by_their_callers() {
    let crew = Threads::start(2);
    let pool = crew.pool();
    let mut sums = [[0u32; 4]; 4];
    std::thread::scope(|scope| {
        for sums in &mut sums {
            let pool = &pool;
            scope.spawn(move || {
                for _ in 0..500 {
                    pool.for_each(sums, |sum| {
                        let mut inner = [0u32; 2];
                        pool.for_each(&mut inner, |one| *one = 1);
                        *sum += inner.iter().sum::<u32>();
                    });
                }
            });
        }
    });
    assert_eq!(sums, [[1000; 4]; 4]);
}

#[test]
fn without_threads_the_caller_does_everything() {
    let pool = Pool::new();
    assert_eq!(pool.threads(), 1);
    let mut parts = [1, 2, 3];
    pool.for_each(&mut parts, |part| *part *= 2);
    assert_eq!(parts, [2, 4, 6]);
}

#[test]
fn a_closed_pool_sends_its_threads_home() {
    let crew = Threads::start(3);
    let pool = crew.pool();
    drop(crew);
    assert_eq!(pool.threads(), 1);
    let mut parts = [0; 3];
    pool.for_each(&mut parts, |part| *part += 1);
    assert_eq!(parts, [1; 3]);
}
