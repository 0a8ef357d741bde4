//! Whole rows as one parameter: an array of a table's row type in the server's binary format.
//!
//! Invariant: the fields of a row stand in the order of the table's columns. One array of rows costs the server much
//! less than an array for each column. Deliberately absent: reading; answers come as ordinary columns.

use std::error::Error;
use std::fmt::Debug;

use bytes::{BufMut, BytesMut};
use callboard_kernel::Moment;
use callboard_lifecycle::Words;
use tokio_postgres::types::{IsNull, Kind, ToSql, Type, to_sql_checked};

use super::text;
use crate::record::Record;
use crate::store::Stored;

/// What can be sent as a row.
pub(super) trait Row: Debug + Sync {
    const FIELDS: i32;
    fn put(&self, fields: &mut Fields<'_>);
}

/// Many rows as one parameter.
#[derive(Debug)]
pub(super) struct Rows<'a, R>(pub(super) &'a [R]);

/// The fields of one row, in the order of the columns.
pub(super) struct Fields<'a>(&'a mut BytesMut);

/// The view row of an entity.
#[derive(Debug)]
pub(super) struct ViewRow<'a> {
    pub(super) stored: &'a Stored,
    pub(super) facts: Written,
}

/// Are the facts part of the row?
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Written {
    /// No: those in the store stay. They can be large, and most changes do not touch them.
    Kept,
    /// Yes.
    Anew,
}

/// More than any moment in microseconds, so that the rank outweighs it.
const RANK_STEP: i64 = 1 << 60;
/// Ranks from here on need nobody.
const RANK_CALM: i64 = 2;

impl<R: Row> ToSql for Rows<'_, R> {
    fn to_sql(&self, as_type: &Type, out: &mut BytesMut) -> Result<IsNull, Box<dyn Error + Sync + Send>> {
        let Kind::Array(row_type) = as_type.kind() else { return Err("rows are sent as an array".into()) };
        let (dimensions, nulls, first) = (1, 0, 1);
        out.put_i32(dimensions);
        out.put_i32(nulls);
        out.put_u32(row_type.oid());
        out.put_i32(i32::try_from(self.0.len())?);
        out.put_i32(first);
        for row in self.0 {
            let start = out.len();
            out.put_i32(0);
            out.put_i32(R::FIELDS);
            row.put(&mut Fields(out));
            // The length is known when the row is written; a row too long for it is refused here.
            let length = i32::try_from(out.len() - start - 4)?;
            out[start..start + 4].copy_from_slice(&length.to_be_bytes());
        }
        Ok(IsNull::No)
    }

    fn accepts(as_type: &Type) -> bool {
        matches!(as_type.kind(), Kind::Array(_))
    }

    to_sql_checked!();
}

impl Fields<'_> {
    fn int(&mut self, value: Option<i64>) {
        self.field(&Type::INT8, value.map(i64::to_be_bytes).as_ref().map(<[u8; 8]>::as_slice));
    }

    fn number(&mut self, value: u64) {
        self.int(Some(value as i64));
    }

    fn moment(&mut self, value: Option<Moment>) {
        self.int(value.map(Moment::as_micros));
    }

    fn text(&mut self, value: Option<&str>) {
        self.field(&Type::TEXT, value.map(str::as_bytes));
    }

    /// What a caller made up, and the server may not like.
    fn free_text(&mut self, value: Option<&str>) {
        self.text(value.map(text::stored).as_deref());
    }

    fn uuid(&mut self, value: uuid::Uuid) {
        self.field(&Type::UUID, Some(value.as_bytes()));
    }

    fn bytes(&mut self, value: &[u8]) {
        self.field(&Type::BYTEA, Some(value));
    }

    fn field(&mut self, of_type: &Type, value: Option<&[u8]>) {
        self.0.put_u32(of_type.oid());
        match value {
            None => self.0.put_i32(-1),
            Some(bytes) => {
                self.0.put_i32(bytes.len() as i32);
                self.0.put_slice(bytes);
            }
        }
    }
}

impl Row for &Record {
    const FIELDS: i32 = 15;

    fn put(&self, fields: &mut Fields<'_>) {
        fields.number(self.seq);
        fields.uuid(self.entity);
        fields.number(self.version);
        fields.moment(Some(self.at));
        fields.text(Some(&self.kind));
        fields.text(Some(&self.event_type));
        fields.text(Some(&self.channel));
        fields.text(Some(&self.from_state));
        fields.text(Some(&self.via));
        fields.text(Some(&self.to_state));
        fields.text(Some(&self.actor_type));
        fields.free_text(Some(&self.actor_id));
        fields.free_text(self.key.as_deref());
        fields.text(Some(&self.body));
        fields.bytes(&self.hash.0);
    }
}

impl Row for ViewRow<'_> {
    const FIELDS: i32 = 15;

    fn put(&self, fields: &mut Fields<'_>) {
        let Stored { entity, state_seq, last_seq, head } = self.stored;
        fields.uuid(entity.state.id.uuid());
        fields.text(Some(entity.state.id.kind().name()));
        fields.text(Some(entity.state.lifecycle.map_or("", |state| state.name())));
        fields.number(entity.state.version);
        fields.moment(entity.created_at);
        fields.moment(entity.started_at);
        fields.moment(entity.entered_at);
        fields.moment(entity.ended_at);
        fields.moment(entity.last_activity_at);
        fields.number(*state_seq);
        fields.number(*last_seq);
        fields.int(urgency(self.stored));
        match self.facts {
            Written::Kept => {
                fields.text(None);
                fields.text(None);
            }
            Written::Anew => {
                fields.free_text(self.stored.parent());
                fields.text(Some(&self.stored.facts_text()));
            }
        }
        fields.bytes(&head.0);
    }
}

/// Smaller is more urgent: the rank, then how long it has stood there. What needs nobody has none.
pub(super) fn urgency(stored: &Stored) -> Option<i64> {
    let rank = stored.rank() as i64;
    let entered_at = stored.entity.entered_at.map_or(0, Moment::as_micros);
    (rank < RANK_CALM).then(|| rank * RANK_STEP + entered_at)
}
