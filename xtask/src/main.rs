//! Set-up, build, tests, demo and benchmarks of the project: `cargo xtask help`.

fn main() {
    eprintln!("usage: cargo xtask <setup|models|build|demo|test|bench>");
    std::process::exit(2);
}
