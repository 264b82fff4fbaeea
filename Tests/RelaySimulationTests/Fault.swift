// SPDX-License-Identifier: Apache-2.0
import GRDB
import RelayDelivery
import RelayProtocol

@testable import RelayStore

/// Something that goes wrong on purpose, to see that it is found.
enum Fault: String, CaseIterable, Sendable {
  case losesJobs
  case losesMessages
  case losesMarks
  case losesKeys
  case losesMembers
  case forgetsDevices
  case movesCursors
  case pushesTwice
  case pushesLate
  case pushesElsewhere
  case waitsTooShort
  case waitsForReceiptsTooLong
  case hasNoGrace

  /// What is decided by.
  var policy: DeliveryPolicy {
    switch self {
    case .waitsTooShort: DeliveryPolicy(receiptWait: .seconds(4))
    case .waitsForReceiptsTooLong: DeliveryPolicy(receiptWait: .seconds(300), longestWait: .seconds(300))
    case .hasNoGrace: DeliveryPolicy(grace: .zero)
    default: DeliveryPolicy()
    }
  }

  /// What a gateway is handed instead.
  func handed(_ handed: RecordingGateway.Handed) -> [RecordingGateway.Handed] {
    var wrong = handed
    switch self {
    case .pushesTwice:
      wrong.push.headers.collapseID += "again"
      return [handed, wrong]
    case .pushesLate:
      wrong.time = handed.time + .seconds(28 * 24 * 3600)
      return [wrong]
    case .pushesElsewhere:
      wrong.device.token += "x"
      return [wrong]
    default: return [handed]
    }
  }

  /// What happens to the database after each step.
  func damage(_ relay: SimulatedRelay) throws {
    let statement: String? =
      switch self {
      case .losesJobs: "DELETE FROM jobs WHERE state = 'retrying'"
      case .losesMessages: "DELETE FROM messages WHERE seq = 5"
      case .losesMarks: "UPDATE members SET read = 0, received = 0"
      case .losesKeys: "DELETE FROM keys"
      case .losesMembers: "DELETE FROM members WHERE read > 3"
      case .forgetsDevices: "DELETE FROM devices WHERE token = 'token-3'"
      case .movesCursors: "UPDATE rooms SET cursor = seq"
      default: nil
      }
    guard let statement else { return }
    try relay.write { try $0.db.execute(sql: statement) }
  }
}
