// SPDX-License-Identifier: Apache-2.0
import CLoad

/// A process that does the least that a relay must do for a load. It wraps the floor in C (`CLoad`).
struct Floor {
  private let floor: load_floor_process_t

  /// Starts the process. Throws ``BenchError`` if it does not start.
  /// - Parameters:
  ///   - folder: The folder of its database. Is `nil` if there is nothing to store.
  ///   - heartbeat: The seconds between two pings of a session.
  init(folder: String?, heartbeat: Double) throws {
    var why = [CChar](repeating: 0, count: 256)
    let floor = folder.withOptionalCString { folder in
      var options = load_floor_t(folder: folder, heartbeat: heartbeat)
      return load_floor_start(&options, &why, why.count)
    }
    guard floor.process > 0 else { throw BenchError("--baseline: \(text(why))") }
    self.floor = floor
  }

  /// Ends the process, which removes its database. It also ends with this process.
  func stop() { load_floor_stop(floor) }

  /// Returns the target with the address and the process of the floor.
  func target(like target: BenchTarget) -> BenchTarget {
    var target = target
    target.relay.address = "127.0.0.1"
    target.relay.port = floor.port
    target.relay.pid = floor.process
    return target
  }
}

extension String? {
  fileprivate func withOptionalCString<Result>(_ body: (UnsafePointer<CChar>?) -> Result) -> Result {
    guard let self else { return body(nil) }
    return self.withCString(body)
  }
}
