//! A small static file server: the page, the package and the models, with the headers they need.

use anyhow::{Context, Result};
use std::{
    fs::{self, File},
    io::{BufRead, BufReader, Read, Seek, SeekFrom, Write},
    net::{TcpListener, TcpStream},
    ops::Range,
    path::{Path, PathBuf},
    sync::Arc,
    thread,
    time::{Duration, UNIX_EPOCH},
};

/// What is served.
pub struct Site {
    /// URL prefixes (with both slashes) and the folders they stand for; the first that fits.
    pub folders: Vec<(String, PathBuf)>,
    /// Paths of URLs and the single files that they stand for; they come before the folders.
    pub files: Vec<(String, PathBuf)>,
    /// Whether pages are cross-origin isolated, so that they may share memory between threads.
    pub isolated: bool,
}

/// The parts of a request that matter here.
#[derive(Default)]
struct Request {
    method: String,
    target: String,
    range: Option<String>,
    if_none_match: Option<String>,
}

/// Status line, headers and the part of a file that follows them.
struct Response {
    status: &'static str,
    headers: Vec<(&'static str, String)>,
    file: Option<(File, Range<u64>)>,
    text: &'static str,
}

/// Answers until the process ends; a thread and one request per connection.
pub fn serve(listener: &TcpListener, site: Site) -> Result<()> {
    let site = Arc::new(site);
    for stream in listener.incoming() {
        let (stream, site) = (stream.context("the listening socket failed")?, Arc::clone(&site));
        // A browser that hangs up in the middle is no error of ours.
        thread::spawn(move || drop(answer(&stream, &site)));
    }
    Ok(())
}

fn answer(stream: &TcpStream, site: &Site) -> Result<()> {
    stream.set_read_timeout(Some(Duration::from_secs(30)))?;
    let request = read_request(stream)?;
    let response = site.respond(&request)?;
    write_response(stream, response, request.method == "HEAD")
}

fn read_request(stream: impl Read) -> Result<Request> {
    // A browser's request is a few hundred bytes.
    let mut lines = BufReader::new(stream.take(64 * 1024)).lines();
    let first = lines.next().context("an empty request")??;
    let mut words = first.split_whitespace().map(str::to_owned);
    let method = words.next().unwrap_or_default();
    let target = words.next().unwrap_or_default();
    let mut request = Request { method, target, ..Request::default() };
    for text in lines {
        let text = text?;
        match text.split_once(':') {
            Some((name, value)) if name.eq_ignore_ascii_case("range") => {
                request.range = Some(value.trim().to_owned());
            }
            Some((name, value)) if name.eq_ignore_ascii_case("if-none-match") => {
                request.if_none_match = Some(value.trim().to_owned());
            }
            Some(_) => {}
            None => break,
        }
    }
    Ok(request)
}

impl Site {
    fn respond(&self, request: &Request) -> Result<Response> {
        let plain = |status, text| {
            let kind = "text/plain; charset=utf-8".to_owned();
            Response { status, headers: vec![("Content-Type", kind)], file: None, text }
        };
        if !matches!(request.method.as_str(), "GET" | "HEAD") {
            return Ok(plain("405 Method Not Allowed", "only GET and HEAD\n"));
        }
        let Some(path) = self.find(&request.target) else {
            return Ok(plain("404 Not Found", "no such file\n"));
        };
        let file = File::open(&path)?;
        let metadata = file.metadata()?;
        let modified = metadata.modified()?.duration_since(UNIX_EPOCH).unwrap_or_default();
        let tag = format!("\"{:x}-{:x}\"", metadata.len(), modified.as_nanos());
        let mut headers = self.headers(&path);
        headers.push(("ETag", tag.clone()));
        if request.if_none_match.as_deref() == Some(tag.as_str()) {
            return Ok(Response { status: "304 Not Modified", headers, file: None, text: "" });
        }
        let len = metadata.len();
        Ok(match request.range.as_deref().map(|text| byte_range(text, len)) {
            Some(ByteRange::Part(range)) => {
                let place = format!("bytes {}-{}/{len}", range.start, range.end - 1);
                headers.push(("Content-Range", place));
                let file = Some((file, range));
                Response { status: "206 Partial Content", headers, file, text: "" }
            }
            Some(ByteRange::Outside) => {
                headers.push(("Content-Range", format!("bytes */{len}")));
                Response { status: "416 Range Not Satisfiable", headers, file: None, text: "" }
            }
            Some(ByteRange::Whole) | None => {
                Response { status: "200 OK", headers, file: Some((file, 0..len)), text: "" }
            }
        })
    }

