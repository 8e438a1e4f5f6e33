//! A model's tensors, in one file or in several.

use super::{OtherTensor, SafetensorsFile};
use crate::error::{Error, Result};
use crate::formats::{ModelFolder, TensorData, TensorFile, TensorInfo};
use serde_json::Value;
use std::{borrow::Cow, collections::BTreeSet, ops::Range};

/// How many missing files an error names: an index may have any number of them.
const NAMED: usize = 12;

/// All tensors of a folder's model.
pub struct SafetensorsFolder {
    /// What errors about no single file name.
    name: String,
    files: Vec<SafetensorsFile>,
}

impl SafetensorsFolder {
    /// Opens `<folder>model.safetensors`, or all files that `<folder>model.safetensors.index.json` names; they leave the
    /// folder. `folder` is empty or ends in a slash.
    ///
    /// # Errors
    /// [`Error::Unsupported`] where neither is there, or shards are missing: all are named; what
    /// [`SafetensorsFile::open`] says of each.
    pub fn open(folder: &mut ModelFolder, prefix: &str) -> Result<Self> {
        let single = format!("{prefix}model.safetensors");
        let index = format!("{single}.index.json");
        let Some(config) = folder.config(&index)?.filter(|_| !folder.has(&single)) else {
            let file = SafetensorsFile::open(folder.take(&single)?)?;
            return Ok(Self { name: single, files: vec![file] });
        };
        let map = config.object("weight_map")?;
        let map = map.ok_or_else(|| config.error("weight_map", "missing, expected an object"))?;
        let names: Option<BTreeSet<&str>> = map.values().map(Value::as_str).collect();
        let names = names
            .ok_or_else(|| config.error("weight_map", "a file name for each tensor expected"))?;
        let path = |name: &str| format!("{prefix}{name}");
        let missing: Vec<&str> =
            names.iter().copied().filter(|name| !folder.has(&path(name))).collect();
        if !missing.is_empty() {
            let count = missing.len();
            let shown = missing.get(..NAMED).unwrap_or(&missing).join(", ");
            let more = if count > NAMED { ", …" } else { "" };
            let what = format!("{count} of {} files missing: {shown}{more}", names.len());
            return Err(Error::Unsupported { file: index, what });
        }
        let open = |name: &&str| SafetensorsFile::open(folder.take(&path(name))?);
        let files = names.iter().map(open).collect::<Result<Vec<_>>>()?;
        Ok(Self { name: index, files })
    }

    /// All tensors of types that are read here.
    pub fn tensors(&self) -> impl Iterator<Item = &TensorInfo> {
        self.files.iter().flat_map(|file| file.tensors())
    }

    /// All tensors of other types, each with the name of its file.
    pub fn others(&self) -> impl Iterator<Item = (&str, &OtherTensor)> {
        self.files.iter().flat_map(|file| file.others().iter().map(|other| (file.name(), other)))
    }

    fn file_of(&self, tensor: &TensorInfo) -> Result<&SafetensorsFile> {
        let file = self.files.iter().find(|file| file.find(&tensor.name) == Some(tensor));
        file.ok_or_else(|| Error::Internal { what: format!("tensor {} of no file", tensor.name) })
    }
}

impl TensorFile for SafetensorsFolder {
    fn name(&self) -> &str {
        match &self.files[..] {
            [one] => one.name(),
            _ => &self.name,
        }
    }

    fn find(&self, name: &str) -> Option<&TensorInfo> {
        self.files.iter().find_map(|file| file.find(name))
    }

    fn read(&self, tensor: &TensorInfo) -> Result<TensorData> {
        self.file_of(tensor)?.read(tensor)
    }

    fn read_part(&self, tensor: &TensorInfo, part: Range<u64>) -> Result<Cow<'_, [u8]>> {
        self.file_of(tensor)?.read_part(tensor, part)
    }
}
