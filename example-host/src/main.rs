//! The program. All of its code is in the library of this crate.

use std::process::ExitCode;

fn main() -> ExitCode {
    example_host::cli::main()
}
