//! The machine that runs a pickle.
//!
//! Apart because a pickle is a program: this machine knows the few instructions that
//! build numbers, strings, lists, dictionaries and one kind of array. It can call nothing
//! but numpy's array constructors and the codec that Python 3 writes bytes with; every
//! other instruction or name is an error. Values live in a list and refer to each other by
//! index, so no input can make it recurse.

use crate::DataError;
use std::borrow::Cow;
use std::collections::HashMap;
use std::fmt::Display;
use std::path::Path;

/// A value's index.
pub(super) type Id = usize;

/// What instructions work on.
#[derive(Debug, Clone)]
pub(super) enum Value<'a> {
    None,
    Bool(bool),
    Int(i64),
    /// A string of either kind: Python 2 did not tell bytes from text.
    Text(Cow<'a, [u8]>),
    Tuple(Vec<Id>),
    List(Vec<Id>),
    Dict(Vec<(Id, Id)>),
    Callable(Callable),
    /// A dtype, by its code.
    Dtype(Id),
    /// An array, and its state once it is built.
    Array(Option<Id>),
}

/// The names that a pickle may use.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Callable {
    Reconstruct,
    NdArray,
    Dtype,
    Encode,
}

/// The machine, before and after it has run.
pub(super) struct Machine<'a> {
    path: &'a Path,
    bytes: &'a [u8],
    at: usize,
    pub(super) values: Vec<Value<'a>>,
    stack: Vec<Id>,
    /// Heights of the stack at which marks lie.
    marks: Vec<usize>,
    memo: HashMap<u32, Id>,
}

impl<'a> Machine<'a> {
    /// A machine for the pickle `bytes`; `path` is for messages.
    pub(super) fn new(path: &'a Path, bytes: &'a [u8]) -> Self {
        let (values, stack, marks, memo) = (Vec::new(), Vec::new(), Vec::new(), HashMap::new());
        Machine { path, bytes, at: 0, values, stack, marks, memo }
    }

    /// Runs the pickle to its end and tells the value that it stands for.
    pub(super) fn run(&mut self) -> Result<Id, DataError> {
        loop {
            let [instruction] = *self.array()?;
            if instruction == b'.' {
                return self.pop();
            }
            self.execute(instruction)?;
        }
    }

    fn execute(&mut self, instruction: u8) -> Result<(), DataError> {
        match instruction {
            0x80 => self.protocol(),
            b'(' => {
                self.marks.push(self.stack.len());
                Ok(())
            }
            b'N' => self.push(Value::None),
            0x88 | 0x89 => self.push(Value::Bool(instruction == 0x88)),
            b'K' | b'M' | b'J' | 0x8a => self.integer(instruction),
            b'U' | b'C' | b'T' | b'B' | b'X' => self.string(instruction),
            b'}' => self.push(Value::Dict(Vec::new())),
            b']' => self.push(Value::List(Vec::new())),
            b')' => self.push(Value::Tuple(Vec::new())),
            b't' => {
                let items = self.pop_to_mark()?;
                self.push(Value::Tuple(items))
            }
            0x85..=0x87 => {
                let mut items = Vec::new();
                for _ in 0..instruction - 0x84 {
                    items.insert(0, self.pop()?);
                }
                self.push(Value::Tuple(items))
            }
            b'a' => {
                let item = self.pop()?;
                self.extend_list(vec![item])
            }
            b'e' => {
                let items = self.pop_to_mark()?;
                self.extend_list(items)
            }
            b's' => {
                let value = self.pop()?;
                let key = self.pop()?;
                self.extend_dict(vec![key, value])
            }
            b'u' => {
                let items = self.pop_to_mark()?;
                self.extend_dict(items)
            }
            b'q' | b'r' | b'h' | b'j' => self.remember(instruction),
            b'c' => self.global(),
            b'R' => self.call(),
            b'b' => self.build(),
            _ => {
                let at = self.at - 1;
                let found = format!("{instruction:#04x} at byte {at}");
                Err(self.malformed("instruction", "one that a CIFAR-10 pickle needs", found))
            }
        }
    }

    fn protocol(&mut self) -> Result<(), DataError> {
        match *self.array()? {
            [2 | 3] => Ok(()),
            [other] => Err(self.malformed("pickle protocol", "2 or 3", other)),
        }
    }

    fn integer(&mut self, instruction: u8) -> Result<(), DataError> {
        let value = match instruction {
            b'K' => i64::from(self.array::<1>()?[0]),
            b'M' => i64::from(u16::from_le_bytes(*self.array()?)),
            b'J' => i64::from(i32::from_le_bytes(*self.array()?)),
            _ => {
                let [length] = *self.array()?;
                let digits = self.take(usize::from(length))?;
                // The sign is that of the highest byte; none at all stand for zero.
                let sign = digits.last().map_or(0, |&high| if high >= 0x80 { 0xff } else { 0 });
                let mut word = [sign; 8];
                match word.get_mut(..digits.len()) {
                    Some(low) => low.copy_from_slice(digits),
                    None => return Err(self.malformed("integer", "at most 8 bytes", length)),
                }
                i64::from_le_bytes(word)
            }
        };
        self.push(Value::Int(value))
    }

    fn string(&mut self, instruction: u8) -> Result<(), DataError> {
        let length = match instruction {
            b'U' | b'C' => usize::from(self.array::<1>()?[0]),
            _ => u32::from_le_bytes(*self.array()?) as usize,
        };
        let text = self.take(length)?;
        self.push(Value::Text(Cow::Borrowed(text)))
    }

