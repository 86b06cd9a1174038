//! What is wrong with what was seen: pure, written without the broker's code, and each with a fault that it must find.

mod exhausted;
mod fleet;
mod kept;
mod living;
mod sides;
mod wire;

pub use exhausted::{given_back, used_up};
pub use fleet::{Connected, came_back, connected, gave_up};
pub use kept::{Kept, kept};
pub use living::{Made, beyond, living};
pub use sides::{Promise, Sides, sides};
pub(crate) use wire::passed;
