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
    together(fold(items, |results: &mut Vec<R>, item| results.push(work(item))))
}

/// Puts parts together in memory that is taken once: a list that grows is copied, and there may be a hundred thousand.
pub fn together<T>(parts: Vec<Vec<T>>) -> Vec<T> {
    let mut all = Vec::with_capacity(parts.iter().map(Vec::len).sum());
    parts.into_iter().for_each(|part| all.extend(part));
    all
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

/// Orders items by a key; those of one key may stand in any order.
pub fn sort_by_key<T: Send, K: Ord>(items: &mut [T], key: impl Fn(&T) -> K + Sync) {
    if items.len() > BATCH {
        let part = items.len().div_ceil(threads());
        thread::scope(|scope| {
            for part in items.chunks_mut(part) {
                scope.spawn(|| part.sort_unstable_by_key(&key));
            }
        });
    }
    // Parts that are ordered are only merged.
    items.sort_by_key(key);
}

#[cfg(test)]
mod tests {
    #[test]
    fn what_is_sorted_in_parts_is_sorted_as_a_whole() {
        for count in [0, 1, 500, 513, 10_007] {
            let mut items: Vec<u64> =
                (0..count).map(|n: u64| n.wrapping_mul(0x9E37_79B9_7F4A_7C15)).collect();
            let mut expected = items.clone();
            expected.sort_by_key(|n| n % 1000);
            super::sort_by_key(&mut items, |n| n % 1000);
            assert!(items.is_sorted_by_key(|n| n % 1000), "{count}");
            items.sort_unstable();
            expected.sort_unstable();
            assert_eq!(items, expected);
        }
    }

    #[test]
    fn results_keep_the_order_of_the_items() {
        let items: Vec<usize> = (0..1000).collect();
        assert_eq!(super::map(&items, |n| n * 2), items.iter().map(|n| n * 2).collect::<Vec<_>>());
    }
}