    fn remember(&mut self, instruction: u8) -> Result<(), DataError> {
        let key = match instruction {
            b'q' | b'h' => u32::from(self.array::<1>()?[0]),
            _ => u32::from_le_bytes(*self.array()?),
        };
        if matches!(instruction, b'q' | b'r') {
            let top = self.top()?;
            self.memo.insert(key, top);
            return Ok(());
        }
        match self.memo.get(&key) {
            Some(&id) => self.stack.push(id),
            None => {
                return Err(self.malformed(
                    "memo",
                    "an entry made before",
                    format!("{key}, not made"),
                ));
            }
        }
        Ok(())
    }

    fn global(&mut self) -> Result<(), DataError> {
        let module = self.line()?;
        let name = self.line()?;
        let callable = match (module, name) {
            (b"numpy.core.multiarray" | b"numpy._core.multiarray", b"_reconstruct") => {
                Callable::Reconstruct
            }
            (b"numpy", b"ndarray") => Callable::NdArray,
            (b"numpy", b"dtype") => Callable::Dtype,
            (b"_codecs", b"encode") => Callable::Encode,
            _ => {
                let found = [module, b".", name].concat();
                let found = String::from_utf8_lossy(&found).into_owned();
                return Err(self.malformed("name", "one of numpy's array constructors", found));
            }
        };
        self.push(Value::Callable(callable))
    }

    fn call(&mut self) -> Result<(), DataError> {
        let arguments = self.pop()?;
        let callable = self.pop()?;
        let result = match (&self.values[callable], &self.values[arguments]) {
            (Value::Callable(Callable::Reconstruct), Value::Tuple(_)) => Some(Value::Array(None)),
            (Value::Callable(Callable::Dtype), Value::Tuple(items)) => {
                items.first().map(|&code| Value::Dtype(code))
            }
            (Value::Callable(Callable::Encode), Value::Tuple(items)) => self.encode(items),
            _ => None,
        };
        match result {
            Some(value) => self.push(value),
            None => Err(self.malformed("call", "one that makes an array", "another one")),
        }
    }

    /// The bytes that Python 3 wrote as text of Latin-1 letters.
    fn encode(&self, items: &[Id]) -> Option<Value<'a>> {
        let [text, codec] = items else { return None };
        let (Value::Text(text), Value::Text(codec)) = (&self.values[*text], &self.values[*codec])
        else {
            return None;
        };
        if codec.as_ref() != b"latin1" {
            return None;
        }
        let letters = std::str::from_utf8(text).ok()?.chars();
        let bytes: Option<Vec<u8>> = letters.map(|letter| u8::try_from(letter).ok()).collect();
        bytes.map(|bytes| Value::Text(Cow::Owned(bytes)))
    }

    fn build(&mut self) -> Result<(), DataError> {
        let state = self.pop()?;
        let target = self.top()?;
        match &mut self.values[target] {
            Value::Array(slot) => {
                *slot = Some(state);
                Ok(())
            }
            // A dtype's state says only what its code says already.
            Value::Dtype(_) => Ok(()),
            _ => Err(self.malformed("state", "that of an array", "another one")),
        }
    }

    fn extend_list(&mut self, items: Vec<Id>) -> Result<(), DataError> {
        let target = self.top()?;
        match &mut self.values[target] {
            Value::List(list) => {
                list.extend(items);
                Ok(())
            }
            _ => Err(self.malformed("items", "a list to put them in", "something else")),
        }
    }

    fn extend_dict(&mut self, items: Vec<Id>) -> Result<(), DataError> {
        let target = self.top()?;
        match &mut self.values[target] {
            Value::Dict(dict) if items.len().is_multiple_of(2) => {
                dict.extend(items.chunks_exact(2).map(|pair| (pair[0], pair[1])));
                Ok(())
            }
            _ => Err(self.malformed("items", "a dictionary to put pairs in", "something else")),
        }
    }

    fn push(&mut self, value: Value<'a>) -> Result<(), DataError> {
        self.stack.push(self.values.len());
        self.values.push(value);
        Ok(())
    }

    fn top(&self) -> Result<Id, DataError> {
        let floor = self.marks.last().copied().unwrap_or(0);
        match self.stack.last() {
            Some(&id) if self.stack.len() > floor => Ok(id),
            _ => Err(self.malformed("stack", "a value", "none")),
        }
    }

    fn pop(&mut self) -> Result<Id, DataError> {
        let top = self.top()?;
        self.stack.pop();
        Ok(top)
    }

    fn pop_to_mark(&mut self) -> Result<Vec<Id>, DataError> {
        match self.marks.pop() {
            Some(floor) => Ok(self.stack.split_off(floor)),
            None => Err(self.malformed("stack", "a mark", "none")),
        }
    }

    fn take(&mut self, length: usize) -> Result<&'a [u8], DataError> {
        let rest = &self.bytes[self.at..];
        if rest.len() < length {
            let expected = format!("{length} more bytes at byte {}", self.at);
            return Err(self.malformed("length", expected, rest.len()));
        }
        self.at += length;
        Ok(&rest[..length])
    }

    fn array<const LENGTH: usize>(&mut self) -> Result<&'a [u8; LENGTH], DataError> {
        let taken = self.take(LENGTH)?;
        Ok(taken.try_into().expect("as many bytes as asked for were taken"))
    }

    fn line(&mut self) -> Result<&'a [u8], DataError> {
        match self.bytes[self.at..].iter().position(|&byte| byte == b'\n') {
            Some(length) => {
                let line = self.take(length)?;
                self.at += 1;
                Ok(line)
            }
            None => Err(self.malformed("name", "the end of a line", "the end of the file")),
        }
    }

    pub(super) fn malformed(
        &self,
        part: &str,
        expected: impl Display,
        found: impl Display,
    ) -> DataError {
        DataError::malformed(self.path, part, expected, found)
    }
}
