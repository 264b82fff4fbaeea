// SPDX-License-Identifier: Apache-2.0
import Foundation
import RelayDelivery
import RelayProtocol

/// A deliberate fault, which the simulation must find.
enum Fault: String, CaseIterable, Sendable {
  /// Deletes the jobs that will be retried.
  case losesJobs
  /// Deletes a message of the history.
  case losesMessages
  /// Deletes the read and received marks.
  case losesMarks
  /// Deletes the idempotency keys.
  case losesKeys
  /// Deletes members of rooms.
  case losesMembers
  /// Deletes a device.
  case forgetsDevices
  /// Moves the cursors of rooms over undecided messages, so that a restart does not decide them.
  case movesCursors
  /// Deletes the preferences of users.
  case forgetsPreferences
  /// Deletes the blocks of users.
  case forgetsBlocks
  /// Deletes the record of Notify Anyway, so that it can be repeated.
  case forgetsNotified
  /// Deletes the online states of users, so that a restart shows them as offline.
  case forgetsOnline
  /// Stops the Focus reports on disk from expiring.
  case keepsFocusFresh
  /// Deletes the held jobs.
  case losesHolds
  /// Postpones the held jobs again and again.
  case putsHoldsOff
  /// Restores a deleted message, and the pushes that the deletion cancelled.
  case revivesDeleted
  /// Changes the stored facts of decisions.
  case changesFacts
  /// Sends a message under two collapse ids to one device.
  case pushesTwice
  /// Sends a push after it has expired.
  case pushesLate
  /// Sends a push to another device.
  case pushesElsewhere
  /// Sends a push at a higher level.
  case pushesLoudly
  /// Sends a push with a false `notifyAnyway`.
  case pushesAnyway
  /// Sends a push with another text than the message's.
  case pushesOtherWords
  /// Changes the text of a notification that the phone must remove.
  case editsPastBlocks
  /// Drops the pushes that lower a badge.
  case keepsBadges
  /// Lets the service keep each push that changes or removes a notification.
  case displacesAlerts
  /// Drops the removals of notifications.
  case keepsRead
  /// Shows a quote with another text than the message's.
  case quotesOtherWords
  /// Stops waiting for a session before the five seconds are over.
  case waitsTooShort
  /// Waits far too long for a session.
  case waitsForReceiptsTooLong
  /// Does not wait for the grace of a user who is away.
  case hasNoGrace
  /// Holds pushes for two days.
  case holdsTooLong
  /// Shows an unknown Focus as false.
  case showsNullAsFalse
  /// Shows a Focus that is unknown or not shared.
  case showsFocus
  /// Names a user in the reply to a `send` who is not silenced.
  case namesOthers
  /// Counts hidden users as online in the reply to a `send`.
  case countsHidden
  /// Deletes calls that are over.
  case losesCalls
  /// Makes calls that are over go on.
  case revivesCalls
  /// Postpones the end of the ringing again and again.
  case keepsRinging
  /// Deletes the answers and refusals of calls.
  case forgetsAnswers
  /// Shows a missed call as one that rings.
  case showsRinging
  /// Deletes bans.
  case losesBans
  /// Takes away the roles of members.
  case losesRoles
  /// Makes banned users members again.
  case returnsBanned
  /// Shows the members of a room without their roles.
  case showsNoOwner
  /// Hides the removal of users from them.
  case hidesRemovals
  /// Deletes the numbers of edits and deletions.
  case losesChanges
  /// Skips a number after each restart.
  case skipsChanges
  /// Deletes reactions.
  case losesReactions
  /// Counts a reaction twice.
  case countsReactionsTwice
  /// Deletes pins.
  case losesPins
  /// Hides the events of pins.
  case hidesPins
  /// Stores a number that is a time as one that is 40 days later.
  case believesClocks
  /// Loses a message that a slow line has held up.
  case losesHeldUp
  /// Answers a repeated `send` as a new one.
  case hidesDuplicates

