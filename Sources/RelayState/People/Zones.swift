// SPDX-License-Identifier: Apache-2.0
import Logging
package import RelayDelivery
import RelayHub
package import RelayProtocol
package import RelayPush
import RelayRequests
package import RelayStore

/// The rules of time zones, and the quiet hours that follow from them.
///
/// The settings have the system's zone files. The store keeps the files of the zones that users have named: a zone that
/// a later tzdata package lacks keeps its last rules. The state is private. The relay creates one object, and the
/// methods run on the hub's thread.
package final class Zones {
  private var system: TimeZones
  private var clock: QuietClock
  /// The stored zone files, by the names of the zones.
  private var stored: [String: [UInt8]] = [:]

  private let worker: PushWorker

  package init(_ system: TimeZones, _ worker: PushWorker) {
    (self.system, self.worker) = (system, worker)
    clock = QuietClock(system)
  }

  package var current: TimeZones { clock.zones }
  /// The version of the system's tzdata. Is `nil` if the system has no zone files.
  package var version: String? { current.version }

  /// The quiet hours of a user that are on now.
  package func quietHours(of recipient: Recipient, at now: Timestamp) -> CurrentQuietHours {
    clock.hours(of: recipient, at: now)
  }

  // MARK: The system's zone files

  /// Loads the stored zones at the start, and stores the newer files of the system.
  package func load(on core: isolated Core) async throws {
    stored = try await core.store.read { try $0.timeZones.files() }
    apply(on: core)
    worker.use(core.settings.push(current))
    try await storeNewer(on: core)
  }

  /// Applies the zone files of a reload. If they have changed, all held pushes are decided again.
  package func use(_ system: TimeZones, on core: isolated Core) {
    guard system != self.system else { return }
    self.system = system
    apply(on: core)
    Task { await decideAgain(on: core) }
  }

  private func apply(on core: isolated Core) {
    let zones = system.keeping(stored)
    clock = QuietClock(zones)
    let log = core.diagnostics.log
    if let version = zones.version {
      log.info("time zone rules", metadata: ["tzdata": "\(version)", "zones": "\(zones.count)"])
    } else {
      log.warning("no zone files: quiet hours use the time zone rules of Swift, which may be old. Install tzdata.")
    }
    guard zones.version != nil, !zones.kept.isEmpty else { return }
    log.warning(
      "stored time zones are not in the zone files: they keep their last rules",
      metadata: [
        "count": "\(zones.kept.count)", "zones": "\(zones.kept.prefix(Self.maxLogged).joined(separator: ", "))",
      ])
  }

  private static let maxLogged = 10

  private func decideAgain(on core: isolated Core) async {
    await core.retry {
      try await storeNewer(on: core)
      let now = core.hub.now
      while try await core.store.write({ try $0.queue.decideHeldAgain(by: now) }) {}
      core.publish(.heldDue)
    }
  }

  private func storeNewer(on core: isolated Core) async throws {
    for (name, file) in stored {
      // One write for each file: the journal limits the size of a work.
      guard let newer = system.file(of: name), newer != file else { continue }
      try await core.store.write { try $0.timeZones.save(newer, of: name) }
      stored[name] = newer
    }
  }

  // MARK: Zones that users name

  /// A zone file that the store lacks.
  package struct NewZone: Sendable {
    package let name: String
    package let file: [UInt8]

    package func save(_ transaction: Transaction) throws { try transaction.timeZones.save(file, of: name) }
  }

  /// Returns the zone file to store with a preference or a device that names the zone. Is `nil` if the store has it, or
  /// if the system has no file of the zone.
  package func new(_ name: String?) -> NewZone? {
    guard let name, stored[name] == nil, let file = system.file(of: name) else { return nil }
    return NewZone(name: name, file: file)
  }

  /// Call this after the zone file is stored.
  package func noteStored(_ zone: NewZone?) {
    if let zone { stored[zone.name] = zone.file }
  }
}
