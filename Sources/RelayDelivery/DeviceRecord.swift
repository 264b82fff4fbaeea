// SPDX-License-Identifier: Apache-2.0
import RelayProtocol

/// What is kept of one device's newest report, of whatever.
protocol DeviceRecord {
  var at: Timestamp { get }
  var number: Int64? { get }
  var received: Timestamp { get }
}

extension FocusRecord: DeviceRecord {}
extension FilterRecord: DeviceRecord {}

extension DeviceRecord {
  /// Whether a report is newer: by the device's count, or, where either has none, not older by its clock.
  func precedes(number: Int64?, at: Timestamp) -> Bool {
    if let number, let newest = self.number { return number > newest }
    return at >= self.at
  }

  /// When what is in force for a while only is over by itself.
  func end(_ policy: FocusPolicy) -> Timestamp { min(at + policy.lifetime, received + policy.silence) }
}