  /// The invariants whose check may find the fault.
  var invariants: Set<Invariant> {
    switch self {
    // The relay may make and push a lost job again.
    case .losesJobs: [.reached, .needed]
    case .losesHolds, .putsHoldsOff, .waitsForReceiptsTooLong: [.reached]
    case .holdsTooLong: [.reached, .needed]
    case .movesCursors: [.reached]
    case .losesMessages: [.ordered, .answered, .changed]
    // A badge counts the messages after a mark.
    case .losesMarks: [.kept, .lowered]
    case .losesKeys, .losesMembers, .forgetsDevices: [.kept]
    // The relay reads a user from the disk again when a device is deleted or registered.
    case .forgetsPreferences, .forgetsBlocks: [.kept, .needed, .focused, .discreet, .reached, .called, .governed]
    case .keepsFocusFresh: [.kept, .focused, .discreet]
    case .forgetsOnline: [.awaited]
    case .forgetsNotified: [.needed, .kept]
    case .quotesOtherWords: [.ordered]
    case .revivesDeleted: [.ordered, .inTime, .kept, .answered]
    case .changesFacts: [.repeated]
    case .pushesTwice: [.collapsed]
    case .editsPastBlocks: [.permitted]
    case .keepsBadges: [.lowered]
    case .displacesAlerts: [.displaced]
    // A push that removes the newest alert may take its place.
    case .keepsRead: [.withdrawn, .displaced]
    case .pushesLate, .pushesElsewhere, .pushesOtherWords: [.inTime]
    case .pushesLoudly, .pushesAnyway, .waitsTooShort: [.needed]
    // The reply to a `send` counts the users within the grace.
    case .hasNoGrace: [.needed, .discreet]
    case .showsNullAsFalse: [.focused, .discreet]
    case .showsFocus: [.focused, .discreet]
    case .namesOthers: [.focused, .discreet]
    case .countsHidden: [.discreet]
    case .losesBans, .losesRoles, .showsNoOwner: [.governed]
    // A removed user may also seem to miss messages.
    case .hidesRemovals: [.governed, .ordered, .answered]
    case .losesChanges, .skipsChanges, .losesReactions, .countsReactionsTwice, .losesPins, .hidesPins: [.changed]
    case .returnsBanned, .hidesDuplicates: [.kept]
    case .believesClocks: [.kept, .focused]
    case .losesHeldUp: [.ordered]
    case .losesCalls, .revivesCalls, .keepsRinging, .forgetsAnswers, .showsRinging: [.called]
    }
  }

  /// The seed with which the search for the fault begins. It may be any, but with these the search is short.
  var firstSeed: Int {
    switch self {
    case .losesHolds: 7
    case .forgetsDevices: 18
    case .losesPins, .hidesPins: 17
    default: 1
    }
  }

  /// The policy of the decisions.
  var policy: DeliveryPolicy {
    switch self {
    case .waitsTooShort: DeliveryPolicy(receiptWait: .seconds(4))
    case .waitsForReceiptsTooLong: DeliveryPolicy(receiptWait: .seconds(300), maxWait: .seconds(300))
    case .hasNoGrace: DeliveryPolicy(grace: .zero)
    case .holdsTooLong: DeliveryPolicy(maxHold: .seconds(48 * 3600))
    default: DeliveryPolicy()
    }
  }

  /// Returns the pushes that the gateway receives instead.
  /// - Parameter shown: The newest alert of a message on the same device.
  func handed(
    _ handed: RecordingGateway.Handed, shown: (MessageReference) -> DigestSubject?
  ) -> [RecordingGateway.Handed] {
    var wrong = handed
    switch self {
    case .pushesTwice:
      wrong.push.headers.collapseID += "again"
      return [handed, wrong]
    case .pushesLate: wrong.time = handed.time + .seconds(28 * 24 * 3600)
    case .pushesElsewhere: wrong.device.token += "x"
    case .pushesLoudly:
      replace("\"interruption-level\":\"active\"", by: "\"interruption-level\":\"critical\"", in: &wrong.push.payload)
    case .editsPastBlocks:
      guard let subject = handed.phonePush.removals.removed.lazy.compactMap(shown).first else { break }
      wrong.phonePush.content = .change(subject, .current)
      wrong.phonePush.removals = Removals()
      if let push = try? Push(wrong.phonePush) { wrong.push = push }
    case .keepsBadges:
      if case .badge = handed.phonePush.content, handed.answer == .sent { return [] }
    case .displacesAlerts:
      switch handed.phonePush.content {
      case .change, .badge, .removal: wrong.push.headers.expiration = handed.time.rawValue / 1000 + 3600
      case .alert, .ring, .wake: break
      }
    case .keepsRead:
      for name in ["read", "removed"] { replace("\"\(name)\":[{", by: "\"not-\(name)\":[{", in: &wrong.push.payload) }
    case .pushesAnyway: replace("\"notifyAnyway\":false", by: "\"notifyAnyway\":true", in: &wrong.push.payload)
    case .pushesOtherWords: replace("\"body\":\"", by: "\"body\":\"1", in: &wrong.push.payload)
    default: break
    }
    return [wrong]
  }

