//! Bytes that cross without being copied: they stay where their owner put them, and are freed there.

use std::fmt;
use std::mem::ManuallyDrop;
use std::ops::Deref;

use abi_stable::StableAbi;

use crate::panic::attempt;

/// Bytes in the memory of the library that made them, which also frees them. They never change. Frozen for
/// the major version.
#[repr(C)]
#[derive(StableAbi)]
#[allow(unsafe_code, reason = "`free` is only called with what it was stored with")]
pub struct Chunk {
    data: *const u8,
    length: usize,
    owner: *mut u8,
    extra: usize,
    free: unsafe extern "C" fn(*mut u8, usize),
}

// SAFETY: the bytes never change while the chunk exists. The owner is `Send`, as each constructor demands,
// and is used once more only, when the chunk is dropped.
#[allow(unsafe_code, reason = "raw pointers to what may be sent")]
unsafe impl Send for Chunk {}
// SAFETY: a shared chunk gives nothing but `&[u8]` to bytes that never change. Its owner cannot be reached
// through it.
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
    /// the owner is dropped with the chunk, on whatever thread that happens.
    #[allow(unsafe_code, reason = "borrows from an owner that the chunk keeps")]
    pub fn from_owner<T: AsRef<[u8]> + Send + 'static>(owner: T) -> Self {
        // The owner becomes a raw pointer before its bytes are borrowed, because to move a box afterwards
        // would invalidate the borrow of bytes that are inside of it.
        let owner = Box::into_raw(Box::new(owner));
        // SAFETY: the pointer comes from a box, and stays valid until `free_owner` takes the box back.
        // Until then nothing else uses the owner, so the bytes neither move nor change.
        let bytes = unsafe { &*owner }.as_ref();
        let (data, length) = (bytes.as_ptr(), bytes.len());
        Self { data, length, owner: owner.cast(), extra: 0, free: free_owner::<T> }
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
        // alive and in place until `free` is called, and that is when the chunk is dropped. A chunk of
        // another library was made by the constructors of its own copy of this crate.
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
        // SAFETY: the constructor stored `free` with this `owner` and `extra`, for which it was written,
        // and it is called only here, once. The bytes cannot be reached afterwards.
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
    // SAFETY: pointer and capacity are those of a `Vec<u8>` that was not dropped, of this library's
    // allocator, because each library stores its own copy of this function. Bytes have no destructor, so
    // the length does not matter.
    drop(unsafe { Vec::from_raw_parts(owner, 0, capacity) });
}

#[allow(unsafe_code, reason = "the box that `Chunk::from_owner` has made")]
unsafe extern "C" fn free_owner<T>(owner: *mut u8, _extra: usize) {
    // SAFETY: the pointer comes from `Box::into_raw` of a `Box<T>`, in the same instance of
    // `Chunk::from_owner`.
    let owner = unsafe { Box::from_raw(owner.cast::<T>()) };
    // A panic of the destructor must not reach the other library, and there is nowhere to report it.
    drop(attempt(move || drop(owner)));
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
    fn bytes_inside_of_their_owner_are_not_copied_either() {
        let chunk = Chunk::from_owner(*b"inside");
        let moved = Some(chunk);
        assert_eq!(moved.as_deref(), Some(&b"inside"[..]));
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
