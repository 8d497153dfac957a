//! The `uplinker` program: hands over to the library.

use std::process::ExitCode;

fn main() -> ExitCode {
    uplinker::cli::main(std::env::args_os())
}
