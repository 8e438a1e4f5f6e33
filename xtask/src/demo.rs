//! `cargo xtask demo`: sets up, builds and serves the page.

use crate::{
    Subcommand,
    arguments::Arguments,
    build, models,
    serve::{Site, serve},
    setup::{self, Purpose},
    workspace::Workspace,
};
use anyhow::{Context, Result, bail};
use std::net::TcpListener;

pub const COMMAND: Subcommand = Subcommand {
    name: "demo",
    arguments: "[--port 8080] [--no-isolation] [--no-build]",
    about: "sets up, builds and serves the page",
    run,
};

fn run(mut arguments: Arguments) -> Result<()> {
    let isolated = !arguments.flag("--no-isolation");
    let builds = !arguments.flag("--no-build");
    let port: u16 = match arguments.value("--port")? {
        Some(text) => text.parse().with_context(|| format!("--port {text}: not a port number"))?,
        None => 8080,
    };
    arguments.end()?;
    let workspace = Workspace::find()?;
    // Before the build: a port in use should not cost minutes.
    let listener = TcpListener::bind(("127.0.0.1", port))
        .with_context(|| format!("cannot listen on port {port}: choose another with --port"))?;
    let entry = workspace.package().join("dist/index.js");
    if !builds && !entry.is_file() {
        bail!("{} is not there: run once without --no-build", workspace.display(&entry));
    }
    if builds {
        setup::set_up(&workspace, Purpose::Build)?;
        let ids = ["en-pt", "pt-en", "smollm2-135m-instruct", "all-minilm-l6-v2", "en-km-translit"];
        models::fetch(&workspace, &ids.map(str::to_owned))?;
        build::build(&workspace)?;
    }
    let site = Site {
        folders: vec![
            ("/pkg/".to_owned(), workspace.package()),
            ("/models/".to_owned(), workspace.models()),
            ("/".to_owned(), workspace.root.join("www")),
        ],
        // What the search tab offers to search in, beside the package's own README.
        files: ["README.md", "ARCHITECTURE.md"]
            .map(|name| (format!("/docs/{name}"), workspace.root.join(name)))
            .to_vec(),
        isolated,
    };
    let isolation = if isolated { "cross-origin isolated" } else { "not cross-origin isolated" };
    println!("http://localhost:{}/ ({isolation}; Ctrl+C ends it)", listener.local_addr()?.port());
    serve(&listener, site)
}
