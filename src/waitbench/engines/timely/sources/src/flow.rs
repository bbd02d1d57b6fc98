//! The dataflow: all that knows the interface of timely.

use std::cell::RefCell;
use std::io::{stdout, BufWriter, Write};
use std::rc::Rc;

use timely::dataflow::channels::pact::{Exchange, Pipeline};
use timely::dataflow::operators::generic::operator::source;
use timely::dataflow::operators::vec::Map;
use timely::dataflow::operators::{Concatenate, Operator};
use timely::dataflow::{Scope, StreamVec};
use timely::worker::Worker;

use crate::arguments::Plan;
use crate::holding::{Alarms, Hold, Windows};
use crate::items::{heavy, of_text, to_text, Item};
use crate::probe::{Counts, Probe};
use crate::reading::monotonic_ns;
use crate::schedule::{Next, Reader};

/// Timestamps are those of the monotonic clock, in ns, when an item was read.
type Time = u64;
type Counting = Rc<RefCell<Counts>>;

/// Builds one worker's part of the dataflow, and works until it has ended.
pub fn carry(worker: &mut Worker, plan: &Plan, probe: &Probe) -> Counts {
    let counting = Counting::default();
    let readers = plan.readers(worker.index(), worker.peers());
    worker.dataflow::<Time, _, _>(|scope| {
        let mut streams = Vec::new();
        for reader in readers {
            streams.push(read(scope, reader, probe.clone(), counting.clone()));
        }
        let mut items = scope.concatenate(streams);
        let mut held = false;
        items = match plan.hold() {
            Some(Hold::Window(length)) => {
                held = true;
                windowed(scope, items, Windows::new(length), plan.clone())
            }
            Some(Hold::Alarm(after)) => alarmed(scope, items, Alarms::new(after), plan.clone()),
            None => items,
        };
        if let Some(heaviness) = plan.heaviness() {
            items = items.map(move |item| heavy(item, heaviness));
        }
        write(items.map(to_text), held, counting.clone());
    });
    // Parks until something is due.
    while worker.step_or_park(None) {}
    counting.take()
}

/// A source, which is scheduled when its next item is due, and gives all that are.
fn read<'a>(
    scope: Scope<'a, Time>,
    reader: Reader,
    probe: Probe,
    counting: Counting,
) -> StreamVec<'a, Time, Item> {
    source(scope, "Source", move |capability, info| {
        let activator = scope.activator_for(info.address);
        let mut open = Some((capability, reader));
        move |output| {
            let Some((capability, reader)) = open.as_mut() else {
                return;
            };
            if !reader.is_begun() {
                probe.first_poll();
            }
            capability.downgrade(&monotonic_ns());
            let mut session = output.session(capability);
            loop {
                match reader.next() {
                    Next::Item(item) => {
                        counting.borrow_mut().read(&item);
                        session.give(item);
                    }
                    Next::Wait(time) => return activator.activate_after(time),
                    Next::End => break,
                }
            }
            drop(session);
            open = None;
            probe.end_of_input();
        }
    })
}

/// Holds the items of each key until their window closes, or the input ends.
fn windowed<'a>(
    scope: Scope<'a, Time>,
    items: StreamVec<'a, Time, Item>,
    mut windows: Windows,
    plan: Plan,
) -> StreamVec<'a, Time, Item> {
    let key = plan.clone();
    let by_key = Exchange::new(move |item: &Item| key.key(item.0));
    items.unary_frontier(by_key, "Window", move |capability, info| {
        let activator = scope.activator_for(info.address);
        // As a window may hold anything, nothing behind it may take its time for over.
        let mut open = Some(capability);
        move |(input, frontier), output| {
            let Some(capability) = open.as_mut() else {
                return;
            };
            if windows.closes_in().is_zero() {
                capability.downgrade(&monotonic_ns());
                output.session(capability).give_iterator(windows.close().into_iter());
            }
            input.for_each(|_time, data| {
                if windows.is_empty() {
                    activator.activate_after(windows.closes_in());
                }
                for item in data.drain(..) {
                    windows.got(plan.key(item.0), item);
                }
            });
            if frontier.is_empty() {
                output.session(capability).give_iterator(windows.close().into_iter());
                open = None;
            }
        }
    })
}

/// Passes items on; each key asks once, to be woken.
fn alarmed<'a>(
    scope: Scope<'a, Time>,
    items: StreamVec<'a, Time, Item>,
    mut alarms: Alarms,
    plan: Plan,
) -> StreamVec<'a, Time, Item> {
    let key = plan.clone();
    let by_key = Exchange::new(move |item: &Item| key.key(item.0));
    items.unary(by_key, "Alarm", move |_, info| {
        let activator = scope.activator_for(info.address);
        move |input, output| {
            alarms.woken();
            input.for_each(|time, data| {
                for item in data.iter() {
                    if let Some(after) = alarms.asks(plan.key(item.0)) {
                        activator.activate_after(after);
                    }
                }
                output.session(&time).give_container(data);
            });
        }
    })
}

/// Writes one line an item, as a block of many where several come, and counts it.
fn write(texts: StreamVec<'_, Time, String>, held: bool, counting: Counting) {
    let mut out = BufWriter::new(stdout());
    texts.sink(Pipeline, "Output", move |(input, _frontier)| {
        input.for_each(|_time, data| {
            let mut counts = counting.borrow_mut();
            for text in data.drain(..) {
                writeln!(out, "{text}").expect("the output can be written to");
                let (ident, due_ns) = of_text(&text);
                if held {
                    counts.written_on_time(ident);
                } else {
                    counts.written(ident, due_ns);
                }
            }
        });
    });
}
