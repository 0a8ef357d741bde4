//! The calls SQLite makes on an open file, handed on to the disk.
//!
//! Invariant: nothing is decided here; each function turns addresses into slices, calls the disk, and turns the answer
//! into a number. Deliberately absent: memory mapping, which SQLite does without when it is not offered.
#![expect(unsafe_code, reason = "SQLite calls a file system through C functions and raw addresses")]

use std::os::raw::{c_int, c_void};
use std::slice;

use rusqlite::ffi;

use super::disk::Handle;

/// An open file as SQLite sees it: its own header first, then ours.
#[repr(C)]
pub(super) struct OpenFile {
    pub(super) header: ffi::sqlite3_file,
    pub(super) handle: *mut Handle,
}

/// The sector size SQLite's own file system layer tells.
const SECTOR: c_int = 4096;

pub(super) static METHODS: ffi::sqlite3_io_methods = ffi::sqlite3_io_methods {
    iVersion: 2,
    xClose: Some(close),
    xRead: Some(read),
    xWrite: Some(write),
    xTruncate: Some(truncate),
    xSync: Some(sync),
    xFileSize: Some(file_size),
    xLock: Some(lock),
    xUnlock: Some(unlock),
    xCheckReservedLock: Some(check_reserved_lock),
    xFileControl: Some(file_control),
    xSectorSize: Some(sector_size),
    xDeviceCharacteristics: Some(device_characteristics),
    xShmMap: Some(shm_map),
    xShmLock: Some(shm_lock),
    xShmBarrier: Some(shm_barrier),
    xShmUnmap: Some(shm_unmap),
    xFetch: None,
    xUnfetch: None,
};

/// The handle behind a file that SQLite has open.
///
/// # Safety
/// `file` must have been opened by this file system and not been closed.
unsafe fn handle<'a>(file: *mut ffi::sqlite3_file) -> &'a Handle {
    // SAFETY: the open call put an `OpenFile` with a living handle there, and only the close call takes it away.
    unsafe { &*(*file.cast::<OpenFile>()).handle }
}

pub(super) fn code(result: Result<(), c_int>) -> c_int {
    result.err().unwrap_or(ffi::SQLITE_OK)
}

unsafe extern "C" fn close(file: *mut ffi::sqlite3_file) -> c_int {
    // SAFETY: SQLite closes a file once and does not use it afterwards, so the handle can be taken back.
    unsafe {
        let file = file.cast::<OpenFile>();
        drop(Box::from_raw((*file).handle));
        (*file).header.pMethods = std::ptr::null();
    }
    ffi::SQLITE_OK
}

unsafe extern "C" fn read(file: *mut ffi::sqlite3_file, into: *mut c_void, len: c_int, at: i64) -> c_int {
    // SAFETY: SQLite gives a buffer of `len` bytes, which nobody else uses during the call.
    let (handle, into) = unsafe { (handle(file), slice::from_raw_parts_mut(into.cast(), len as usize)) };
    code(handle.read(into, at as u64))
}

unsafe extern "C" fn write(file: *mut ffi::sqlite3_file, from: *const c_void, len: c_int, at: i64) -> c_int {
    // SAFETY: SQLite gives a buffer of `len` bytes, which nobody changes during the call.
    let (handle, from) = unsafe { (handle(file), slice::from_raw_parts(from.cast(), len as usize)) };
    code(handle.write(from, at as u64))
}

unsafe extern "C" fn truncate(file: *mut ffi::sqlite3_file, to: i64) -> c_int {
    // SAFETY: SQLite calls this on a file it has open.
    code(unsafe { handle(file) }.truncate(to as u64))
}

unsafe extern "C" fn sync(file: *mut ffi::sqlite3_file, _flags: c_int) -> c_int {
    // SAFETY: SQLite calls this on a file it has open.
    code(unsafe { handle(file) }.sync())
}

unsafe extern "C" fn file_size(file: *mut ffi::sqlite3_file, size: *mut i64) -> c_int {
    // SAFETY: SQLite calls this on a file it has open, with a place for the answer.
    match unsafe { handle(file) }.size() {
        Ok(bytes) => {
            // SAFETY: as above.
            unsafe { *size = bytes as i64 };
            ffi::SQLITE_OK
        }
        Err(error) => error,
    }
}

unsafe extern "C" fn lock(file: *mut ffi::sqlite3_file, level: c_int) -> c_int {
    // SAFETY: SQLite calls this on a file it has open.
    code(unsafe { handle(file) }.raise(level))
}

unsafe extern "C" fn unlock(file: *mut ffi::sqlite3_file, level: c_int) -> c_int {
    // SAFETY: SQLite calls this on a file it has open.
    unsafe { handle(file) }.lower(level);
    ffi::SQLITE_OK
}

unsafe extern "C" fn check_reserved_lock(file: *mut ffi::sqlite3_file, answer: *mut c_int) -> c_int {
    // SAFETY: SQLite calls this on a file it has open, with a place for the answer.
    unsafe { *answer = c_int::from(handle(file).is_reserved()) };
    ffi::SQLITE_OK
}

unsafe extern "C" fn file_control(_file: *mut ffi::sqlite3_file, _op: c_int, _arg: *mut c_void) -> c_int {
    ffi::SQLITE_NOTFOUND
}

unsafe extern "C" fn sector_size(_file: *mut ffi::sqlite3_file) -> c_int {
    SECTOR
}

/// A write does not harm the bytes beside it: what SQLite's own file system layer says of every disk.
unsafe extern "C" fn device_characteristics(_file: *mut ffi::sqlite3_file) -> c_int {
    ffi::SQLITE_IOCAP_POWERSAFE_OVERWRITE
}

unsafe extern "C" fn shm_map(
    file: *mut ffi::sqlite3_file,
    region: c_int,
    bytes: c_int,
    extend: c_int,
    answer: *mut *mut c_void,
) -> c_int {
    // SAFETY: SQLite calls this on a file it has open.
    match unsafe { handle(file) }.shm_map(region as usize, bytes as usize, extend != 0) {
        Ok(address) => {
            // SAFETY: SQLite gives a place for the answer; the region lives until this connection leaves it.
            unsafe { *answer = address };
            ffi::SQLITE_OK
        }
        Err(error) => error,
    }
}

unsafe extern "C" fn shm_lock(
    file: *mut ffi::sqlite3_file,
    first: c_int,
    count: c_int,
    flags: c_int,
) -> c_int {
    // SAFETY: SQLite calls this on a file it has open.
    code(unsafe { handle(file) }.shm_lock(first as usize, count as usize, flags))
}

unsafe extern "C" fn shm_barrier(_file: *mut ffi::sqlite3_file) {
    std::sync::atomic::fence(std::sync::atomic::Ordering::SeqCst);
}

unsafe extern "C" fn shm_unmap(file: *mut ffi::sqlite3_file, _delete: c_int) -> c_int {
    // SAFETY: SQLite calls this on a file it has open, and does not touch its regions afterwards.
    unsafe { handle(file) }.shm_leave();
    ffi::SQLITE_OK
}
