//! Downloads from public hosts, continued where they were broken off.
//!
//! Apart because it is the only part that speaks to a network. A file grows under the
//! name `….part` and gets its own name when it is whole; archives are unpacked.

use super::{Listener, Progress};
use crate::DataError;
use flate2::read::MultiGzDecoder;
use std::fs::{self, File, OpenOptions};
use std::io::{self, BufReader, Read, Write};
use std::path::Path;
use std::time::Duration;
use ureq::http::{Response, StatusCode};
use ureq::{Agent, Body};

/// Longest wait for a name, a connection, and an answer; then the next mirror is tried.
const PATIENCE: Duration = Duration::from_secs(8);
/// Longest silence in the midst of a file.
const SILENCE: Duration = Duration::from_secs(30);

/// Downloads all `files` below `base` into the folder.
pub(super) fn download(
    base: &str,
    files: &[&str],
    folder: &Path,
    progress: Listener<'_>,
) -> Result<(), DataError> {
    fs::create_dir_all(folder).map_err(DataError::io("making", folder))?;
    let agent: Agent = Agent::config_builder()
        .timeout_resolve(Some(PATIENCE))
        .timeout_connect(Some(PATIENCE))
        .timeout_recv_response(Some(PATIENCE))
        .timeout_per_read(Some(SILENCE))
        .build()
        .into();
    for file in files {
        let path = folder.join(file);
        if !path.is_file() {
            download_file(&agent, &format!("{base}{file}"), &path, file, progress).inspect_err(
                |_| {
                    // Removed only if empty: what has come is continued the next time.
                    let _ = fs::remove_dir(folder);
                },
            )?;
        }
        if file.ends_with(".tar.gz") {
            unpack(&path, folder)?;
        }
    }
    Ok(())
}

/// Unpacks a `.tar.gz` archive; nothing is written outside of the folder.
pub(super) fn unpack(archive: &Path, folder: &Path) -> Result<(), DataError> {
    let file = File::open(archive).map_err(DataError::io("reading", archive))?;
    let content = MultiGzDecoder::new(BufReader::new(file));
    tar::Archive::new(content)
        .unpack(folder)
        .map_err(|error| DataError::malformed(archive, "content", "a whole .tar.gz archive", error))
}

fn download_file(
    agent: &Agent,
    url: &str,
    path: &Path,
    file: &str,
    progress: Listener<'_>,
) -> Result<(), DataError> {
    let failed = |source| DataError::Download { url: url.to_owned(), source: Box::new(source) };
    let part = path.with_file_name(format!("{file}.part"));
    let have = fs::metadata(&part).map_or(0, |metadata| metadata.len());
    let response = match request(agent, url, have) {
        // The part is longer than the file: it is not of this file.
        Err(ureq::Error::StatusCode(416)) if have > 0 => request(agent, url, 0),
        other => other,
    };
    let response = response.map_err(failed)?;
    // A host that ignores the wish for the rest sends the whole file.
    let continued = response.status() == StatusCode::PARTIAL_CONTENT;
    let start = if continued { have } else { 0 };
    let total = response.body().content_length().map(|rest| start + rest);
    let mut output = OpenOptions::new()
        .create(true)
        .write(true)
        .truncate(!continued)
        .append(continued)
        .open(&part)
        .map_err(DataError::io("writing", &part))?;
    let mut body = response.into_body().into_reader();
    let mut received = start;
    let mut buffer = vec![0; 1 << 16];
    loop {
        let count = body.read(&mut buffer).map_err(|error| failed(error.into()))?;
        if count == 0 {
            break;
        }
        output.write_all(&buffer[..count]).map_err(DataError::io("writing", &part))?;
        received += count as u64;
        progress(Progress::Received { file, bytes: received, total });
    }
    if total.is_some_and(|total| total != received) {
        return Err(failed(io::Error::from(io::ErrorKind::UnexpectedEof).into()));
    }
    fs::rename(&part, path).map_err(DataError::io("moving the download to", path))
}

