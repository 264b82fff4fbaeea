// SPDX-License-Identifier: Apache-2.0
// The file of `PhoneAccounts`, which the app and its extensions share.
import Foundation

/// Reads and changes the accounts of a phone in a file of the App Group.
///
/// The file is readable before the first unlock of the phone, because the extension needs the signed-in users for a
/// push that arrives before it. The file contains no secret, and is not in backups.
struct AccountFile: Sendable {
  let file: URL

  /// Returns the accounts, or `nil` if the app has never registered a user. Throws if the file cannot be read, or if its
  /// text is not that of accounts.
  func load() throws -> PhoneAccounts? {
    let data: Data
    do {
      data = try Data(contentsOf: file)
    } catch let error as CocoaError where error.code == .fileReadNoSuchFile {
      return nil
    }
    guard let accounts = PhoneAccounts(reading: data) else { throw CocoaError(.fileReadCorruptFile) }
    return accounts
  }

  /// Applies an input, stores the new state, and returns the effects. Replaces a damaged file. Holds a lock, so that no
  /// other process changes the file meanwhile. Throws `CocoaError` or `POSIXError` if the file cannot be changed.
  func apply(_ input: PhoneAccounts.Input) throws -> [PhoneAccounts.Effect] {
    try locked {
      var accounts: PhoneAccounts?
      do {
        accounts = try load()
      } catch let error as CocoaError where error.code == .fileReadCorruptFile {
        accounts = nil
      }
      let old = accounts
      var new = accounts ?? PhoneAccounts()
      let effects = new.apply(input)
      if new != old { try store(new) }
      return effects
    }
  }

  private func store(_ accounts: PhoneAccounts) throws {
    var options: Data.WritingOptions = .atomic
    options.insert(.noFileProtection)
    try Data(accounts.text).write(to: file, options: options)
    // A backup on another phone must not have the accounts of this one. The flag belongs to the new file.
    var values = URLResourceValues()
    values.isExcludedFromBackup = true
    var file = file
    try? file.setResourceValues(values)
  }

  /// Runs `body` with the lock of the file. Waits at most one second for another process that has the lock, and then
  /// throws `POSIXError`.
  func locked<Value>(_ body: () throws -> Value) throws -> Value {
    let descriptor = open(file.path + ".lock", O_RDWR | O_CREAT | O_CLOEXEC, 0o600)
    guard descriptor >= 0 else { throw POSIXError(POSIXErrorCode(rawValue: errno) ?? .EIO) }
    // The lock ends when the descriptor is closed, also by a crash.
    defer { close(descriptor) }
    for _ in 0..<100 {
      if flock(descriptor, LOCK_EX | LOCK_NB) == 0 { return try body() }
      guard errno == EWOULDBLOCK || errno == EINTR else { break }
      usleep(10_000)
    }
    throw POSIXError(POSIXErrorCode(rawValue: errno) ?? .EIO)
  }
}
