//! A pseudo-terminal: what a person sees, and what a person types.

use std::fs::File;
use std::io::Write;
use std::process::{Child, Stdio};

use rustix::process::{Pid, Signal, kill_process};
use rustix::pty::{OpenptFlags, grantpt, ioctl_tiocgptpeer, openpt, unlockpt};
use rustix::termios::{LocalModes, Winsize, tcgetattr, tcsetwinsize};

use super::program::{Ctl, Heard};
use super::stage::until;

/// The program on a terminal.
pub(crate) struct Terminal {
    child: Child,
    ours: File,
    pub(crate) screen: Heard,
}

impl Terminal {
    /// Starts the program on a terminal of this size.
    pub(crate) fn start(ctl: Ctl, columns: u16, lines: u16) -> Self {
        let flags = OpenptFlags::RDWR | OpenptFlags::NOCTTY;
        let ours = openpt(flags).unwrap();
        grantpt(&ours).unwrap();
        unlockpt(&ours).unwrap();
        let theirs = File::from(ioctl_tiocgptpeer(&ours, flags).unwrap());
        let ours = File::from(ours);
        resize(&ours, columns, lines);
        let mut command = ctl.0;
        let end = || Stdio::from(theirs.try_clone().unwrap());
        let child = command.stdin(end()).stdout(end()).stderr(end()).spawn().unwrap();
        // The command has kept its ends: as long as it lives, the terminal would not end with the program.
        drop((command, theirs));
        let screen = Heard::of(ours.try_clone().unwrap());
        Self { child, ours, screen }
    }

    pub(crate) fn types(&mut self, keys: &str) {
        self.ours.write_all(keys.as_bytes()).unwrap();
    }

    /// Makes the window another size, and tells the program as a terminal does.
    pub(crate) fn resize(&self, columns: u16, lines: u16) {
        resize(&self.ours, columns, lines);
        self.signal(Signal::WINCH);
    }

    pub(crate) fn signal(&self, signal: Signal) {
        kill_process(Pid::from_child(&self.child), signal).unwrap();
    }

    /// Whether the terminal shows what is typed and waits for whole lines, as a shell expects it.
    pub(crate) fn is_as_it_was(&self) -> bool {
        let modes = tcgetattr(&self.ours).unwrap().local_modes;
        modes.contains(LocalModes::ECHO | LocalModes::ICANON)
    }

    /// Waits for its end: how it ended, and all that was on the screen.
    pub(crate) fn end(&mut self) -> (i32, String) {
        let status = until("its end", || self.child.try_wait().unwrap());
        (status.code().expect("it ends by itself"), self.screen.all())
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        // It may have ended already.
        drop(self.child.kill());
        drop(self.child.wait());
    }
}

fn resize(terminal: &File, columns: u16, lines: u16) {
    let size = Winsize { ws_col: columns, ws_row: lines, ws_xpixel: 0, ws_ypixel: 0 };
    tcsetwinsize(terminal, size).unwrap();
}
