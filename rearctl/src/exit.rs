//! How the program ends: one number for each thing that a script may want to tell apart.

/// A way to end: its number, and what it means.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Exit {
    /// For the shell.
    pub code: u8,
    /// For people.
    pub meaning: &'static str,
}

macro_rules! exits {
    ($($name:ident = $code:literal, $meaning:literal;)+) => {
        $(
            #[doc = $meaning]
            pub(crate) const $name: Exit = Exit { code: $code, meaning: $meaning };
        )+

        /// Every one of them, for the reference.
        pub const ALL: &[Exit] = &[$($name),+];
    };
}

exits! {
    DONE = 0, "done; also when the reader of the output has seen enough";
    OTHER = 1, "something that is not named below, such as an answer that makes no sense";
    NO_CAPACITY = 2, "no cluster has room for what was asked; the explanation is on the standard error";
    NOT_FOUND = 3, "there is no such cluster, reservation or instruction, or it is not yours to see";
    REFUSED = 4, "the broker has decided against it for another reason";
    UNREACHABLE = 5, "the broker cannot be reached, does not answer, or is asked too often: trying again may help";
    NOT_LET_IN = 6, "the certificate, or the broker's, is not accepted";
    NOT_MET = 7, "what was waited for did not come true in time, or cannot come true any more";
    TROUBLE = 8, "`check` has found trouble";
    USAGE = 64, "the command line makes no sense";
    CONTEXT = 78, "it is not known which broker to ask, or the file of contexts cannot be used";
    INTERRUPTED = 130, "ended by Ctrl-C, or asked to end";
}
