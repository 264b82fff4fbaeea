// SPDX-License-Identifier: Apache-2.0
public import RelayProtocol

/// The members that the records of Focus reports and of filter reports share. Each is the newest report of one device.
public protocol DeviceRecord: Sendable {
  var at: Timestamp { get }
  var number: Int64? { get }
  var received: Timestamp { get }
}

extension FocusRecord: DeviceRecord {}
extension FilterRecord: DeviceRecord {}

extension DeviceRecord {
  /// True if a report is newer than this record. The numbers of the reports decide if both have one; otherwise the
  /// times decide, and an equal time counts as newer. The number of a device whose clock was ahead gives way to one that
  /// is not ahead, so that it does not block the device.
  func precedes(number: Int64?, at: Timestamp, now: Timestamp, _ policy: FocusPolicy) -> Bool {
    if let number, let newest = self.number {
      return number > newest || policy.isAhead(newest, of: now) && !policy.isAhead(number, of: now)
    }
    return at >= self.at
  }

  /// The time at which a focus or filter that is on expires without a further report.
  func end(_ policy: FocusPolicy) -> Timestamp { min(at + policy.lifetime, received + policy.silence) }
}
