//! What is wrong with what was seen: pure, written without the broker's code, and each with a fault that it must find.

mod exhausted;
mod kept;
mod living;
mod sides;

pub use exhausted::{given_back, used_up};
pub use kept::{Kept, kept};
pub use living::{Made, beyond, living};
pub use sides::{Promise, Sides, sides};
