// SPDX-License-Identifier: Apache-2.0
import RelayProtocol
import Testing

@testable import StillwireExtension

@Suite struct NotificationResponseTests {
  private static let id = "dd03c85b-fe98-48f9-98b0-2da51fbeeed8"

  /// Identifiers and texts of the system, and the expected selections.
  static let table: [(action: String, text: String?, NotificationResponse.Choice?)] = [
    ("com.apple.UNNotificationDefaultActionIdentifier", nil, .opened),
    ("com.apple.UNNotificationDismissActionIdentifier", nil, .dismissed),
    ("accept", nil, .action("accept")),
    ("reply", "Yes", .reply("reply", text: "Yes")),
    ("reply", "", .reply("reply", text: "")),
    ("", nil, nil),
    ("two words", nil, nil),
  ]

  @Test(arguments: table.indices) func `a response has the person's selection`(_ index: Int) {
    let (action, text, choice) = Self.table[index]
    let response = NotificationResponse(
      notification: Self.id, recipient: "ann", actionIdentifier: action, text: text)
    #expect(response?.choice == choice)
    #expect(response == nil || response?.recipient == "ann")
    #expect(response == nil || (response?.action.rawValue, response?.text) == (action, text))
  }

  @Test(arguments: ["", "n", "../categories", id + "0"]) func `a response to an id that is no UUID is rejected`(
    _ id: String
  ) {
    #expect(NotificationResponse(notification: id, actionIdentifier: "accept") == nil)
  }

  @Test func `an id in upper case is accepted`() {
    #expect(NotificationResponse(notification: Self.id.uppercased(), actionIdentifier: "accept") != nil)
  }
}
