//! Lists what a Marian model holds: `cargo run --example inspect -- models/en-pt/model….bin`.

use multihead::{
    error::{Error, Result},
    formats::{
        ByteSource, DType, TensorData, TensorInfo,
        marian::MarianFile,
        marian_config::{Scalar, Value},
    },
};
use std::{
    borrow::Cow,
    fs::File,
    io::{Read, Seek, SeekFrom},
    ops::Range,
    process::ExitCode,
    sync::Mutex,
};

/// A file on disk, of which only the ranges asked for are read.
struct DiskFile {
    name: String,
    len: u64,
    file: Mutex<File>,
}

impl DiskFile {
    fn open(path: &str) -> std::io::Result<Self> {
        let file = File::open(path)?;
        Ok(Self { name: path.to_owned(), len: file.metadata()?.len(), file: Mutex::new(file) })
    }
}

impl ByteSource for DiskFile {
    fn name(&self) -> &str {
        &self.name
    }

    fn len(&self) -> u64 {
        self.len
    }

    fn read(&self, range: Range<u64>) -> Result<Cow<'_, [u8]>> {
        let fail = |what: String| Error::format(&self.name, range.start, what);
        if range.end > self.len {
            return Err(fail(format!("bytes {range:?} asked for, the file has {}", self.len)));
        }
        let mut bytes = vec![0; range.end.saturating_sub(range.start) as usize];
        let mut file = self.file.lock().map_err(|error| fail(error.to_string()))?;
        file.seek(SeekFrom::Start(range.start))
            .and_then(|_| file.read_exact(&mut bytes))
            .map_err(|error| fail(error.to_string()))?;
        Ok(Cow::Owned(bytes))
    }
}

fn main() -> ExitCode {
    let Some(path) = std::env::args().nth(1) else {
        eprintln!("usage: inspect MODEL.bin");
        return ExitCode::FAILURE;
    };
    match inspect(&path) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}

fn inspect(path: &str) -> std::result::Result<(), Box<dyn std::error::Error>> {
    let model = MarianFile::open(Box::new(DiskFile::open(path)?))?;
    println!("config");
    for (key, value) in model.config().entries() {
        let quote = |item: &Scalar| match item.quoted {
            true => format!("{:?}", item.text),
            false => item.text.clone(),
        };
        let shown = match value {
            Value::Null => "(none)".to_owned(),
            Value::Scalar(scalar) => quote(scalar),
            Value::List(items) => {
                format!("[{}]", items.iter().map(quote).collect::<Vec<_>>().join(", "))
            }
        };
        println!("  {key}: {shown}");
    }
    println!("{} tensors: name, type, shape, byte range, values", model.tensors().len());
    for tensor in model.tensors() {
        let TensorInfo { name, dtype, shape, bytes } = tensor;
        println!(
            "  {name} {dtype} {shape:?} {}..{} {}",
            bytes.start,
            bytes.end,
            values(&model, tensor).unwrap_or_else(|error| error.to_string())
        );
    }
    Ok(())
}

/// The first values of a tensor, and its multiplier.
fn values(model: &MarianFile, tensor: &TensorInfo) -> Result<String> {
    if tensor.dtype == DType::Int8 {
        return Ok("(text)".to_owned());
    }
    Ok(match model.read(tensor)? {
        TensorData::F32(values) => format!("{:?}…", values.iter().take(4).collect::<Vec<_>>()),
        TensorData::Int8 { values, multiplier } => {
            format!("{:?}… / {multiplier}", values.iter().take(4).collect::<Vec<_>>())
        }
        TensorData::Stored(bytes) => format!("{} bytes of {}", bytes.len(), tensor.dtype),
    })
}
