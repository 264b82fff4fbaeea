// SPDX-License-Identifier: Apache-2.0
import GRDB
public import RelayProtocol

/// A group of push jobs that wait for the same service and do not delay the jobs of other lanes. The updates of phones
/// have lanes of their own: one for each lane of pushes.
///
/// | platform | one lane for each |
/// |---|---|
/// | `apns` | app and environment: sandbox, production, and the devices that name no environment |
/// | `http` | app |
/// | `webpush` | one of 64 groups of push services; a hash of its host assigns a service to a group |
/// | `simulator` | relay |
public struct Lane: Hashable, Sendable {
  /// The value of the column `lane` of `jobs`.
  let name: String

  public init(of device: Device) {
    self.init(
      device.platform.rawValue, app: device.app, token: device.token, environment: device.environment?.rawValue)
  }

  /// Creates the lane of a row of `devices`.
  init(_ platform: String, app: String?, token: String, environment: String?) {
    name =
      switch Platform(rawValue: platform) {
      case .apns: "\(platform)\(environment.map { ".\($0)" } ?? "")/\(app ?? "")"
      case .http: "\(platform)/\(app ?? "")"
      case .webpush: "\(platform)/\(Self.bucket(ofServiceIn: token))"
      case .simulator, nil: platform
      }
  }

  init(name: String) { self.name = name }

  /// The lane of the updates of the same devices.
  public var forUpdates: Lane { isForUpdates ? self : Lane(name: Self.updates + name) }

  /// True for a lane of updates.
  public var isForUpdates: Bool { name.hasPrefix(Self.updates) }

  /// The lane of the pushes of the same devices.
  public var forPushes: Lane { isForUpdates ? Lane(name: String(name.dropFirst(Self.updates.count))) : self }

  /// No platform has this name.
  private static let updates = "updates "

  /// The number of lanes that all push services share. Clients choose the services, and the relay queries each lane
  /// separately, so their number must be bounded.
  private static let buckets: UInt32 = 64

  /// - Parameter token: A subscription, which begins with its endpoint.
  private static func bucket(ofServiceIn token: String) -> UInt32 {
    let parts = token.utf8.split(separator: UInt8(ascii: "/"), maxSplits: 3, omittingEmptySubsequences: false)
    guard parts.count > 2 else { return 0 }
    // FNV-1a gives the same value in each run, which the stored rows require.
    return parts[2].reduce(2_166_136_261 as UInt32) { ($0 ^ UInt32($1)) &* 16_777_619 } % buckets
  }
}

extension QueueReader {
  /// The lanes that have jobs to claim, now or later. Each lane takes one search of an index, so that the number of
  /// jobs does not matter.
  func lanes() throws -> [Lane] {
    let rows = "jobs INDEXED BY jobs_due WHERE \(Schema.open) AND is_next"
    return try db.all(
      """
      WITH RECURSIVE found(lane) AS (
        SELECT min(lane) FROM \(rows)
        UNION ALL
        SELECT (SELECT min(lane) FROM \(rows) AND lane > found.lane) FROM found WHERE found.lane IS NOT NULL)
      SELECT lane FROM found WHERE lane IS NOT NULL
      """
    ).map { Lane(name: $0[0]) }
  }
}
