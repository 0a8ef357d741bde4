//! The suite every engine must pass: what callers can rely on, asked through the handle alone.
//!
//! Invariant: each case is one function, and it runs on SQLite, on PostgreSQL and in memory; a case that holds on one engine only
//! does not belong here. Cases that go round the program, by the address or the SQL of a store, need a database; a
//! store in memory has neither.

#![cfg(test)]

mod claims;
#[path = "../common/cluster.rs"]
mod cluster;
mod entity_leases;
mod entries;
mod exchange;
mod groups;
mod leases;
mod past;
mod proof;
mod readers;
#[path = "../common/requests.rs"]
mod requests;
mod rivals;
mod shelf;
mod writing;

use callboard_ledger::{AppendError, Ledger, Listing, Page, Receipt, Record, RecordScope, Request};

const EVERYTHING: Listing = Listing { kind: None, ended: true, limit: 0 };

fn after(after: u64) -> Page {
    Page { after, limit: usize::MAX, scope: RecordScope::All }
}

fn records(ledger: &Ledger) -> Vec<Record> {
    ledger.records(after(0)).unwrap()
}

fn keyed(mut request: Request, key: &str) -> Request {
    request.command.key = Some(key.to_owned());
    request
}

/// The refusal of a command that must not have been taken.
fn refusal(answer: Result<Receipt, AppendError>) -> callboard_kernel::RefusalCode {
    let Err(AppendError::Refused(refusal)) = answer else { panic!("{answer:?}") };
    refusal.code
}

/// Makes a module with a test of each case on one engine.
macro_rules! cases {
    ($module:ident on $shelf:ident: $($file:ident: $($case:ident),+;)+) => {
        mod $module {
            $($(#[test]
            fn $case() {
                crate::$file::$case(&crate::shelf::Shelf::$shelf());
            })+)+
        }
    };
}

/// Cases that every engine must pass.
macro_rules! on_every_engine {
    ($($all:tt)+) => {
        cases! { sqlite on files: $($all)+ }
        cases! { postgres on server: $($all)+ }
        cases! { memory on memory: $($all)+ }
    };
}

/// Cases that somebody takes part in who reaches the database of a store beside the program.
macro_rules! on_every_database {
    ($($all:tt)+) => {
        cases! { sqlite_database on files: $($all)+ }
        cases! { postgres_database on server: $($all)+ }
    };
}

on_every_engine! {
    writing:
        a_run_is_recorded_seen_and_survives_reopening,
        a_refusal_writes_nothing_and_says_why,
        a_key_survives_a_restart_and_gives_the_earlier_record,
        a_write_on_another_version_is_refused_and_names_it,
        one_bad_command_of_a_batch_does_not_fail_the_others,
        many_callers_get_gapless_numbers_and_a_clean_log,
        time_never_runs_backwards_though_a_clock_does,
        any_text_comes_back_as_it_was,
        a_caller_waits_when_too_many_commands_wait;
    groups:
        a_group_is_recorded_as_one_and_its_commands_see_each_other,
        a_refused_command_is_named_and_nothing_of_its_group_stands,
        a_repeated_group_is_answered_with_the_same_records,
        groups_of_one_batch_do_not_hurt_each_other,
        of_two_groups_that_race_one_is_recorded,
        a_group_has_a_largest_size,
        a_group_is_exported_whole_and_half_of_one_is_not_imported;
    leases:
        a_lease_has_one_holder_and_the_next_one_has_a_higher_epoch,
        a_lease_that_ended_is_taken_over_and_its_holder_is_fenced,
        of_many_who_want_a_lease_exactly_one_has_it,
        a_step_is_recorded_only_by_whoever_holds_the_lease,
        a_lease_has_a_name_a_holder_and_a_length;
    entity_leases:
        a_claim_grants_a_lease_and_only_its_holder_goes_on,
        a_stale_epoch_is_refused_and_names_the_holder,
        a_lease_ends_with_a_record,
        a_move_to_where_nobody_holds_a_task_ends_its_lease,
        a_lease_of_a_group_stands_or_falls_with_it,
        nobody_says_for_the_store_who_holds_a_lease,
        epochs_go_on_after_an_import;
    claims:
        the_most_urgent_and_then_the_oldest_is_claimed_and_each_once,
        a_claim_gets_what_fits_its_role_labels_and_repository,
        what_is_not_there_yet_is_not_claimed,
        no_two_tasks_under_way_hold_the_same_file,
        many_who_claim_at_once_get_different_tasks,
        what_is_offered_is_what_the_kernel_says_also_after_a_rebuild,
        a_claim_that_its_own_worker_forbids_claims_nothing,
        tasks_that_ended_are_counted_and_listed_also_after_a_rebuild;
    entries:
        a_conversation_is_recorded_and_is_no_fact_of_its_agent,
        a_conversation_is_copied_and_its_channel_cannot_be_forged;
    rivals:
        of_many_who_race_on_one_version_exactly_one_wins,
        keys_hold_across_handles_and_within_a_batch,
        one_of_two_hosts_wins,
        what_another_host_did_counts_at_once,
        nobody_who_follows_misses_a_record,
        first_starts_do_not_collide,
        a_held_store_is_waited_for_and_not_for_ever;
    past:
        the_past_can_be_asked_for,
        a_long_listing_is_read_in_pieces_and_shows_each_once,
        the_views_can_be_rebuilt_while_others_write,
        what_needs_somebody_comes_first_and_the_oldest_of_it_before_the_rest;
    proof:
        a_record_of_a_release_without_guards_is_taken_and_counted;
    exchange:
        what_was_exported_is_the_same_on_either_engine,
        a_changed_line_is_named_and_nothing_is_taken,
        a_record_of_a_newer_program_survives_unread_and_is_built_upon;
}

on_every_database! {
    entity_leases:
        a_lease_that_no_record_granted_is_found;
    leases:
        whoever_only_reads_sees_leases_and_steps_and_takes_none,
        the_database_gives_no_epoch_twice;
    past:
        the_views_can_be_dropped_and_rebuilt;
    proof:
        what_was_changed_is_found,
        a_tail_that_was_cut_is_found,
        every_commit_is_sealed_and_an_honest_write_covers_nothing_up,
        a_log_that_ends_before_its_seal_is_doubted_until_it_is_accepted,
        a_write_that_a_trigger_swallows_is_not_acknowledged,
        a_guard_of_the_log_is_asked_again_and_another_is_the_word_of_its_writer;
    readers:
        a_reader_sees_what_is_recorded_and_records_nothing,
        a_reader_makes_no_store,
        a_reader_tells_of_a_store_that_is_not_as_it_was_sealed;
}