  /// Returns the frame that the client receives instead.
  func received(_ frame: [UInt8]) -> [UInt8] {
    var wrong = frame
    switch self {
    case .showsNullAsFalse: replace("\"isFocused\":null", by: "\"isFocused\":false", in: &wrong)
    case .showsFocus: replace("\"isFocused\":null", by: "\"isFocused\":true", in: &wrong)
    case .namesOthers: replace("\"quiet\":[]", by: "\"quiet\":[\"ann\"]", in: &wrong)
    case .quotesOtherWords: replace("\"preview\":\"", by: "\"preview\":\"1", in: &wrong)
    case .showsNoOwner: replace("\"role\":\"owner\"", by: "\"role\":\"member\"", in: &wrong)
    case .hidesRemovals: replace("\"event\":\"removed\"", by: "\"event\":\"joined\"", in: &wrong)
    case .countsReactionsTwice: replace("\"count\":1", by: "\"count\":2", in: &wrong)
    // The simulation ignores receipts.
    case .hidesPins: replace("\"type\":\"pinned\"", by: "\"type\":\"receipt\"", in: &wrong)
    case .hidesDuplicates: replace(",\"duplicate\":true", by: "", in: &wrong)
    case .showsRinging: replace("\"state\":\"missed\"", by: "\"state\":\"ringing\"", in: &wrong)
    case .countsHidden: replace("\"delivery\":{\"live\":0", by: "\"delivery\":{\"live\":1", in: &wrong)
    default: break
    }
    return wrong
  }

  /// Returns the frames that a client receives instead of those that a slow line has held up.
  func heldUp(_ frames: [Peer.Frame]) -> [Peer.Frame] {
    guard self == .losesHeldUp else { return frames }
    var kept = frames
    let message = Array("\"type\":\"message\"".utf8)
    let index = kept.firstIndex { if case .text(let json) = $0 { json.firstRange(of: message) != nil } else { false } }
    if let index { kept.remove(at: index) }
    return kept
  }

  private func replace(_ words: String, by others: String, in json: inout [UInt8]) {
    json = Array(String(decoding: json, as: UTF8.self).replacingOccurrences(of: words, with: others).utf8)
  }

  /// Changes the database after each step.
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
      case .forgetsOnline: "UPDATE users SET activity = NULL"
      case .forgetsNotified: "UPDATE silenced SET notified = NULL"
      case .keepsFocusFresh: "UPDATE focus SET at = at + 60000, received = received + 60000"
      case .believesClocks: "UPDATE focus SET number = number + 3456000000 WHERE number > 1000000000000"
      case .losesHolds: "DELETE FROM jobs WHERE state = 'held'"
      case .putsHoldsOff: "UPDATE jobs SET due = due + 86400000 WHERE state = 'held'"
      case .revivesDeleted:
        """
        UPDATE messages SET is_deleted = 0, body = CAST('"1"' AS BLOB) WHERE is_deleted;
        UPDATE jobs SET state = 'ready', is_next = 1, finished_at = NULL WHERE state = 'cancelled' AND note = 'deleted'
        """
      case .losesBans: "DELETE FROM bans"
      case .losesRoles: "UPDATE members SET role = 0"
      case .returnsBanned:
        "INSERT OR IGNORE INTO members (room, user, read, received) SELECT room, user, 0, 0 FROM bans"
      case .losesCalls: "DELETE FROM calls WHERE ended IS NOT NULL"
      case .revivesCalls:
        "UPDATE calls SET state = 'answered', due = ended + 43200000, ended = NULL WHERE ended IS NOT NULL"
      case .keepsRinging: "UPDATE calls SET due = due + 60000, ring_until = ring_until + 60000 WHERE state = 'ringing'"
      case .forgetsAnswers: "DELETE FROM call_parties"
      case .losesChanges: "UPDATE messages SET changed = NULL, change = NULL"
      case .skipsChanges: "UPDATE rooms SET change = change + 1 WHERE change > 0"
      case .losesReactions: "DELETE FROM reactions"
      case .losesPins: "DELETE FROM annotations WHERE kind = 'pinned'"
      case .changesFacts:
        "UPDATE jobs SET explanation = json_set(explanation, '$.facts.message.isPushAsked', json('false'))"
      default: nil
      }
    guard let statement else { return }
    try relay.damage(statement)
  }
}
