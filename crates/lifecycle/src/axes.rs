//! The two judged axes: health (is the runtime okay?) and delivery (did it produce what it promised?); and the phase of a
//! run, which says what it is doing while it has not ended.
//!
//! Invariant: these words answer one question each; whether the work finished is the lifecycle's answer alone.
//! Deliberately absent: how health is judged and delivery verified; the kernel and the supervisor do that.

use crate::vocabulary;

vocabulary! {
    /// Is the runtime okay? Judged from recorded facts when it is read, never stored.
    pub enum Health is "health" in "health" {
        /// Nothing is wrong with the runtime.
        Ok = "ok" ("Infra OK", Success, Check),
        /// At work, with recent activity.
        Running = "running" ("Working", Running, Activity),
        /// Alive, but silent for longer than the idle threshold.
        Idle = "idle" ("Idle", Warning, Pause),
        /// Alive and erroring, or ended and left resources behind.
        Degraded = "degraded" ("Degraded", Warning, Alert),
        /// Alive, and without progress for longer than the threshold of its kind.
        Stalled = "stalled" ("Stalled", Error, Hourglass),
        /// The recorded process is gone and no end was written.
        ProcessDead = "process_dead" ("Process dead", Error, XCircle),
        /// Nobody holds it: no process, no artifacts, no messages, or its owner has ended.
        Orphaned = "orphaned" ("Orphaned", Error, Unlink),
        /// Its host cannot be reached.
        Disconnected = "disconnected" ("Disconnected", Warning, Unlink),
        /// It waits for something that does not come by itself.
        Blocked = "blocked" ("Blocked", Warning, Blocked),
        /// Its time passed and nothing fired.
        Misfired = "misfired" ("Misfired", Error, Alert),
        /// Its time has come and it is about to fire.
        Due = "due" ("Due", Running, Clock),
        /// Alive, and held: stopped by a signal, or its control group is frozen.
        Paused = "paused" ("Paused", Warning, Pause),
        /// Cannot be told from what is recorded.
        Unknown = "unknown" ("Health unknown", Neutral, Question),
    }
    old names { "healthy" => Ok, "unresponsive" => Stalled, "stale" => ProcessDead, "zombie" => Degraded }
}

vocabulary! {
    /// Did it produce what it promised? The verdict of the artifact contract.
    pub enum Delivery is "delivery" in "delivery" {
        /// Everything that was required is there.
        Passed = "passed" ("Artifact contract passed", Success, Check),
        /// Something is there, and something is not.
        Partial = "partial" ("Artifacts partial", Warning, Half),
        /// Nothing of what was required is there.
        Missing = "missing" ("Artifacts missing", Error, XCircle),
        /// Something is there and it is wrong.
        Invalid = "invalid" ("Artifacts invalid", Warning, Alert),
        /// Nothing was promised.
        NotExpected = "not_expected" ("No artifacts expected", Neutral, Dash),
        /// Promised and not verified yet.
        Unknown = "unknown" ("Artifacts unverified", Neutral, Question),
    }
    old names { "warning" => Partial, "failed" => Missing, "skipped" => NotExpected }
}

vocabulary! {
    /// What is a run doing? Derived from records and looks when it is read, never stored; an ended run has none.
    pub enum PhaseName is "phase" in "phase" {
        /// Recorded; its supervisor is starting the command.
        Starting = "starting" ("Starting", Running, Activity),
        /// The command is at work.
        Working = "working" ("Working", Running, Activity),
        /// The command waits for a person or for its provider.
        Waiting = "waiting" ("Waiting", Warning, Clock),
        /// The command is held: stopped by a signal, or its control group is frozen.
        Paused = "paused" ("Paused", Warning, Pause),
        /// The supervisor is ending the command and its processes.
        Stopping = "stopping" ("Stopping", Warning, Stop),
        /// The command has exited; its output is still on the way to a reader.
        Draining = "draining" ("Draining", Running, Activity),
        /// The command has exited; what it promised is being verified.
        Checking = "checking" ("Checking", Running, Activity),
    }
}