/// Asks for the file from byte `start` on, as it is: no other encoding on the way.
fn request(agent: &Agent, url: &str, start: u64) -> Result<Response<Body>, ureq::Error> {
    let request = agent.get(url).header("Accept-Encoding", "identity");
    match start {
        0 => request.call(),
        _ => request.header("Range", format!("bytes={start}-")).call(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::BufRead;
    use std::net::TcpListener;
    use std::thread;

    const CONTENT: &[u8] = b"the content of a file on a mirror";

    /// How the host answers, request by request.
    #[derive(Clone, Copy)]
    enum Answer {
        /// What was asked for.
        Obedient,
        /// The whole file, whatever was asked for.
        Whole,
        /// The head of the whole file and ten bytes, then the end.
        BrokenOff,
        /// The file is not there.
        Absent,
    }

    /// A host that gives these answers and then goes away; joining it tells the ranges that
    /// were asked for.
    fn host(answers: &'static [Answer]) -> (String, thread::JoinHandle<Vec<Option<usize>>>) {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let base = format!("http://{}/", listener.local_addr().unwrap());
        let serve = move || answers.iter().map(|&answer| answer_one(&listener, answer)).collect();
        (base, thread::spawn(serve))
    }

    fn answer_one(listener: &TcpListener, answer: Answer) -> Option<usize> {
        let (mut stream, _) = listener.accept().unwrap();
        let lines = BufReader::new(stream.try_clone().unwrap()).lines();
        let head: Vec<String> =
            lines.map(Result::unwrap).take_while(|line| !line.is_empty()).collect();
        let range = head.iter().find_map(|line| {
            let line = line.to_lowercase();
            line.strip_prefix("range: bytes=")?.strip_suffix('-')?.parse::<usize>().ok()
        });
        let (status, body) = match (answer, range) {
            (Answer::Absent, _) => ("404 Not Found", &b""[..]),
            (Answer::Obedient, Some(start)) if start >= CONTENT.len() => {
                ("416 Range Not Satisfiable", &b""[..])
            }
            (Answer::Obedient, Some(start)) => ("206 Partial Content", &CONTENT[start..]),
            _ => ("200 OK", CONTENT),
        };
        let sent = if matches!(answer, Answer::BrokenOff) { &body[..10] } else { body };
        let length = body.len();
        write!(
            stream,
            "HTTP/1.1 {status}\r\nContent-Length: {length}\r\nConnection: close\r\n\r\n"
        )
        .unwrap();
        stream.write_all(sent).unwrap();
        range
    }

    fn fetch(base: &str, folder: &Path) -> Result<Vec<u8>, DataError> {
        download(base, &["file"], folder, &mut |_| {})?;
        assert!(!folder.join("file.part").exists());
        Ok(fs::read(folder.join("file")).unwrap())
    }

    #[test]
    fn a_broken_download_is_continued_where_it_ended() {
        let folder = tempfile::tempdir().unwrap();
        let (base, host) = host(&[Answer::BrokenOff, Answer::Obedient]);
        let error = fetch(&base, folder.path()).unwrap_err();
        assert!(matches!(error, DataError::Download { .. }), "{error}");
        assert_eq!(fs::read(folder.path().join("file.part")).unwrap(), &CONTENT[..10]);
        assert_eq!(fetch(&base, folder.path()).unwrap(), CONTENT);
        assert_eq!(host.join().unwrap(), [None, Some(10)]);
    }

    #[test]
    fn a_host_that_sends_everything_again_is_understood() {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("file.part"), "the con").unwrap();
        let (base, host) = host(&[Answer::Whole]);
        assert_eq!(fetch(&base, folder.path()).unwrap(), CONTENT);
        assert_eq!(host.join().unwrap(), [Some(7)]);
    }

    #[test]
    fn a_part_that_is_too_long_is_thrown_away() {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("file.part"), [0; 99]).unwrap();
        let (base, host) = host(&[Answer::Obedient, Answer::Obedient]);
        assert_eq!(fetch(&base, folder.path()).unwrap(), CONTENT);
        assert_eq!(host.join().unwrap(), [Some(99), None]);
    }

    #[test]
    fn a_file_that_is_not_there_is_told_with_its_address() {
        let folder = tempfile::tempdir().unwrap();
        let (base, host) = host(&[Answer::Absent]);
        let error = fetch(&base, folder.path()).unwrap_err();
        assert_eq!(error.to_string(), format!("downloading {base}file: http status: 404"));
        host.join().unwrap();
    }

    #[test]
    fn a_host_that_is_gone_fails_at_once() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let base = format!("http://{}/", listener.local_addr().unwrap());
        drop(listener);
        let folder = tempfile::tempdir().unwrap();
        let started = std::time::Instant::now();
        assert!(matches!(fetch(&base, folder.path()), Err(DataError::Download { .. })));
        assert!(started.elapsed() < PATIENCE);
    }
}
