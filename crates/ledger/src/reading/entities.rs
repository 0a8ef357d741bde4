//! One value for each entity on the way through the log.
//!
//! Invariant: values lie in the order in which their entities first appear, so entities that live at the same time
//! lie beside each other in memory. Deliberately absent: taking one out.

use std::collections::HashMap;
use std::collections::hash_map::{Entry, RandomState};
use std::hash::{BuildHasher, Hasher};

use uuid::Uuid;

/// Values by entity.
pub(crate) struct Entities<T> {
    places: HashMap<u128, u32, Mix>,
    all: Vec<(Uuid, T)>,
}

impl<T> Entities<T> {
    pub(crate) fn new() -> Self {
        Self { places: HashMap::with_hasher(Mix::new()), all: Vec::new() }
    }

    /// The value of an entity; it is made if there is none.
    pub(crate) fn at(&mut self, id: Uuid, make: impl FnOnce() -> T) -> &mut T {
        let place = match self.places.entry(id.as_u128()) {
            Entry::Occupied(known) => *known.get() as usize,
            Entry::Vacant(free) => {
                free.insert(self.all.len() as u32);
                self.all.push((id, make()));
                self.all.len() - 1
            }
        };
        &mut self.all[place].1
    }

    /// The value of an entity, if there is one.
    pub(crate) fn get_mut(&mut self, id: Uuid) -> Option<&mut T> {
        let place = *self.places.get(&id.as_u128())?;
        self.all.get_mut(place as usize).map(|(_, value)| value)
    }

    /// All of them, in the order in which they came, borrowed.
    pub(crate) fn iter(&self) -> impl Iterator<Item = &(Uuid, T)> {
        self.all.iter()
    }

    /// All of them, in the order in which they came.
    pub(crate) fn into_all(self) -> Vec<(Uuid, T)> {
        self.all
    }
}

/// Mixes the bits of an id with two numbers that nobody outside can know.
#[derive(Clone, Copy)]
struct Mix(u64, u64);

impl Mix {
    fn new() -> Self {
        let random = RandomState::new();
        Self(random.hash_one(0), random.hash_one(1))
    }
}

impl BuildHasher for Mix {
    type Hasher = Mixed;

    fn build_hasher(&self) -> Mixed {
        Mixed { keys: *self, mixed: 0 }
    }
}

/// The hasher of one id.
struct Mixed {
    keys: Mix,
    mixed: u64,
}

impl Hasher for Mixed {
    fn write_u128(&mut self, id: u128) {
        let product =
            u128::from(id as u64 ^ self.keys.0).wrapping_mul(u128::from((id >> 64) as u64 ^ self.keys.1));
        self.mixed = product as u64 ^ (product >> 64) as u64;
    }

    fn write(&mut self, bytes: &[u8]) {
        unreachable!("BUG: an id is hashed as one number, not as {} bytes", bytes.len());
    }

    fn finish(&self) -> u64 {
        self.mixed
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_entity_has_one_value_and_the_first_comes_first() {
        let mut entities = Entities::new();
        for number in [5, 3, 5, 9, 3, 5] {
            *entities.at(Uuid::from_u128(number), || 0) += 1;
        }
        assert_eq!(entities.get_mut(Uuid::from_u128(3)), Some(&mut 2));
        assert_eq!(entities.get_mut(Uuid::from_u128(4)), None);
        let counts: Vec<_> = entities.into_all().into_iter().map(|(id, n)| (id.as_u128(), n)).collect();
        assert_eq!(counts, [(5, 3), (3, 2), (9, 1)]);
    }
}
