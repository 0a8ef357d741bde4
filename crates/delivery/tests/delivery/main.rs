//! Delivery on a real disk: every check, hostile names, links that are swapped meanwhile, and real repositories.

mod agreements;
mod checks;
mod hostile;
mod hostile_repositories;
mod newness;
mod place;
mod race;
mod repositories;
