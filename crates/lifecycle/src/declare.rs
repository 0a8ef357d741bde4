//! `machine!`: one declaration from which a machine's types, tables and proofs are derived.
//!
//! Invariant: what the macro accepts is proved before it compiles.
//! Deliberately absent: behaviour. A machine says what may happen, never what to do about it.

/// Declares one machine.
///
/// ```text
/// machine! {
///     /// What an entity of this kind is.
///     Session "ses" as "run" with "run" reasons;
///     nature Ending;
///     states SessionState is "session state" in "session" { /// Meaning. Pending = "pending" ("Pending", Neutral, Clock), … }
///     triggers SessionTrigger is "session trigger" { /// Meaning. Spawned = "spawned", … }
///     start [Pending];
///     ends [Completed, Failed];
///     rows {
///         Pending => Running on [Spawned] by [Supervisor];
///         Running => Failed on [ExitedDirty] by [Supervisor] because ["run.failed.*"] shown by [ToolResult];
///         Running => Failed on [EndedByHand] by [Operator] when [NoLivingSupervisor] because ["run.failed.*"];
///     }
///     reasons { "run.failed.exit_nonzero": "The command exited with a non-zero code."; }
/// }
/// ```
#[macro_export]
macro_rules! machine {
    (
        $(#[doc = $about:literal])+
        $Kind:ident $prefix:literal as $noun:literal with $entity:literal reasons;
        nature $Nature:ident;
        $( health [$($Health:ident),* $(,)?] $( and [$($HealthAlso:ident),* $(,)?] )?; )?
        $( delivery [$($Delivery:ident),* $(,)?]; )?

        states $State:ident is $state_what:literal in $taxonomy:literal { $($states:tt)* }
        $( old names { $( $old:literal => $Now:ident ),* $(,)? } )?
        triggers $Trigger:ident is $trigger_what:literal { $($triggers:tt)* }

        start [$($Start:ident),+ $(,)?] $( by [$($Maker:ident),+ $(,)?] )?;
        ends [$($End:ident),* $(,)?];
        $( settled [$($Settled:ident),* $(,)?]; )?
        $( blocked [$($Blocked:ident),* $(,)?]; )?
        $( undecided [$($Undecided:ident),* $(,)?]; )?

        rows {
            $( $From:ident => $To:ident on [$($On:ident),* $(,)?] by [$($By:ident),* $(,)?]
               $( when [$($When:ident),+ $(,)?] )? $( because [$($why:literal),+ $(,)?] )? $( shown by [$($Shown:ident),+ $(,)?] )? ; )+
        }
        $( desk {
            $( $DeskFrom:ident => $DeskTo:ident on [$($DeskOn:ident),* $(,)?] by [$($DeskBy:ident),* $(,)?]
               $( when [$($DeskWhen:ident),+ $(,)?] )? $( because [$($desk_why:literal),+ $(,)?] )? $( shown by [$($DeskShown:ident),+ $(,)?] )? ; )+
        } )?
        $( requires { $( $Needy:ident: $($fact:literal),+ $(,)?; )+ } )?

        reasons {
            $( $code:literal $( was [$($was:literal),+ $(,)?] )? $( by $choice:ident )? : $meaning:literal; )+
        }
        $( vocabularies { $( $vocabulary:literal: $Words:ty ),+ $(,)? } )?
    ) => {
        $crate::vocabulary! {
            $(#[doc = $about])+
            pub enum $State is $state_what in $taxonomy { $($states)* }
            $( old names { $( $old => $Now ),* } )?
        }

        $crate::words! {
            #[doc = concat!("What can cause a transition of a ", $noun, ".")]
            pub enum $Trigger is $trigger_what { $($triggers)* }
        }

        #[doc = concat!("The table of the ", $noun, ".")]
        pub static MACHINE: $crate::Machine = $crate::Machine {
            kind: $crate::Kind::$Kind,
            meaning: concat!($($about),+).trim_ascii(),
            prefix: $prefix,
            noun: $noun,
            entity: $entity,
            nature: $crate::Nature::$Nature,
            states: &STATES,
            old_states: &[$($( ($old, $State::$Now as u8) ),*)?],
            triggers: <$Trigger as $crate::Words>::WORDS,
            start: $crate::declare_support::set(&[$( $State::$Start as u8 ),+]),
            makers: &[$($( $crate::ActorClass::$Maker ),+)?],
            ends: ENDS,
            settled: $crate::declare_support::settle(
                ENDS,
                $crate::declare_support::set(&[$($( $State::$Settled as u8 ),*)?]),
            ),
            rows: &[
                $( $crate::Row {
                    from: $State::$From as u8,
                    to: $State::$To as u8,
                    triggers: 0 $( | 1 << $Trigger::$On as u32 )*,
                    actors: $crate::ActorSet::of(&[$( $crate::ActorClass::$By ),*]),
                    because: &[$($( $why ),+)?],
                    evidence: $crate::EvidenceSet::of(&[$($( $crate::Evidence::$Shown ),+)?]),
                    guards: &[$($( $crate::Guard::$When ),+)?],
                    desk: false,
                }, )+
                $($( $crate::Row {
                    from: $State::$DeskFrom as u8,
                    to: $State::$DeskTo as u8,
                    triggers: 0 $( | 1 << $Trigger::$DeskOn as u32 )*,
                    actors: $crate::ActorSet::of(&[$( $crate::ActorClass::$DeskBy ),*]),
                    because: &[$($( $desk_why ),+)?],
                    evidence: $crate::EvidenceSet::of(&[$($( $crate::Evidence::$DeskShown ),+)?]),
                    guards: &[$($( $crate::Guard::$DeskWhen ),+)?],
                    desk: true,
                }, )+)?
            ],
            requires: &[$($( $crate::Requirement {
                state: $State::$Needy as u8,
                facts: &[$($fact),+],
            } ),+)?],
            health: &[$($( $crate::Health::$Health ),*)?],
            health_also: &[$($($( $crate::Health::$HealthAlso ),*)?)?],
            delivery: &[$($( $crate::Delivery::$Delivery ),*)?],
            reasons: &[
                $( $crate::ReasonDef {
                    code: $code,
                    meaning: $meaning,
                    old_codes: &[$($($was),+)?],
                    scope: $crate::Scope::Of($crate::Kind::$Kind),
                    chosen: 0 $( + $crate::machine!(@one $choice) )? > 0,
                } ),+
            ],
            vocabularies: &[$($( ($vocabulary, <$Words as $crate::Words>::WORDS) ),+)?],
        };

        const ENDS: $crate::StateSet = $crate::declare_support::set(&[$( $State::$End as u8 ),*]);
        const BLOCKED: $crate::StateSet =
            $crate::declare_support::set(&[$($( $State::$Blocked as u8 ),*)?]);
        const UNDECIDED: $crate::StateSet =
            $crate::declare_support::set(&[$($( $State::$Undecided as u8 ),*)?]);
        const STATES: [$crate::StateDef; <$State as $crate::Words>::WORDS.len()] =
            $crate::declare_support::states::<$State, _>(BLOCKED, UNDECIDED);

        const _: () = $crate::declare_support::prove(&MACHINE);

        impl From<$State> for $crate::Lifecycle {
            fn from(state: $State) -> Self {
                Self::new($crate::Kind::$Kind, state as u8)
            }
        }

        impl From<$Trigger> for $crate::Trigger {
            fn from(trigger: $Trigger) -> Self {
                Self::new($crate::Kind::$Kind, trigger as u8)
            }
        }

        impl $State {
            /// May this state be left for `target`?
            pub const fn can_transition_to(&self, target: &Self) -> bool {
                MACHINE.can_transition(*self as u8, *target as u8)
            }

            /// Goes to `target` if the table allows it.
            pub fn transition_to(&self, target: Self) -> Result<Self, $crate::IllegalTransition> {
                if self.can_transition_to(&target) {
                    return Ok(target);
                }
                let allowed = MACHINE.targets(*self as u8);
                Err($crate::IllegalTransition {
                    from: MACHINE.state_name(*self as u8),
                    to: MACHINE.state_name(target as u8),
                    allowed: allowed.into_iter().map(|state| MACHINE.state_name(state)).collect(),
                })
            }

            /// Where the trigger leads from here, if it leads to one place.
            pub const fn after(self, trigger: $Trigger) -> Option<Self> {
                match MACHINE.after(self as u8, trigger as u8) {
                    Some(to) => Some(<Self as $crate::Words>::ALL[to as usize]),
                    None => None,
                }
            }

            /// Does nothing happen any more unless somebody starts it anew?
            pub const fn is_terminal(&self) -> bool {
                MACHINE.is_terminal(*self as u8)
            }
        }
    };
    (@one choice) => { 1 };
}
