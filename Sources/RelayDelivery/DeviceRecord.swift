// SPDX-License-Identifier: Apache-2.0
public import RelayProtocol

/// The members that the records of Focus reports and of filter reports share. Each is the newest report of one device.
///
/// Each record has its own clock: the wall clock without the steps after the report. A step of the wall clock therefore
/// changes no record, in memory and in the store.
public protocol DeviceRecord: Sendable {
  var at: Timestamp { get }
  var number: Int64? { get }
  var received: Timestamp { get }
  var steps: Duration { get }
}

extension FocusRecord: DeviceRecord {}
extension FilterRecord: DeviceRecord {}

extension DeviceRecord {
  /// The present time by the clock of the record.
  func now(_ moment: Moment) -> Timestamp { moment.now - (moment.steps - steps) }

  /// True if a report is newer than this record.
  ///
  /// The numbers of the reports decide if both have one; otherwise the times decide, and an equal time counts as newer.
  /// A number or a time that is ahead does not block the device:
  /// - A number of a device whose clock was ahead gives way to one that is not ahead.
  /// - The relay's own time gives way after the relay's clock was set back.
  func precedes(number: Int64?, at: Timestamp, _ moment: Moment, _ policy: FocusPolicy) -> Bool {
    if let number, let newest = self.number {
      return number > newest || policy.isAhead(newest, of: moment.now) && !policy.isAhead(number, of: moment.now)
    }
    return at >= self.at + min(.zero, moment.steps - steps)
  }

  /// The time at which a focus or filter that is on expires without a further report, by the clock of the record.
  func end(_ policy: FocusPolicy) -> Timestamp { min(at + policy.lifetime, received + policy.silence) }
}
