// SPDX-License-Identifier: Apache-2.0
import Foundation
import RelayDelivery
import RelayProtocol

/// Something that goes wrong on purpose, to see that it is found.
enum Fault: String, CaseIterable, Sendable {
  /// Jobs that are to be tried again vanish.
  case losesJobs
  /// A message of the history vanishes.
  case losesMessages
  /// What was read and received is forgotten.
  case losesMarks
  /// Idempotency keys are forgotten.
  case losesKeys
  /// Members vanish from rooms.
  case losesMembers
  /// A device vanishes.
  case forgetsDevices
  /// What waits is taken as decided, so that a restart does not ask again.
  case movesCursors
  /// What users want is forgotten.
  case forgetsPreferences
  /// Blocked users are so no more.
  case forgetsBlocks
  /// A Notify Anyway counts as none, so that it can be said again and again.
  case forgetsNotified
  /// What devices said of their Focus does not age on disk.
  case keepsFocusFresh
  /// Held jobs vanish.
  case losesHolds
  /// Held jobs are put off, again and again.
  case putsHoldsOff
  /// A deletion is undone, and the pushes that it cancelled go out.
  case revivesDeleted
  /// An explanation names other facts than the decision was made with.
  case changesFacts
  /// A message has two collapse ids on one device.
  case pushesTwice
  /// A push is handed over after it has expired.
  case pushesLate
  /// A push goes to another device.
  case pushesElsewhere
  /// A push disturbs more than it was asked to.
  case pushesLoudly
  /// A push claims that its sender insists.
  case pushesAnyway
  /// A push says what the message says no more.
  case pushesOtherWords
  /// A session is given up before its five seconds are over.
  case waitsTooShort
  /// A session is waited for far too long.
  case waitsForReceiptsTooLong
  /// Who is away is not waited for.
  case hasNoGrace
  /// A hold lasts two days.
  case holdsTooLong
  /// A Focus that is not known is shown as none.
  case showsNullAsFalse
  /// A Focus that is not shared, or not known, is shown.
  case showsFocus
  /// The reply to a `send` names somebody who is not quiet, or hides it.
  case namesOthers
  /// The reply to a `send` counts those who are hidden as there.
  case countsHidden

  /// By which it may be found.
  var invariants: Set<Invariant> {
    switch self {
    // What is lost may be made, and pushed, once more.
    case .losesJobs: [.reached, .needed]
    case .losesHolds, .putsHoldsOff, .holdsTooLong, .waitsForReceiptsTooLong: [.reached]
    case .movesCursors: [.reached]
    case .losesMessages: [.ordered, .answered]
    case .losesMarks, .losesKeys, .losesMembers, .forgetsDevices: [.kept]
    // What is on disk is read again when a device is lost or registered.
    case .forgetsPreferences, .forgetsBlocks: [.kept, .needed, .focused, .discreet, .reached]
    case .keepsFocusFresh: [.kept, .focused, .discreet]
    case .forgetsNotified: [.needed, .kept]
    case .revivesDeleted: [.ordered, .inTime, .kept]
    case .changesFacts: [.repeated]
    case .pushesTwice: [.collapsed]
    case .pushesLate, .pushesElsewhere, .pushesOtherWords: [.inTime]
    case .pushesLoudly, .pushesAnyway, .waitsTooShort, .hasNoGrace: [.needed]
    case .showsNullAsFalse: [.focused, .discreet]
    case .showsFocus: [.focused, .discreet]
    case .namesOthers: [.focused, .discreet]
    case .countsHidden: [.discreet]
    }
  }

  /// What is decided by.
  var policy: DeliveryPolicy {
    switch self {
    case .waitsTooShort: DeliveryPolicy(receiptWait: .seconds(4))
    case .waitsForReceiptsTooLong: DeliveryPolicy(receiptWait: .seconds(300), longestWait: .seconds(300))
    case .hasNoGrace: DeliveryPolicy(grace: .zero)
    case .holdsTooLong: DeliveryPolicy(longestHold: .seconds(48 * 3600))
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
    case .pushesLate: wrong.time = handed.time + .seconds(28 * 24 * 3600)
    case .pushesElsewhere: wrong.device.token += "x"
    case .pushesLoudly:
      replace("\"interruption-level\":\"active\"", by: "\"interruption-level\":\"critical\"", in: &wrong.push.payload)
    case .pushesAnyway: replace("\"notifyAnyway\":false", by: "\"notifyAnyway\":true", in: &wrong.push.payload)
    case .pushesOtherWords: replace("\"body\":\"", by: "\"body\":\"1", in: &wrong.push.payload)
    default: break
    }
    return [wrong]
  }

  /// What a client hears instead.
  func heard(_ frame: [UInt8]) -> [UInt8] {
    var wrong = frame
    switch self {
    case .showsNullAsFalse: replace("\"isFocused\":null", by: "\"isFocused\":false", in: &wrong)
    case .showsFocus: replace("\"isFocused\":null", by: "\"isFocused\":true", in: &wrong)
    case .namesOthers: replace("\"quiet\":[]", by: "\"quiet\":[\"ann\"]", in: &wrong)
    case .countsHidden: replace("\"delivery\":{\"live\":0", by: "\"delivery\":{\"live\":1", in: &wrong)
    default: break
    }
    return wrong
  }

  private func replace(_ words: String, by others: String, in json: inout [UInt8]) {
    json = Array(String(decoding: json, as: UTF8.self).replacingOccurrences(of: words, with: others).utf8)
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
      case .forgetsPreferences: "UPDATE users SET preferences = NULL"
      case .forgetsBlocks: "DELETE FROM blocks"
      case .forgetsNotified: "UPDATE silenced SET notified = NULL"
      case .keepsFocusFresh: "UPDATE focus SET at = at + 60000, received = received + 60000"
      case .losesHolds: "DELETE FROM jobs WHERE state = 'held'"
      case .putsHoldsOff: "UPDATE jobs SET due = due + 86400000 WHERE state = 'held'"
      case .revivesDeleted:
        """
        UPDATE messages SET is_deleted = 0, body = CAST('"1"' AS BLOB) WHERE is_deleted;
        UPDATE jobs SET state = 'ready', is_next = 1, finished_at = NULL WHERE state = 'cancelled' AND note = 'deleted'
        """
      case .changesFacts:
        "UPDATE jobs SET explanation = json_set(explanation, '$.facts.message.isPushAsked', json('false'))"
      default: nil
      }
    guard let statement else { return }
    try relay.damage(statement)
  }
}
