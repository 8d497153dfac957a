//! Step 3, repo: work over many files on all cores.
//!
//! In: items and a function. Out: the results in the order of the items. Knows nothing of files.

use std::{
    sync::{
        Mutex, OnceLock, PoisonError,
        atomic::{AtomicUsize, Ordering},
    },
    thread,
};

/// The most items that one thread takes at a time: neighbours are cheaper together, and the last ones still spread
/// over all threads.
const BATCH: usize = 512;
/// Fewer items than this are not worth a thread.
const FEW: usize = 32;

/// Runs `work` on each core at the same time.
pub fn on_all_cores(work: impl Fn() + Sync) {
    thread::scope(|scope| {
        for _ in 0..threads() {
            scope.spawn(&work);
        }
    });
}

/// How many cores there are, asked once: the answer is in a dozen files of the system.
fn threads() -> usize {
    static THREADS: OnceLock<usize> = OnceLock::new();
    *THREADS.get_or_init(|| thread::available_parallelism().map_or(2, usize::from).clamp(1, 16))
}

/// Applies `work` to each item; the results stand in the order of the items.
pub fn map<T: Sync, R: Send>(items: &[T], work: impl Fn(&T) -> R + Sync) -> Vec<R> {
    fold(items, |results: &mut Vec<R>, item| results.push(work(item))).into_iter().flatten().collect()
}

/// Gathers items, neighbours into one result; the results stand in the order of the items. What is gathered at once is
/// not kept item by item.
pub fn fold<T: Sync, R: Default + Send>(items: &[T], work: impl Fn(&mut R, &T) + Sync) -> Vec<R> {
    let gather = |items: &[T]| {
        let mut result = R::default();
        items.iter().for_each(|item| work(&mut result, item));
        result
    };
    let threads = threads();
    if items.len() <= FEW || threads == 1 {
        return vec![gather(items)];
    }
    let batch = (items.len() / threads / 16).clamp(1, BATCH);
    let next = AtomicUsize::new(0);
    let done = Mutex::new(Vec::new());
    thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| {
                loop {
                    let start = next.fetch_add(batch, Ordering::Relaxed);
                    let Some(rest) = items.get(start..).filter(|rest| !rest.is_empty()) else { break };
                    let result = gather(rest.get(..batch).unwrap_or(rest));
                    done.lock().unwrap_or_else(PoisonError::into_inner).push((start, result));
                }
            });
        }
    });
    let mut done = done.into_inner().unwrap_or_else(PoisonError::into_inner);
    done.sort_unstable_by_key(|(start, _)| *start);
    done.into_iter().map(|(_, result)| result).collect()
}

#[cfg(test)]
mod tests {
    #[test]
    fn results_keep_the_order_of_the_items() {
        let items: Vec<usize> = (0..1000).collect();
        assert_eq!(super::map(&items, |n| n * 2), items.iter().map(|n| n * 2).collect::<Vec<_>>());
    }
}
