//! Mounting a disk: it gets a name under which SQLite can open files on it.
//!
//! Invariant: a mounted disk lives as long as anything on it is open. Everything that is not about files (time,
//! randomness, sleeping) is what SQLite's own layer does. Deliberately absent: being the default; a store is on such
//! a disk only if its name is given.
#![expect(unsafe_code, reason = "a file system is registered with SQLite as a table of C functions")]

use std::ffi::{CStr, CString};
use std::os::raw::{c_char, c_int};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use rusqlite::ffi;

use super::disk::Disk;
use super::methods::{METHODS, OpenFile, code};

/// A disk that SQLite knows by name.
pub(crate) struct Mount {
    pub(crate) disk: Arc<Disk>,
    name: String,
    registered: *mut Registered,
}

/// What SQLite keeps addresses of.
struct Registered {
    vfs: ffi::sqlite3_vfs,
    name: CString,
}

impl Mount {
    /// Mounts a disk under a name of its own.
    pub(crate) fn new(disk: Disk) -> Self {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        let disk = Arc::new(disk);
        let name = format!("torture-{}", NEXT.fetch_add(1, Ordering::Relaxed));
        let c_name = CString::new(name.as_str()).unwrap_or_else(|_| unreachable!("BUG: it has no zero byte"));
        // SAFETY: asking for the default file system has no conditions, and what it gives is never freed.
        let default = unsafe { *ffi::sqlite3_vfs_find(std::ptr::null()) };
        let vfs = ffi::sqlite3_vfs {
            iVersion: 2,
            szOsFile: size_of::<OpenFile>() as c_int,
            pNext: std::ptr::null_mut(),
            zName: c_name.as_ptr(),
            pAppData: Arc::as_ptr(&disk).cast_mut().cast(),
            xOpen: Some(open),
            xDelete: Some(delete),
            xAccess: Some(access),
            xFullPathname: Some(full_pathname),
            xSetSystemCall: None,
            xGetSystemCall: None,
            xNextSystemCall: None,
            ..default
        };
        let registered = Box::into_raw(Box::new(Registered { vfs, name: c_name }));
        // SAFETY: the table stays where it is until `drop` has taken it out of SQLite's list.
        let answer = unsafe { ffi::sqlite3_vfs_register(&raw mut (*registered).vfs, 0) };
        assert!(answer == ffi::SQLITE_OK, "BUG: SQLite does not take the file system: {answer}");
        Self { disk, name, registered }
    }

    /// The name to open files under.
    pub(crate) fn name(&self) -> &str {
        &self.name
    }
}

impl Drop for Mount {
    fn drop(&mut self) {
        // SAFETY: it was registered in `new` and is unregistered once.
        unsafe { ffi::sqlite3_vfs_unregister(&raw mut (*self.registered).vfs) };
        if self.disk.open_files() > 0 {
            // Somebody who hangs still uses it; it must stay where it is, though nobody finds it by name.
            std::mem::forget(Arc::clone(&self.disk));
            return;
        }
        // SAFETY: it came from a box, SQLite no longer knows it, and no file of it is open.
        let registered = unsafe { Box::from_raw(self.registered) };
        drop(registered.name);
    }
}

/// The name of a file, as text; without its directory, so that an image can be mounted elsewhere.
///
/// # Safety
/// `name` must be null or end with a zero byte.
unsafe fn text<'a>(name: *const c_char) -> Option<&'a str> {
    // SAFETY: the caller vouches for it.
    let path = (!name.is_null()).then(|| unsafe { CStr::from_ptr(name) }.to_str().unwrap_or("?"))?;
    Some(path.rsplit_once('/').map_or(path, |(_, name)| name))
}

/// The disk behind a file system.
///
/// # Safety
/// `vfs` must be one that a living `Mount` registered.
unsafe fn disk<'a>(vfs: *mut ffi::sqlite3_vfs) -> &'a Disk {
    // SAFETY: `Mount::new` put the address of a disk there, which the mount keeps alive.
    unsafe { &*(*vfs).pAppData.cast::<Disk>() }
}

unsafe extern "C" fn open(
    vfs: *mut ffi::sqlite3_vfs,
    name: *const c_char,
    file: *mut ffi::sqlite3_file,
    flags: c_int,
    out_flags: *mut c_int,
) -> c_int {
    // SAFETY: the mount holds one count of the disk for as long as SQLite can find it; the handle gets another.
    let disk = unsafe {
        let address = (*vfs).pAppData.cast::<Disk>();
        Arc::increment_strong_count(address);
        Arc::from_raw(address)
    };
    let file = file.cast::<OpenFile>();
    // SAFETY: SQLite gives room for an `OpenFile`, a name that ends with a zero byte or none, and a place for the
    // flags or none. Without methods it does not close what could not be opened.
    unsafe {
        (*file).header.pMethods = std::ptr::null();
        match disk.open(text(name), flags) {
            Ok(handle) => {
                (*file).handle = Box::into_raw(Box::new(handle));
                (*file).header.pMethods = &raw const METHODS;
                if !out_flags.is_null() {
                    *out_flags = flags;
                }
                ffi::SQLITE_OK
            }
            Err(error) => error,
        }
    }
}

unsafe extern "C" fn delete(vfs: *mut ffi::sqlite3_vfs, name: *const c_char, dir_synced: c_int) -> c_int {
    // SAFETY: SQLite gives the file system it found and a name that ends with a zero byte.
    let (disk, name) = unsafe { (disk(vfs), text(name)) };
    code(disk.delete(name.unwrap_or_default(), dir_synced != 0))
}

unsafe extern "C" fn access(
    vfs: *mut ffi::sqlite3_vfs,
    name: *const c_char,
    _flags: c_int,
    answer: *mut c_int,
) -> c_int {
    // SAFETY: SQLite gives the file system it found and a name that ends with a zero byte.
    let (disk, name) = unsafe { (disk(vfs), text(name)) };
    match disk.exists(name.unwrap_or_default()) {
        Ok(there) => {
            // SAFETY: SQLite gives a place for the answer.
            unsafe { *answer = c_int::from(there) };
            ffi::SQLITE_OK
        }
        Err(error) => error,
    }
}

/// Every name is already whole.
unsafe extern "C" fn full_pathname(
    _vfs: *mut ffi::sqlite3_vfs,
    name: *const c_char,
    room: c_int,
    out: *mut c_char,
) -> c_int {
    // SAFETY: SQLite gives a name that ends with a zero byte and `room` bytes to copy it to.
    unsafe {
        let bytes = CStr::from_ptr(name).to_bytes_with_nul();
        if bytes.len() > room as usize {
            return ffi::SQLITE_CANTOPEN;
        }
        std::ptr::copy_nonoverlapping(bytes.as_ptr().cast(), out, bytes.len());
    }
    ffi::SQLITE_OK
}
