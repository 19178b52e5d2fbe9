//! Bytes that cross without being copied: they stay where their owner put them, and are freed there.

use std::any::Any;
use std::fmt;
use std::mem::ManuallyDrop;
use std::ops::Deref;

use abi_stable::StableAbi;

use crate::panic::attempt;

/// Bytes in the memory of the library that made them, which also frees them. Frozen for the major version.
#[repr(C)]
#[derive(StableAbi)]
#[allow(unsafe_code, reason = "`free` is only ever called with what it was stored with")]
pub struct Chunk {
    data: *const u8,
    length: usize,
    owner: *mut u8,
    extra: usize,
    free: unsafe extern "C" fn(*mut u8, usize),
}

// SAFETY: the bytes are never changed while the chunk exists, and the owner is `Send` (see the
// constructors) and touched only once, when the chunk is dropped.
#[allow(unsafe_code, reason = "raw pointers to what may be sent")]
unsafe impl Send for Chunk {}
// SAFETY: a shared chunk gives only `&[u8]`.
#[allow(unsafe_code, reason = "raw pointers to what may be shared")]
unsafe impl Sync for Chunk {}

impl Chunk {
    /// No bytes at all, without memory of its own.
    pub const fn empty() -> Self {
        Self::from_static(&[])
    }

    /// Bytes that are part of the library.
    pub const fn from_static(bytes: &'static [u8]) -> Self {
        Self {
            data: bytes.as_ptr(),
            length: bytes.len(),
            owner: std::ptr::null_mut(),
            extra: 0,
            free: free_nothing,
        }
    }

    /// The bytes of any owner, for example those of a reference-counted buffer. They are not copied;
    /// the owner is dropped with the chunk.
    pub fn from_owner(owner: impl AsRef<[u8]> + Send + 'static) -> Self {
        fn pack<T: AsRef<[u8]> + Send + 'static>(owner: T) -> Chunk {
            let owner = Box::new(owner);
            let bytes = (*owner).as_ref();
            let (data, length) = (bytes.as_ptr(), bytes.len());
            let owner = Box::into_raw(owner).cast::<u8>();
            Chunk { data, length, owner, extra: 0, free: free_owner::<T> }
        }
        pack(owner)
    }

    /// Whether there are no bytes.
    pub fn is_empty(&self) -> bool {
        self.length == 0
    }
}

impl Deref for Chunk {
    type Target = [u8];

    #[allow(unsafe_code, reason = "bytes behind a raw pointer")]
    fn deref(&self) -> &[u8] {
        // SAFETY: each constructor takes `data` and `length` from one slice, which the owner keeps
        // alive and in place until `free` is called; another library's chunk was made by the same
        // constructors, as the checked layout and version promise.
        unsafe { std::slice::from_raw_parts(self.data, self.length) }
    }
}

impl AsRef<[u8]> for Chunk {
    fn as_ref(&self) -> &[u8] {
        self
    }
}

impl Default for Chunk {
    fn default() -> Self {
        Self::empty()
    }
}

impl From<Vec<u8>> for Chunk {
    fn from(bytes: Vec<u8>) -> Self {
        let mut bytes = ManuallyDrop::new(bytes);
        Self {
            data: bytes.as_ptr(),
            length: bytes.len(),
            owner: bytes.as_mut_ptr(),
            extra: bytes.capacity(),
            free: free_vec,
        }
    }
}

impl From<String> for Chunk {
    fn from(text: String) -> Self {
        text.into_bytes().into()
    }
}

impl From<&'static [u8]> for Chunk {
    fn from(bytes: &'static [u8]) -> Self {
        Self::from_static(bytes)
    }
}

impl From<&'static str> for Chunk {
    fn from(text: &'static str) -> Self {
        Self::from_static(text.as_bytes())
    }
}

impl Drop for Chunk {
    #[allow(unsafe_code, reason = "gives the memory back to its owner")]
    fn drop(&mut self) {
        // SAFETY: `free` was stored with this `owner` and `extra`, and is called once.
        unsafe { (self.free)(self.owner, self.extra) }
    }
}

impl fmt::Debug for Chunk {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Chunk({} bytes)", self.length)
    }
}

extern "C" fn free_nothing(_owner: *mut u8, _extra: usize) {}

#[allow(unsafe_code, reason = "the memory of a vector that `Chunk::from` has taken apart")]
unsafe extern "C" fn free_vec(owner: *mut u8, capacity: usize) {
    // SAFETY: pointer and capacity are those of a `Vec<u8>` of this library's allocator. Its length
    // does not matter to free it.
    drop(unsafe { Vec::from_raw_parts(owner, 0, capacity) });
}

#[allow(unsafe_code, reason = "the box that `Chunk::from_owner` has made")]
unsafe extern "C" fn free_owner<T: Send + 'static>(owner: *mut u8, _extra: usize) {
    // SAFETY: the pointer comes from `Box::into_raw` of a `Box<T>`.
    let owner = unsafe { Box::from_raw(owner.cast::<T>()) };
    // A destructor that panics must not reach the other library.
    let dropped: Result<(), _> = attempt(move || drop::<Box<dyn Any + Send>>(owner));
    drop(dropped);
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Arc;
    use std::sync::atomic::{AtomicUsize, Ordering};

    struct Counted(Vec<u8>, Arc<AtomicUsize>);

    impl AsRef<[u8]> for Counted {
        fn as_ref(&self) -> &[u8] {
            &self.0
        }
    }

    impl Drop for Counted {
        fn drop(&mut self) {
            self.1.fetch_add(1, Ordering::Relaxed);
        }
    }

    #[test]
    fn bytes_stay_where_they_are() {
        let bytes = b"stays".to_vec();
        let at = bytes.as_ptr();
        let chunk = Chunk::from(bytes);
        assert_eq!((&*chunk, chunk.as_ptr()), (&b"stays"[..], at));
        assert_eq!(&*Chunk::from("static"), b"static");
        assert!(Chunk::empty().is_empty() && Chunk::from(Vec::new()).is_empty());
    }

    #[test]
    fn an_owner_is_dropped_once_with_its_chunk() {
        let drops = Arc::new(AtomicUsize::new(0));
        let chunk = Chunk::from_owner(Counted(b"owned".to_vec(), Arc::clone(&drops)));
        assert_eq!(&*chunk, b"owned");
        assert_eq!(drops.load(Ordering::Relaxed), 0);
        drop(chunk);
        assert_eq!(drops.load(Ordering::Relaxed), 1);
    }

    #[test]
    fn a_destructor_that_panics_stays_on_its_side() {
        struct Panics;
        impl AsRef<[u8]> for Panics {
            fn as_ref(&self) -> &[u8] {
                b"x"
            }
        }
        impl Drop for Panics {
            #[allow(clippy::panic, reason = "what is tested")]
            fn drop(&mut self) {
                panic!("in a destructor");
            }
        }
        drop(Chunk::from_owner(Panics));
    }
}
