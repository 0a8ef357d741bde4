//! Delivery on a real disk: every check, hostile names, links that are swapped meanwhile, and real repositories.

mod agreements;
mod checks;
mod hostile;
mod newness;
mod place;
mod race;
mod repositories;