    fn headers(&self, path: &Path) -> Vec<(&'static str, String)> {
        let mut headers = vec![
            ("Content-Type", mime_type(path).to_owned()),
            // The browser asks each time and is told by the tag whether anything changed.
            ("Cache-Control", "no-cache".to_owned()),
            ("Accept-Ranges", "bytes".to_owned()),
        ];
        if self.isolated {
            headers.push(("Cross-Origin-Opener-Policy", "same-origin".to_owned()));
            headers.push(("Cross-Origin-Embedder-Policy", "require-corp".to_owned()));
            headers.push(("Cross-Origin-Resource-Policy", "same-origin".to_owned()));
        }
        headers
    }

    /// The file that a request's target names: one of the files, never another one outside the folders.
    fn find(&self, target: &str) -> Option<PathBuf> {
        let path = percent_decode(target.split(['?', '#']).next()?)?;
        if let Some((_, file)) = self.files.iter().find(|(url, _)| *url == path) {
            return file.is_file().then(|| file.clone());
        }
        let (prefix, folder) = self.folders.iter().find(|(prefix, _)| path.starts_with(prefix))?;
        let folder = fs::canonicalize(folder).ok()?;
        let mut file = fs::canonicalize(folder.join(path.get(prefix.len()..)?)).ok()?;
        if file.is_dir() {
            // Without the slash, the page's relative addresses would lead elsewhere.
            file = path.ends_with('/').then(|| file.join("index.html"))?;
        }
        (file.starts_with(&folder) && file.is_file()).then_some(file)
    }
}

fn write_response(mut stream: &TcpStream, response: Response, head_only: bool) -> Result<()> {
    let len = match &response.file {
        Some((_, range)) => range.end - range.start,
        None => response.text.len() as u64,
    };
    let mut head = format!("HTTP/1.1 {}\r\nConnection: close\r\n", response.status);
    if !response.status.starts_with("304") {
        head.push_str(&format!("Content-Length: {len}\r\n"));
    }
    for (name, value) in &response.headers {
        head.push_str(&format!("{name}: {value}\r\n"));
    }
    head.push_str("\r\n");
    stream.write_all(head.as_bytes())?;
    if head_only {
        return Ok(());
    }
    match response.file {
        Some((mut file, range)) => {
            file.seek(SeekFrom::Start(range.start))?;
            std::io::copy(&mut file.take(len), &mut stream)?;
        }
        None => stream.write_all(response.text.as_bytes())?,
    }
    Ok(())
}

/// What a `Range` header asks of a file.
#[derive(Debug, PartialEq)]
enum ByteRange {
    Part(Range<u64>),
    Outside,
    /// Several ranges or another unit: a server may answer with everything (RFC 9110, 14.2).
    Whole,
}

fn byte_range(text: &str, len: u64) -> ByteRange {
    let ends = text.strip_prefix("bytes=").and_then(|ends| ends.split_once('-'));
    let Some((first, last)) = ends else {
        return ByteRange::Whole;
    };
    let range = match (first.parse::<u64>(), last.parse::<u64>()) {
        (Ok(first), Ok(last)) if first <= last => first..last.saturating_add(1).min(len),
        (Ok(first), Err(_)) if last.is_empty() => first..len,
        (Err(_), Ok(suffix)) if first.is_empty() => len.saturating_sub(suffix)..len,
        _ => return ByteRange::Whole,
    };
    if range.is_empty() { ByteRange::Outside } else { ByteRange::Part(range) }
}

fn percent_decode(text: &str) -> Option<String> {
    let mut bytes = text.bytes();
    let mut decoded = Vec::with_capacity(text.len());
    while let Some(byte) = bytes.next() {
        let digit = |byte: Option<u8>| byte.and_then(|byte| char::from(byte).to_digit(16));
        decoded.push(match byte {
            b'%' => u8::try_from(digit(bytes.next())? * 16 + digit(bytes.next())?).ok()?,
            byte => byte,
        });
    }
    String::from_utf8(decoded).ok()
}

fn mime_type(path: &Path) -> &'static str {
    match path.extension().and_then(|extension| extension.to_str()) {
        Some("html") => "text/html; charset=utf-8",
        Some("js" | "mjs") => "text/javascript; charset=utf-8",
        Some("css") => "text/css; charset=utf-8",
        Some("json" | "map" | "webmanifest") => "application/json",
        // Any other type makes browsers refuse to compile while downloading.
        Some("wasm") => "application/wasm",
        Some("svg") => "image/svg+xml",
        Some("png") => "image/png",
        Some("ico") => "image/x-icon",
        Some("txt" | "md" | "ts") => "text/plain; charset=utf-8",
        _ => "application/octet-stream",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A server on a free port over a folder that holds `page/` and a file beside it.
    fn start(name: &str, isolated: bool) -> u16 {
        let folder = std::env::temp_dir().join(format!("{name}-{}", std::process::id()));
        fs::create_dir_all(folder.join("page/sub")).unwrap();
        fs::write(folder.join("secret.txt"), "secret").unwrap();
        fs::write(folder.join("open.txt"), "open").unwrap();
        fs::write(folder.join("page/index.html"), "<p>page").unwrap();
        fs::write(folder.join("page/a b.wasm"), "0123456789").unwrap();
        let listener = TcpListener::bind(("127.0.0.1", 0)).unwrap();
        let port = listener.local_addr().unwrap().port();
        let site = Site {
            folders: vec![("/".to_owned(), folder.join("page"))],
            files: vec![("/docs/open.txt".to_owned(), folder.join("open.txt"))],
            isolated,
        };
        thread::spawn(move || serve(&listener, site));
        port
    }

    fn ask(port: u16, request: &str) -> String {
        let mut stream = TcpStream::connect(("127.0.0.1", port)).unwrap();
        write!(stream, "{request}\r\nHost: localhost\r\n\r\n").unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        answer
    }

    #[test]
    fn pages_are_isolated_and_wasm_has_its_type() {
        let port = start("serve-isolated", true);
        let page = ask(port, "GET / HTTP/1.1");
        assert!(page.starts_with("HTTP/1.1 200 OK") && page.ends_with("<p>page"), "{page}");
        assert!(page.contains("Cross-Origin-Opener-Policy: same-origin\r\n"));
        assert!(page.contains("Cross-Origin-Embedder-Policy: require-corp\r\n"));
        let wasm = ask(port, "GET /a%20b.wasm?v=1 HTTP/1.1");
        assert!(wasm.contains("Content-Type: application/wasm\r\n"), "{wasm}");
        let head = ask(port, "HEAD /a%20b.wasm HTTP/1.1");
        assert!(head.contains("Content-Length: 10\r\n") && head.ends_with("\r\n\r\n"), "{head}");
    }

    #[test]
    fn isolation_can_be_off() {
        let page = ask(start("serve-plain", false), "GET / HTTP/1.1");
        assert!(page.starts_with("HTTP/1.1 200") && !page.contains("Cross-Origin"), "{page}");
    }

    #[test]
    fn ranges_and_tags_are_answered() {
        let port = start("serve-range", true);
        let part = ask(port, "GET /a%20b.wasm HTTP/1.1\r\nRange: bytes=2-4");
        assert!(part.starts_with("HTTP/1.1 206") && part.ends_with("\r\n\r\n234"), "{part}");
        assert!(part.contains("Content-Range: bytes 2-4/10\r\n"), "{part}");
        let outside = ask(port, "GET /a%20b.wasm HTTP/1.1\r\nRange: bytes=10-");
        assert!(outside.starts_with("HTTP/1.1 416"), "{outside}");
        let tag = part.lines().find_map(|line| line.strip_prefix("ETag: ")).unwrap();
        let again = ask(port, &format!("GET /a%20b.wasm HTTP/1.1\r\nIf-None-Match: {tag}"));
        assert!(again.starts_with("HTTP/1.1 304"), "{again}");
    }

    #[test]
    fn nothing_outside_the_folder_is_served() {
        let port = start("serve-outside", true);
        let open = ask(port, "GET /docs/open.txt HTTP/1.1");
        assert!(open.starts_with("HTTP/1.1 200") && open.ends_with("open"), "{open}");
        for target in [
            "/../secret.txt",
            "/%2e%2e/secret.txt",
            "/docs/secret.txt",
            "/docs/../secret.txt",
            "//etc/passwd",
            "/sub",
            "/none",
        ] {
            let answer = ask(port, &format!("GET {target} HTTP/1.1"));
            assert!(answer.starts_with("HTTP/1.1 404"), "{target}: {answer}");
        }
        assert!(ask(port, "POST / HTTP/1.1").starts_with("HTTP/1.1 405"));
    }

    #[test]
    fn range_headers_are_read() {
        assert_eq!(byte_range("bytes=0-99", 10), ByteRange::Part(0..10));
        assert_eq!(byte_range("bytes=-3", 10), ByteRange::Part(7..10));
        assert_eq!(byte_range("bytes=5-", 10), ByteRange::Part(5..10));
        assert_eq!(byte_range("bytes=0-18446744073709551615", 10), ByteRange::Part(0..10));
        assert_eq!(byte_range("bytes=0-1,4-5", 10), ByteRange::Whole);
        assert_eq!(byte_range("bytes=4-2", 10), ByteRange::Whole);
    }
}
