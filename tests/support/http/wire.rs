//! Requests and answers as bytes of HTTP/1.1.

use std::{
    io::{self, BufRead, Write},
    net::TcpStream,
    sync::atomic::{AtomicBool, Ordering},
    time::Duration,
};

use super::{Request, Response};

/// How a body is framed.
pub(super) enum Framing {
    Length(usize),
    Chunked,
}

pub(super) fn bad(reason: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, reason.to_owned())
}

/// Reads a request with its body; `None` where the client has gone.
pub fn read_request(reader: &mut impl BufRead) -> io::Result<Option<Request>> {
    let Some((mut request, framing)) = read_head(reader)? else { return Ok(None) };
    request.body = read_body(reader, &framing)?;
    Ok(Some(request))
}

/// Writes a request as a client does.
pub fn write_request(socket: &mut impl Write, request: &Request) -> io::Result<()> {
    let mut head = format!("{} {} HTTP/1.1\r\n", request.method, request.target());
    let is_framing =
        |name: &str| ["content-length", "transfer-encoding"].iter().any(|f| name.eq_ignore_ascii_case(f));
    for (name, value) in request.headers.iter().filter(|(name, _)| !is_framing(name)) {
        head.push_str(&format!("{name}: {value}\r\n"));
    }
    head.push_str(&format!("Content-Length: {}\r\n\r\n", request.body.len()));
    socket.write_all(head.as_bytes())?;
    socket.write_all(&request.body)?;
    socket.flush()
}

pub(super) fn read_head(reader: &mut impl BufRead) -> io::Result<Option<(Request, Framing)>> {
    let mut line = String::new();
    if reader.read_line(&mut line)? == 0 {
        return Ok(None);
    }
    let mut words = line.split_whitespace();
    let (Some(method), Some(target)) = (words.next(), words.next()) else {
        return Err(bad("no request line"));
    };
    let (path, query) = target.split_once('?').unwrap_or((target, ""));
    let mut request = Request {
        method: method.to_owned(),
        path: path.to_owned(),
        query: query.to_owned(),
        ..Request::default()
    };
    loop {
        let mut line = String::new();
        if reader.read_line(&mut line)? == 0 {
            return Err(bad("the head ends too early"));
        }
        let line = line.trim_end();
        if line.is_empty() {
            break;
        }
        let (name, value) = line.split_once(':').ok_or_else(|| bad("a header without a colon"))?;
        request.headers.push((name.trim().to_owned(), value.trim().to_owned()));
    }
    let framing = if request.header("transfer-encoding").is_some_and(|v| v.eq_ignore_ascii_case("chunked")) {
        Framing::Chunked
    } else {
        let length = request.header("content-length").map_or(Ok(0), str::parse);
        Framing::Length(length.map_err(|_| bad("a Content-Length that is no number"))?)
    };
    Ok(Some((request, framing)))
}

pub(super) fn read_body(reader: &mut impl BufRead, framing: &Framing) -> io::Result<Vec<u8>> {
    let mut body = Vec::new();
    match framing {
        Framing::Length(length) => {
            body.resize(*length, 0);
            reader.read_exact(&mut body)?;
        }
        Framing::Chunked => loop {
            let mut line = String::new();
            reader.read_line(&mut line)?;
            let size = line.trim().split(';').next().unwrap_or_default();
            let size = usize::from_str_radix(size, 16).map_err(|_| bad("a chunk without a size"))?;
            let start = body.len();
            body.resize(start + size, 0);
            reader.read_exact(&mut body[start..])?;
            let mut end = String::new();
            reader.read_line(&mut end)?;
            if size == 0 {
                break;
            }
        },
    }
    Ok(body)
}

fn head_of(request: &Request, response: &Response) -> (Vec<u8>, bool) {
    let bodiless = request.method == "HEAD" || matches!(response.status, 204 | 304);
    let mut head = format!("HTTP/1.1 {} {}\r\n", response.status, reason(response.status));
    for (name, value) in &response.headers {
        head.push_str(&format!("{name}: {value}\r\n"));
    }
    if !matches!(response.status, 204 | 304) {
        head.push_str(&format!("Content-Length: {}\r\n", response.body.len()));
    }
    head.push_str("\r\n");
    (head.into_bytes(), bodiless)
}

pub(super) fn write_response(
    mut socket: &TcpStream,
    request: &Request,
    response: &Response,
) -> io::Result<()> {
    let (mut bytes, bodiless) = head_of(request, response);
    if !bodiless {
        bytes.extend_from_slice(&response.body);
    }
    socket.write_all(&bytes)?;
    socket.flush()
}

pub(super) fn write_part(
    mut socket: &TcpStream,
    request: &Request,
    response: &Response,
    bytes: usize,
) -> io::Result<()> {
    let (head, _) = head_of(request, response);
    socket.write_all(&head)?;
    socket.write_all(&response.body[..bytes.min(response.body.len())])?;
    socket.flush()
}

pub(super) fn write_slowly(
    mut socket: &TcpStream,
    request: &Request,
    response: &Response,
    bytes: usize,
    pause: Duration,
    stop: &AtomicBool,
) -> io::Result<()> {
    let (head, _) = head_of(request, response);
    socket.write_all(&head)?;
    for part in response.body.chunks(bytes.max(1)) {
        if stop.load(Ordering::SeqCst) {
            return Ok(());
        }
        socket.write_all(part)?;
        socket.flush()?;
        std::thread::sleep(pause);
    }
    Ok(())
}

fn reason(status: u16) -> &'static str {
    match status {
        200 => "OK",
        201 => "Created",
        204 => "No Content",
        301 => "Moved Permanently",
        304 => "Not Modified",
        401 => "Unauthorized",
        403 => "Forbidden",
        404 => "Not Found",
        422 => "Unprocessable Entity",
        429 => "Too Many Requests",
        500 => "Internal Server Error",
        502 => "Bad Gateway",
        503 => "Service Unavailable",
        _ => "Status",
    }
}
