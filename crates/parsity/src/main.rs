//! Parsity's command line: arguments and glue, nothing that measures.

mod arguments;
mod commands;
mod failure;
mod interrupt;
mod processes;
mod progress;
mod words;

use arguments::{Arguments, Command};
use clap::Parser;
use processes::Processes;
use std::process::ExitCode;

fn main() -> ExitCode {
    let command = Arguments::parse().command;
    let result = match command.needs_one_process().map_or(Ok(()), Processes::refuse_several) {
        Err(error) => Err(error),
        Ok(()) => carry_out(command),
    };
    match result {
        Ok(end) => {
            processes::part();
            ExitCode::from(end.code())
        }
        Err(error) => {
            let code = failure::tell(&error);
            processes::abort(code);
            ExitCode::from(code)
        }
    }
}

fn carry_out(command: Command) -> anyhow::Result<failure::End> {
    match command {
        Command::Quickstart(arguments) => commands::quickstart::quickstart(&arguments),
        Command::Studies(arguments) => commands::studies::studies(&arguments),
        Command::Plan(arguments) => commands::plan::plan(&arguments),
        Command::Run(arguments) => commands::run::run(&arguments),
        Command::Status(arguments) => commands::status::status(&arguments),
        Command::Report(arguments) => commands::report::report(&arguments),
        Command::Export(arguments) => commands::export::export(&arguments),
        Command::Serve(arguments) => commands::serve::serve(&arguments),
        Command::Forecast(arguments) => commands::forecast::forecast(&arguments),
        Command::Train(arguments) => commands::train::train(&arguments),
        Command::Prune(arguments) => commands::prune::prune(&arguments),
        Command::Smoothness(arguments) => commands::smoothness::smoothness(&arguments),
        Command::Bench(arguments) => commands::bench::bench(&arguments),
        Command::Data(arguments) => commands::data::data(&arguments),
    }
}
